"""Makes the convolutions of a model that is there compute by convop, and takes it back."""
import torch

from convop.torch import modules, prepared

_TWINS = {torch.nn.Conv1d: modules.Conv1d, torch.nn.Conv2d: modules.Conv2d,
          torch.nn.Conv3d: modules.Conv3d}
_ORIGINALS = {twin: original for original, twin in _TWINS.items()}


def patch(model, where=None, prepare=False):
    """Turns each torch.nn.Conv1d, Conv2d and Conv3d of the model, itself included, into convop's.

    In place: the module objects stay, only their class changes, and with them parameters, hooks, the
    keys of state_dict and optimizers that were made before. Subclasses with a forward of their own
    are left alone. Patch before torch.compile.

    where(name, module), if given, says which ones. With prepare, evaluation without gradients packs
    the weights once; see convop.torch.Conv2d's prepare_weights for what it must be told then.
    Returns the model.
    """
    return _swap(model, _TWINS, where, prepare)


def unpatch(model, where=None):
    """The opposite of patch. Returns the model."""
    return _swap(model, _ORIGINALS, where, False)


def _swap(model, classes, where, prepare):
    for name, module in model.named_modules():
        other = classes.get(type(module))
        if other and (where is None or where(name, module)):
            prepared.forget(module)
            module.__class__ = other
            module.__dict__.pop("prepare_weights", None)
            if prepare:
                module.prepare_weights = True
    return model

"""Makes the convolutions of a model that is there compute by convop, and takes it back."""
import torch

from convop.torch import fuse as fusing
from convop.torch import modules, prepared

_TWINS = {torch.nn.Conv1d: modules.Conv1d, torch.nn.Conv2d: modules.Conv2d,
          torch.nn.Conv3d: modules.Conv3d}
_ORIGINALS = {twin: original for original, twin in _TWINS.items()}


def patch(model, where=None, prepare=False, fuse=False):
    """Turns each torch.nn.Conv1d, Conv2d and Conv3d of the model, itself included, into convop's.

    In place: the module objects stay, only their class changes, and with them parameters, hooks, the
    keys of state_dict and optimizers that were made before. Subclasses with a forward of their own
    are left alone. Patch before torch.compile.

    where(name, module), if given, says which ones. With prepare, evaluation without gradients packs
    the weights once; see convop.torch.Conv2d's prepare_weights for what it must be told then. With
    fuse, which prepares too, such an evaluation computes a BatchNorm and a ReLU or ReLU6 behind a
    convolution together with it, where torch.fx proves that nothing else sees what is between them;
    their class is changed as well, and they are then called by the model alone.
    Returns the model.
    """
    chains = fusing.chains(model) if fuse else {}
    _swap(model, _TWINS, where, prepare or fuse)
    for module in model.modules():
        if id(module) in chains and type(module) in _ORIGINALS:
            fusing.set_chain(module, chains[id(module)])
    return model


def unpatch(model, where=None):
    """The opposite of patch. Returns the model."""
    _swap(model, _ORIGINALS, where, False)
    kept = {id(m) for module in model.modules() for m in module.__dict__.get("_chain", ())}
    for module in model.modules():
        if type(module) in fusing.ORIGINALS and id(module) not in kept:
            module.__class__ = fusing.ORIGINALS[type(module)]
    return model


def _swap(model, classes, where, prepare):
    for name, module in model.named_modules():
        other = classes.get(type(module))
        if other and (where is None or where(name, module)):
            prepared.forget(module)
            module.__class__ = other
            module.__dict__.pop("prepare_weights", None)
            module.__dict__.pop("_chain", None)
            if prepare:
                module.prepare_weights = True
    return model

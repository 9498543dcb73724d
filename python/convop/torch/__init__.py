"""convop for PyTorch: functions, modules and a patch for models that are there.

    import convop.torch as ct
    y = ct.conv2d(x, weight, bias, stride=2, padding=1)    # as torch.nn.functional.conv2d
    net = ct.patch(net)                                    # its nn.Conv1d, 2d and 3d compute here

Gradients, torch.compile, autocast, torch.func and channels_last work as with PyTorch's own;
docs/pytorch.md says what differs. `import convop` alone does not import PyTorch.
"""
from convop.torch.functional import conv1d, conv2d, conv3d
from convop.torch.modules import Conv1d, Conv2d, Conv3d
from convop.torch.patch import patch, unpatch

__all__ = ["Conv1d", "Conv2d", "Conv3d", "conv1d", "conv2d", "conv3d", "patch", "unpatch"]

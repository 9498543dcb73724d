"""Conv1d, Conv2d and Conv3d for those of torch.nn: same arguments, same parameters."""
import torch
import torch.nn.functional as F

import convop
from convop.torch import prepared
from convop.torch.functional import convolve


class _Convolution:
    """What the three share, ahead of torch.nn's class in their order of bases.

    With prepare_weights, in evaluation mode with gradients off, the weights are packed once and kept
    until they change: their version counter tells of writes to the parameter, of load_state_dict and
    of optimizers. It does not see writes through `.data` or a NumPy view of the memory: after those
    call eval(), which drops what was kept as train() does. Hence it has to be asked for.
    """

    prepare_weights = False

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        if (self.prepare_weights and not self.training and
                prepared.is_possible(self, input, weight, bias)):
            try:
                return prepared.run(self, input, weight, bias, padding)
            except convop.Error:
                pass  # what follows knows more, and raises it as PyTorch does
        return convolve(len(self.kernel_size), input, weight, bias, self.stride, padding,
                        self.dilation, self.groups)

    def train(self, mode=True):
        prepared.forget(self)
        return super().train(mode)

    def __getstate__(self):
        """Packed weights are neither copied nor saved."""
        state = self.__dict__.copy()
        state.pop("_prepared", None)
        return state


class Conv1d(_Convolution, torch.nn.Conv1d):
    __doc__ = torch.nn.Conv1d.__doc__


class Conv2d(_Convolution, torch.nn.Conv2d):
    __doc__ = torch.nn.Conv2d.__doc__


class Conv3d(_Convolution, torch.nn.Conv3d):
    __doc__ = torch.nn.Conv3d.__doc__

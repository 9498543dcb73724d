"""The gradient in eager mode and under torch.func. A torch.autograd.Function costs less than an
operator of torch.library, which only compilers, tracers and tensor subclasses need."""
import torch

from convop.torch import batching, compute
from convop.torch.dispatch import is_legacy_batchedtensor, transforms_are_active
from convop.torch.errors import UnsupportedError


def refuse_to_differentiate(ctx, *_):
    raise UnsupportedError("convop.torch: a convolution can be differentiated once, not twice")


class Gradient(torch.autograd.Function):
    """The gradients by input, weight and bias, None where not wanted."""

    backward = staticmethod(refuse_to_differentiate)

    @staticmethod
    def forward(grad, input, weight, wanted, geometry):
        return compute.backward(grad, input, weight, wanted, geometry)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Nothing: backward keeps nothing."""

    @staticmethod
    def vmap(info, in_dims, *arguments):
        return batching.backward(Gradient.apply, info.batch_size, in_dims, *arguments)


class Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, geometry):
        ctx.save_for_backward(input, weight)
        ctx.geometry = geometry
        return compute.forward(input, weight, bias, geometry)

    @staticmethod
    def backward(ctx, grad):
        if is_legacy_batchedtensor(grad):
            raise UnsupportedError("convop.torch: no batched gradients (is_grads_batched, vectorize) "
                                   "outside of torch.func, which has them")
        input, weight = ctx.saved_tensors
        # With create_graph somebody may differentiate again, and has to be told.
        apart = torch.is_grad_enabled() or transforms_are_active()
        gradients = Gradient.apply if apart else compute.backward
        return *gradients(grad, input, weight, ctx.needs_input_grad[:3], ctx.geometry), None


class TransformedConvolution(Convolution):
    """The same in the form that torch.func wants, whose every call costs twenty times as much."""

    @staticmethod
    def forward(input, weight, bias, geometry):
        return compute.forward(input, weight, bias, geometry)

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, _, ctx.geometry = inputs
        ctx.save_for_backward(input, weight)

    @staticmethod
    def vmap(info, in_dims, *arguments):
        return batching.forward(TransformedConvolution.apply, info.batch_size, in_dims, *arguments)

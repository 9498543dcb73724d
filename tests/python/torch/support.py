"""What the tests share: PyTorch's own convolution in float64 as the measure of convop's."""
import unittest

import torch

# These tests compare numbers; and on a busy machine OpenMP's threads wait for each other for long.
torch.set_num_threads(1)

# The roundoff of what products are summed in and, where the result is narrower, of the result.
_SUM = {torch.float64: 2.0 ** -53, torch.float32: 2.0 ** -24, torch.float16: 2.0 ** -24,
        torch.bfloat16: 2.0 ** -24}
_RESULT = {torch.float64: 0.0, torch.float32: 0.0, torch.float16: 2.0 ** -11,
           torch.bfloat16: 2.0 ** -8}
# Half the distance of the smallest float16 numbers.
_SMALLEST = {torch.float16: 2.0 ** -25}


def gradient_for(result):
    """Differs everywhere and has both signs."""
    values = torch.linspace(-1, 1, result.numel(), dtype=torch.float64)
    return values.reshape(result.shape).to(result.dtype)


def differentiate(convolve, tensors, options, by=None):
    """The result, and the gradients by all tensors."""
    leaves = [t if t is None else t.detach().requires_grad_() for t in tensors]
    result = convolve(*leaves, **options)
    by = gradient_for(result) if by is None else by
    return [result.detach(),
            *torch.autograd.grad(result, [t for t in leaves if t is not None], by)]


class Case(unittest.TestCase):
    def assert_convolves(self, ours, theirs, tensors, **options):
        """Result and gradients of `ours` are within the bound of tests/peers/tolerance.py around
        those of `theirs` in float64. Returns the result."""
        dtype = tensors[0].dtype
        wide = [t if t is None else t.detach().double() for t in tensors]
        found = differentiate(ours, tensors, options)
        by = gradient_for(found[0]).double()
        exact = differentiate(theirs, wide, options, by)
        # The sums of the absolute products.
        size = differentiate(theirs, [t if t is None else t.abs() for t in wide], options, by.abs())
        length = tensors[1].numel() + by.numel()  # of the sums, at most
        for name, f, e, s in zip(("result", "input", "weight", "bias"), found, exact, size):
            self.assertEqual((f.shape, f.dtype), (e.shape, dtype), name)
            bound = (_SUM[dtype] * s * (4 + 2 * length ** 0.5) + _RESULT[dtype] * 2 * e.abs() +
                     _SMALLEST.get(dtype, 0.0))
            worst = ((f.double() - e).abs() - bound).max().item() if f.numel() else 0.0
            self.assertLessEqual(worst, 0.0, name)
        return found[0]

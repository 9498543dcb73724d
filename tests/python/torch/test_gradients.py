"""Gradients: against differences (gradcheck), refused where they are not there, and torch.func."""
import unittest

import torch
import torch.autograd.forward_ad as forward_ad
import torch.nn.functional as F

import convop.torch as ct
import support  # noqa: F401  one thread for PyTorch

# input, weight, has a bias, options
CASES = [((2, 4, 7), (6, 2, 3), True, {"stride": 2, "padding": 1, "groups": 2}),
         ((2, 3, 8), (4, 3, 4), True, {"padding": "same"}),
         ((3, 8), (4, 3, 4), False, {"padding": "same", "dilation": 2}),
         ((2, 4, 5, 6), (4, 4, 3, 2), True, {"stride": (1, 2), "padding": (2, 1)}),
         ((2, 4, 6, 5), (8, 1, 3, 3), True, {"groups": 4, "padding": 1}),
         ((1, 3, 6, 7), (2, 3, 2, 4), True, {"padding": "same", "dilation": (3, 1)}),
         ((1, 3, 7, 7), (2, 3, 3, 2), False, {"dilation": (2, 3), "padding": 2, "stride": 3}),
         ((3, 5, 5), (2, 3, 1, 1), True, {}),
         ((1, 2, 4, 3, 4), (2, 1, 2, 3, 2), True, {"groups": 2, "padding": "same"}),
         ((2, 2, 4, 4, 5), (3, 2, 2, 1, 3), True, {"stride": 2, "dilation": (1, 2, 1)})]


def make(shape, kernel, has_bias):
    return [torch.randn(s, dtype=torch.float64, requires_grad=True)
            for s in (shape, kernel) + ((kernel[:1],) if has_bias else ())]


def convolution(kernel, options):
    ours = getattr(ct, f"conv{len(kernel) - 2}d")
    return lambda *tensors: ours(*tensors, **options)


class Differences(unittest.TestCase):
    def test_first(self):
        torch.manual_seed(2)
        for shape, kernel, has_bias, options in CASES:
            with self.subTest(shape=shape, kernel=kernel, **options):
                self.assertTrue(torch.autograd.gradcheck(
                    convolution(kernel, options), make(shape, kernel, has_bias)))

    def test_channels_last(self):
        x, w, b = make((2, 3, 4, 5), (4, 3, 3, 2), True)
        last = [t.detach().to(memory_format=torch.channels_last).requires_grad_() for t in (x, w)]
        # The check itself writes through plain views of the inputs.
        self.assertTrue(torch.autograd.gradcheck(
            lambda x, w, b: ct.conv2d(x.to(memory_format=torch.channels_last), w, b, padding=1),
            (x, w, b)))
        for found, expected in zip(torch.autograd.grad(ct.conv2d(*last).square().sum(), last),
                                   torch.autograd.grad(F.conv2d(x, w).square().sum(), (x, w))):
            torch.testing.assert_close(found, expected)


class Refused(unittest.TestCase):
    def test_second(self):
        for shape, kernel, has_bias, options in CASES:
            with self.assertRaisesRegex(RuntimeError, "once, not twice"):
                torch.autograd.gradgradcheck(convolution(kernel, options),
                                             make(shape, kernel, has_bias))

    def test_second_by_one_tensor_alone(self):
        """A gradient penalty: the first gradient depends on the weights, though nothing that flows
        into the backward pass does."""
        x, w, _ = make((1, 2, 5, 5), (3, 2, 3, 3), True)
        by_x, = torch.autograd.grad(ct.conv2d(x, w).sum(), x, create_graph=True)
        self.assertTrue(by_x.requires_grad)
        with self.assertRaisesRegex(RuntimeError, "once, not twice"):
            by_x.square().sum().backward()

    def test_create_graph_alone_is_none(self):
        x, w, _ = make((1, 2, 5, 5), (3, 2, 3, 3), True)
        found = torch.autograd.grad(ct.conv2d(x, w).square().sum(), (x, w), create_graph=True)
        for f, e in zip(found, torch.autograd.grad(F.conv2d(x, w).square().sum(), (x, w))):
            torch.testing.assert_close(f, e)

    def test_forward_mode(self):
        for grad in (True, False):
            x, w, _ = make((1, 2, 5, 5), (3, 2, 3, 3), True)
            with torch.set_grad_enabled(grad), forward_ad.dual_level(), \
                    self.assertRaises(NotImplementedError):
                ct.conv2d(forward_ad.make_dual(x.detach(), x.detach()), w)


class Transforms(unittest.TestCase):
    """torch.func: batches by torch.vmap, and gradients for each sample."""

    def setUp(self):
        torch.manual_seed(3)
        self.x = torch.randn(3, 2, 4, 5, 6, dtype=torch.float64)
        self.w = torch.randn(3, 6, 2, 2, 3, dtype=torch.float64)
        self.b = torch.randn(3, 6, dtype=torch.float64)

    def assert_same(self, transform, arguments, **options):
        def through(package):
            def convolve(*tensors):
                return package.conv2d(*tensors, groups=2, padding="same", **options)
            return transform(convolve)(*arguments)
        found, expected = through(ct), through(F)
        torch.testing.assert_close(found, expected)

    def test_vmap(self):
        x, w, b = self.x, self.w, self.b
        for arguments, axes in (((x, w[0], b[0]), (0, None, None)), ((x, w, b), (0, 0, 0)),
                                ((x.movedim(0, 2), w[0]), (2, None)), ((x[0], w, b), (None, 0, 0)),
                                ((x.movedim(0, 1), w[0], b[0]), (1, None, None)),
                                ((x, w, b[0]), (0, 0, None)), ((x[0], w[0], b), (None, None, 0))):
            with self.subTest(axes=axes):
                self.assert_same(lambda f, axes=axes: torch.vmap(f, axes), arguments)

    def test_gradients_of_each_sample(self):
        def transform(convolve):
            loss = torch.func.grad(lambda w, b, x: convolve(x, w, b).square().sum(), (0, 1, 2))
            return torch.vmap(loss, (None, None, 0))
        self.assert_same(transform, (self.w[0], self.b[0], self.x))

    def test_jacobian(self):
        def transform(convolve):
            return torch.func.jacrev(lambda w: convolve(self.x[0], w).mean((0, 2)))
        self.assert_same(transform, (self.w[0],))

    def test_second_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "once, not twice"):
            twice = torch.func.jacrev(torch.func.jacrev(
                lambda w: ct.conv2d(self.x[0], w, groups=2).square().sum()))
            twice(self.w[0])

    def test_batched_gradients_without_torch_func_are_refused(self):
        with self.assertRaisesRegex(RuntimeError, "torch.func"):
            torch.autograd.functional.jacobian(
                lambda w: ct.conv2d(self.x[0], w, groups=2).mean((0, 2)), self.w[0], vectorize=True)


if __name__ == "__main__":
    unittest.main()

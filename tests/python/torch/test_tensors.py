"""Tensors of all kinds: memory formats, views, empty batches, and which of them want a gradient."""
import itertools
import resource
import unittest

import numpy as np
import torch
import torch.nn.functional as F

import convop
import convop.torch as ct
from support import Case

FORMATS = {4: (torch.contiguous_format, torch.channels_last),
           5: (torch.contiguous_format, torch.channels_last_3d)}
# input, weight, options
SHAPES = [((2, 4, 6, 5), (8, 4, 3, 3), {}), ((2, 4, 6, 5), (8, 1, 3, 3), {"groups": 4}),
          ((1, 1, 6, 5), (3, 1, 3, 2), {"padding": "same"}), ((3, 5, 1, 1), (7, 5, 1, 1), {}),
          ((2, 1, 4, 4), (1, 1, 1, 1), {}), ((2, 3, 1, 5), (4, 3, 1, 3), {"stride": 2}),
          ((2, 3, 4, 5, 4), (4, 3, 2, 3, 2), {"padding": 1}), ((1, 1, 3, 3, 3), (2, 1, 2, 2, 2), {})]


def conv_of(package, tensor):
    return getattr(package, f"conv{tensor.dim() - 2}d")


class Numbers(Case):
    """What PyTorch takes for an integer."""

    def test_of_all_kinds(self):
        x, w = torch.ones(1, 1, 7, 7), torch.ones(1, 1, 3, 3)
        for two in (2, np.int64(2), torch.tensor(2), [2, 2], (np.int8(2), torch.tensor(2))):
            for name in ("stride", "padding", "dilation"):
                self.assertTrue(torch.equal(ct.conv2d(x, w, **{name: two}),
                                            F.conv2d(x, w, **{name: two})))

    def test_what_equals_integers_leaves_nothing_behind(self):
        x, w = torch.ones(1, 1, 9, 9), torch.ones(1, 1, 2, 2)
        with self.assertRaises(convop.InvalidError):
            ct.conv2d(x, w, stride=(4.0, 5.0))
        self.assertEqual(ct.conv2d(x, w, stride=(4, 5)).shape, (1, 1, 2, 2))
        with self.assertRaises(convop.InvalidError):
            ct.conv2d(x, w, stride=2.5)

    def test_numbers_that_change(self):
        x, w = torch.ones(1, 1, 9, 9), torch.ones(1, 1, 2, 2)
        one, pair = torch.tensor(1), (torch.tensor(1), torch.tensor(1))
        for call in (ct.conv2d, convop.conv_forward):
            for step in (1, 2, 3):
                one.fill_(step), pair[0].fill_(step), pair[1].fill_(step)
                for stride in (one, pair):
                    self.assertTrue(torch.equal(call(x, w, stride=stride),
                                                F.conv2d(x, w, stride=step)))


class MemoryFormats(Case):
    def test_are_those_of_torch(self):
        torch.manual_seed(1)
        for (shape, kernel, options), dtype in itertools.product(
                SHAPES, (torch.float32, torch.float64, torch.bfloat16)):
            for of_input, of_weight in itertools.product(FORMATS[len(shape)], repeat=2):
                with self.subTest(shape=shape, kernel=kernel, dtype=dtype, input=of_input,
                                  weight=of_weight):
                    tensors = (torch.randn(shape).to(dtype, memory_format=of_input),
                               torch.randn(kernel).to(dtype, memory_format=of_weight),
                               torch.randn(kernel[0]).to(dtype))
                    ours = self.assert_convolves(conv_of(ct, tensors[0]), conv_of(F, tensors[0]),
                                                 tensors, **options)
                    if len(shape) == 4:
                        theirs = F.conv2d(*tensors, **options)
                        self.assertEqual(ours.stride(), theirs.stride())
                    else:  # PyTorch's own kernel in 3-D, for float64, knows the plain one alone
                        wanted = max(of_input, of_weight, key=FORMATS[5].index)
                        self.assertTrue(ours.is_contiguous(memory_format=wanted))

    def test_the_library_is_given_the_address(self):
        """It names the address of a tensor that it refuses, here for lying between elements."""
        x = torch.frombuffer(bytearray(65), dtype=torch.float32, offset=1, count=16).reshape(1, 1, 4, 4)
        w = torch.ones(1, 1, 3, 3)
        for call in (lambda: convop.conv_forward(x, w), lambda: ct.conv2d(x, w),
                     lambda: convop.prepare("Convolution", w)(x),
                     lambda: convop.conv_forward(torch.ones(1, 1, 6, 6), w, out=x)):
            with self.assertRaisesRegex(convop.InvalidError, f"data {x.data_ptr():#x}"):
                call()

    def test_channels_last_is_not_copied(self):
        """The image that convop reads is the very memory of the tensor."""
        seen = []

        def conv_forward(x, *rest, **options):
            seen.append((x.data_ptr(), x.is_contiguous(), options["layout"]))
            return original(x, *rest, **options)

        original = convop.conv_forward
        x = torch.randn(2, 4, 6, 5).to(memory_format=torch.channels_last)
        convop.conv_forward = conv_forward
        try:
            y = ct.conv2d(x, torch.randn(3, 4, 2, 2))
        finally:
            convop.conv_forward = original
        self.assertEqual(seen, [(x.data_ptr(), True, "NHWC")])
        self.assertTrue(y.is_contiguous(memory_format=torch.channels_last))

    def test_gradients_have_those_of_their_tensors(self):
        x = torch.randn(2, 4, 6, 5).to(memory_format=torch.channels_last).requires_grad_()
        w = torch.randn(3, 4, 2, 2).to(memory_format=torch.channels_last).requires_grad_()
        ct.conv2d(x, w).square().sum().backward()
        self.assertEqual((x.grad.stride(), w.grad.stride()), (x.stride(), w.stride()))


class Views(Case):
    def check(self, x, w=None, b=None, **options):
        w = torch.randn(6, x.shape[1], 3, 3, dtype=x.dtype) if w is None else w
        self.assert_convolves(ct.conv2d, F.conv2d, (x, w, b), **options)

    def test_views(self):
        big = torch.randn(4, 8, 12, 10)
        self.check(big[1:3, ::2, 1:-1, ::3][..., :3])
        self.check(big.transpose(2, 3))
        self.check(big.transpose(0, 1))
        self.check(big, torch.randn(3, 3, 6, 8).permute(2, 3, 0, 1))
        self.check(big, b=torch.randn(12)[::2])
        self.check(torch.randn(4, 1, 1, 10).expand(4, 8, 12, 10))
        self.check(big, torch.randn(1, 1, 3, 3).expand(6, 8, 3, 3), torch.randn(1).expand(6))

    def test_gradient_that_is_expanded(self):
        x = torch.randn(2, 3, 5, 5, dtype=torch.float64, requires_grad=True)
        w = torch.randn(4, 3, 3, 3, dtype=torch.float64, requires_grad=True)
        found = torch.autograd.grad(ct.conv2d(x, w).sum(), (x, w))
        for f, e in zip(found, torch.autograd.grad(F.conv2d(x, w).sum(), (x, w))):
            torch.testing.assert_close(f, e)

    def test_negative_views_are_turned(self):
        x = torch.randn(2, 3, 5, 5, dtype=torch.complex64).conj().imag
        self.assertTrue(x.is_neg())
        w, b = torch.randn(4, 3, 3, 3), torch.randn(4, dtype=torch.complex64).conj().imag
        torch.testing.assert_close(ct.conv2d(x, w, b), F.conv2d(x, w, b))
        w.requires_grad_()
        ct.conv2d(x, w, b).square().sum().backward()
        found, w.grad = w.grad, None
        F.conv2d(x, w, b).square().sum().backward()
        torch.testing.assert_close(found, w.grad)

    def test_complex_is_refused_with_its_reason(self):
        x, w = torch.randn(1, 2, 4, 4, dtype=torch.complex64), torch.randn(1, 2, 3, 3)
        for a, b in ((x, w), (x, w.to(x.dtype)), (x.conj(), w.to(x.dtype))):
            with self.assertRaises(RuntimeError) as caught:
                ct.conv2d(a, b)
            self.assertIsInstance(caught.exception, convop.Error)

    def test_inputs_stay_as_they_are(self):
        tensors = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3), torch.randn(4)
        before = [t.clone() for t in tensors]
        self.assert_convolves(ct.conv2d, F.conv2d, tensors)
        for t, b in zip(tensors, before):
            self.assertTrue(torch.equal(t, b))


class Empty(Case):
    def test_batch(self):
        for axes in (1, 2, 3):
            shape = (0, 4, *(5, 6, 7)[:axes])
            tensors = torch.randn(shape), torch.randn(6, 2, *(3,) * axes), torch.randn(6)
            self.assert_convolves(conv_of(ct, tensors[0]), conv_of(F, tensors[0]), tensors, groups=2)
            *_, by_weight, by_bias = torch.autograd.grad(
                conv_of(ct, tensors[0])(*(t.requires_grad_() for t in tensors), groups=2).sum(),
                tensors)
            self.assertFalse(by_weight.any() or by_bias.any())

    def test_other_sizes_are_refused(self):
        for shape, kernel in (((2, 0, 4, 4), (3, 0, 3, 3)), ((2, 2, 0, 4), (3, 2, 1, 1)),
                              ((2, 2, 4, 4), (0, 2, 3, 3)), ((2, 2, 2, 2), (3, 2, 3, 3))):
            with self.assertRaises(RuntimeError):
                ct.conv2d(torch.zeros(shape), torch.zeros(kernel))


class WantedGradients(Case):
    def test_each_combination(self):
        for wanted in itertools.product((False, True), repeat=3):
            tensors = [torch.randn(shape, dtype=torch.float64, requires_grad=wants)
                       for shape, wants in zip(((2, 4, 5, 5), (6, 2, 3, 3), (6,)), wanted)]
            y = ct.conv2d(*tensors, groups=2)
            self.assertEqual(y.requires_grad, any(wanted))
            if any(wanted):
                y.square().sum().backward()
            found = [t.grad for t in tensors]
            self.assertEqual([g is not None for g in found], list(wanted))
            for t in tensors:
                t.grad = None
            if any(wanted):
                F.conv2d(*tensors, groups=2).square().sum().backward()
            for f, t in zip(found, tensors):
                if f is not None:
                    torch.testing.assert_close(f, t.grad)

    def test_modes(self):
        x, w = torch.randn(1, 2, 4, 4, requires_grad=True), torch.randn(3, 2, 3, 3)
        expected = F.conv2d(x, w).detach()
        with torch.no_grad():
            self.assertFalse(ct.conv2d(x, w).requires_grad)
        with torch.inference_mode():
            self.assertTrue(ct.conv2d(x, w).is_inference())
        self.assertFalse(ct.conv2d(x.detach(), w).requires_grad)
        torch.testing.assert_close(ct.conv2d(x.detach(), w), expected)

    def test_changed_in_between(self):
        """PyTorch's version counter refuses a backward pass through tensors that are others now."""
        x, w = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 3, 3, requires_grad=True)
        y = ct.conv2d(x, w)
        x.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_gradients_add_up(self):
        x, w = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 3, 3, requires_grad=True)
        ct.conv2d(x, w).sum().backward()
        once = w.grad.clone()
        ct.conv2d(x, w).sum().backward()
        torch.testing.assert_close(w.grad, 2 * once)


class Arguments(Case):
    def test_forms(self):
        x, w = torch.randn(2, 4, 9, 9), torch.randn(4, 2, 3, 3)
        for options in ({"stride": [2]}, {"stride": (2, 1)}, {"stride": torch.Size((1, 2))},
                        {"padding": [1, 2]}, {"padding": (1,)}, {"dilation": [2, 1]}):
            torch.testing.assert_close(ct.conv2d(x, w, groups=2, **options),
                                       F.conv2d(x, w, groups=2, **options))
        torch.testing.assert_close(ct.conv2d(x, w, None, 2, 1, 2, 2), F.conv2d(x, w, None, 2, 1, 2, 2))

    def test_what_does_not_fit(self):
        x, w = torch.randn(2, 4, 9, 9), torch.randn(4, 4, 3, 3)
        for options in ({"stride": 0}, {"stride": (1, 1, 1)}, {"stride": -1}, {"padding": -1},
                        {"padding": "full"}, {"padding": "same", "stride": 2}, {"dilation": 0},
                        {"groups": 0}, {"groups": 3}, {"groups": 2}, {"bias": torch.randn(3)},
                        {"bias": torch.randn(4).double()}, {"weight": w.double()},
                        {"weight": w[0]}, {"input": x[0, 0]}):
            with self.subTest(**options):
                with self.assertRaises(RuntimeError) as caught:
                    ct.conv2d(**{"input": x, "weight": w, **options})
                self.assertIsInstance(caught.exception, convop.Error)

    def test_cuda_is_refused(self):
        """Nothing computes there yet, and nothing moves to another device."""
        if not torch.cuda.is_available():
            self.skipTest("PyTorch sees no CUDA device")
        tensors = [t.cuda() for t in (torch.randn(1, 2, 4, 4), torch.randn(3, 2, 3, 3))]
        with self.assertRaises(RuntimeError):
            ct.conv2d(*tensors)


class Results(unittest.TestCase):
    """Their memory is convop's, and they are PyTorch's."""

    def test_memory_lives_as_long_as_its_views(self):
        x, w = torch.arange(16.).reshape(1, 1, 4, 4), torch.full((1, 1, 1, 1), 2.)
        for size in (1, 64):  # the elements lie with the object, or apart from it
            y = convop.conv_forward(x.expand(size, 1, 4, 4), w)
            self.assertEqual((type(y), y.data_ptr() % 64), (torch.Tensor, 0))
            view, expected = y[0, 0], (2 * x)[0, 0]
            del y
            for _ in range(100):
                convop.conv_forward(x.expand(size, 1, 4, 4), 3 * w)
            self.assertTrue(torch.equal(view, expected))
            view += 1
            self.assertTrue(torch.equal(view, expected + 1))

    def test_memory_is_given_back(self):
        x, w = torch.ones(1, 1, 512, 512), torch.ones(1, 1, 1, 1)
        convop.conv_forward(x, w)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(500):
            convop.conv_forward(x, w)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 50 * 1024)  # kB; the results take ten times as much


if __name__ == "__main__":
    unittest.main()

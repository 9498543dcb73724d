"""The operators of torch.library, torch.compile, torch.export, fake and meta tensors, autocast."""
import os
import unittest

import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode

import convop.torch as ct
import support  # noqa: F401  one thread for PyTorch
from convop.torch.library import convolution, convolution_backward

# The one that generates code calls a C++ compiler and takes minutes: `make test-long`.
LONG = int(os.environ.get("CONVOP_TEST_SCALE", "1")) > 1
BACKENDS = ("aot_eager", "inductor") if LONG else ("aot_eager",)
# Relative and absolute, as torch.testing.assert_close has them.
TOLERANCE = {torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7)}


def tensors(dtype=torch.float32, memory_format=torch.contiguous_format, grad=True):
    torch.manual_seed(4)
    x, w, b = torch.randn(2, 4, 7, 6), torch.randn(6, 2, 3, 2), torch.randn(6)
    return [t.to(dtype).requires_grad_(grad) for t in
            (x.to(memory_format=memory_format), w.to(memory_format=memory_format), b)]


class Operators(unittest.TestCase):
    def test_opcheck(self):
        for memory_format in (torch.contiguous_format, torch.channels_last):
            for geometry in (([1, 1], [0, 0], [0, 0], [1, 1], 2),
                             ([2, 1], [1, 0], [1, 1], [1, 2], 2)):
                x, w, b = tensors(torch.float64, memory_format)
                torch.library.opcheck(convolution, (x, w, b, *geometry))
                torch.library.opcheck(convolution, (x, w, None, *geometry))
                grad = torch.randn_like(convolution(x, w, b, *geometry).detach())
                for wanted in ([True] * 3, [True, False, False], [False, True, True]):
                    torch.library.opcheck(
                        convolution_backward,
                        (grad, x.detach(), w.detach(), wanted, *geometry))

    def test_second_derivative_is_refused(self):
        x, w, b = tensors()
        y = convolution(x, w, b, [1, 1], [0, 0], [0, 0], [1, 1], 2)
        by_x, = torch.autograd.grad(y.sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once, not twice"):
            by_x.sum().backward()

    def test_fake_and_meta(self):
        x, w, b = tensors(grad=False)
        expected = F.conv2d(x, w, b, padding="same", groups=2)
        with FakeTensorMode() as mode:
            fake = [mode.from_tensor(t) for t in (x, w, b)]
            y = ct.conv2d(*fake, padding="same", groups=2)
            self.assertIs(type(y), type(fake[0]))
        meta = ct.conv2d(*(t.to("meta") for t in (x, w, b)), padding="same", groups=2)
        for found in (y, meta):
            self.assertEqual((found.shape, found.stride(), found.dtype),
                             (expected.shape, expected.stride(), expected.dtype))

    def test_subclass(self):
        class Marked(torch.Tensor):
            pass

        x, w, b = tensors(grad=False)
        y = ct.conv2d(x.as_subclass(Marked), w, b, groups=2)
        self.assertIs(type(y), Marked)
        torch.testing.assert_close(y.as_subclass(torch.Tensor), F.conv2d(x, w, b, groups=2))


def block(convolve):
    """Two convolutions with something between them that a compiler may fuse."""
    def run(x, w, b):
        y = convolve(x, w, b, groups=2, padding="same").relu()
        return convolve(y[:, :4] * 0.5, w, stride=2, groups=2)
    return run


class Compilers(unittest.TestCase):
    def test_compile(self):
        for backend in BACKENDS:
            for memory_format in (torch.contiguous_format, torch.channels_last):
                for dynamic in (False, True):
                    with self.subTest(backend=backend, format=memory_format, dynamic=dynamic):
                        self.check(backend, memory_format, dynamic, torch.float32)
                with self.subTest(backend=backend, format=memory_format, dtype=torch.float64):
                    self.check(backend, memory_format, False, torch.float64)

    def check(self, backend, memory_format, dynamic, dtype):
        torch._dynamo.reset()
        compiled = torch.compile(block(ct.conv2d), fullgraph=True, backend=backend, dynamic=dynamic)
        given = tensors(dtype, memory_format)
        found, expected = compiled(*given), block(F.conv2d)(*given)
        torch.testing.assert_close(found, expected)
        for f, e in zip(torch.autograd.grad(found.square().sum(), given),
                        torch.autograd.grad(expected.square().sum(), given)):
            # A sum of squares' gradients are sums that cancel: float32 has as many digits of the
            # largest, and an element may have few. float64 has the usual tolerance for each.
            relative, absolute = TOLERANCE[dtype]
            if dtype == torch.float32:
                absolute *= max(1.0, float(e.abs().max()))
            torch.testing.assert_close(f, e, rtol=relative, atol=absolute)
        with torch.no_grad():
            torch.testing.assert_close(compiled(*given), expected)

    def test_compiled_module(self):
        torch._dynamo.reset()
        model = torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"),
                                    torch.nn.ReLU(), torch.nn.Conv2d(6, 6, 3, groups=6))
        x = tensors()[0]
        expected = model(x)
        compiled = torch.compile(ct.patch(model), fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), expected)
        with torch.no_grad():
            torch.testing.assert_close(compiled.eval()(x), expected)

    def test_export(self):
        model = ct.patch(torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3), torch.nn.ReLU())).eval()
        x = tensors(grad=False)[0]
        program = torch.export.export(model, (x,))
        self.assertIn("convop.convolution", str(program.graph))
        torch.testing.assert_close(program.module()(x), model(x))

    def test_trace(self):
        """The trace computes; it does not repeat what was computed while tracing."""
        x, w, _ = tensors(grad=False)
        traced = torch.jit.trace(lambda x: ct.conv2d(x, w, groups=2), (x,))
        torch.testing.assert_close(traced(x + 1), F.conv2d(x + 1, w, groups=2))


class Autocast(unittest.TestCase):
    def test_dtypes_are_those_of_torch(self):
        for given in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            for to in (torch.bfloat16, torch.float16):
                with self.subTest(given=given, to=to):
                    x, w, b = tensors(given)
                    with torch.autocast("cpu", dtype=to):
                        found = ct.conv2d(x, w, b, groups=2)
                        expected = F.conv2d(x, w, b, groups=2)
                        self.assertIs(ct.conv2d(x, w, groups=2).dtype, expected.dtype)
                    self.assertIs(found.dtype, expected.dtype)
                    self.assertIs(found.dtype, given if given is torch.float64 else to)
                    torch.testing.assert_close(found, expected, atol=0.05, rtol=0.02)
                    found.sum().backward()
                    self.assertEqual([t.grad.dtype for t in (x, w, b)], [given] * 3)

    def test_off(self):
        x, w, b = tensors()
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("cpu", enabled=False):
            self.assertIs(ct.conv2d(x, w, b, groups=2).dtype, torch.float32)

    def test_mixed_dtypes_meet(self):
        x, w, b = tensors()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertIs(ct.conv2d(x.bfloat16(), w, b, groups=2).dtype, torch.bfloat16)

    def test_module_and_compile(self):
        torch._dynamo.reset()
        model = ct.patch(torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3))).eval()
        x = tensors()[0]
        for run in (model, torch.compile(model, fullgraph=True, backend="aot_eager")):
            with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
                self.assertIs(run(x).dtype, torch.bfloat16)
            with torch.no_grad():
                self.assertIs(run(x).dtype, torch.float32)


if __name__ == "__main__":
    unittest.main()

"""Convolution and its gradients in float64, one tap of the window after the other; and random
problems."""
import numpy as np

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


class Problem:
    """One convolution: arrays of float64 in the order mb, c, axes, and its parameters."""

    def __init__(self, rng, axes=None):
        self.axes = axes or int(rng.integers(1, 4))
        most = (9, 7, 5)[self.axes - 1]
        ints = lambda low, high: tuple(map(int, rng.integers(low, high + 1, self.axes)))
        self.groups = int(rng.choice((1, 1, 2, 3)))
        self.kernel, self.stride, self.dilate = ints(1, 3), ints(1, 2), ints(1, 2)
        self.pad = tuple(zip(ints(0, 2), ints(0, 2)))
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilate, self.kernel)]
        size = [int(rng.integers(r, r + most)) for r in reach]
        ic, oc = (self.groups * int(n) for n in rng.integers(1, 4, 2))
        self.x = rng.uniform(-1, 1, (int(rng.integers(1, 4)), ic, *size))
        self.w = rng.uniform(-1, 1, (oc, ic // self.groups, *self.kernel))
        self.b = rng.uniform(-1, 1, oc) if rng.integers(2) else None
        self.dy = rng.uniform(-1, 1, self.forward().shape)

    def parameters(self):
        pad = self.pad if any(begin != end for begin, end in self.pad) else tuple(
            begin for begin, _ in self.pad)
        return {"stride": self.stride, "dilate": self.dilate, "pad": pad,
                "num_group": self.groups}

    def _taps(self):
        """For each group and tap: its channels, its filters, the tap and the window it sees."""
        shape = self.output_size()
        for g in range(self.groups):
            channels = slice(g * self.w.shape[1], (g + 1) * self.w.shape[1])
            count = self.w.shape[0] // self.groups
            filters = slice(g * count, (g + 1) * count)
            for tap in np.ndindex(*self.kernel):
                window = tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in
                               zip(tap, self.dilate, self.stride, shape))
                yield channels, filters, tap, window

    def output_size(self):
        return tuple((n + sum(pad) - d * (k - 1) - 1) // s + 1 for n, pad, d, k, s in zip(
            self.x.shape[2:], self.pad, self.dilate, self.kernel, self.stride))

    def _padded(self):
        return np.pad(self.x, [(0, 0), (0, 0), *self.pad])

    def forward(self):
        x = self._padded()
        y = np.zeros((x.shape[0], self.w.shape[0], *self.output_size()))
        for channels, filters, tap, window in self._taps():
            y[:, filters] += np.einsum("nc...,oc->no...", x[(slice(None), channels, *window)],
                                       self.w[(filters, slice(None), *tap)])
        return y if self.b is None else y + self.b.reshape(-1, *(1,) * self.axes)

    def backward(self):
        x = self._padded()
        dx, dw = np.zeros_like(x), np.zeros_like(self.w)
        for channels, filters, tap, window in self._taps():
            dx[(slice(None), channels, *window)] += np.einsum(
                "no...,oc->nc...", self.dy[:, filters], self.w[(filters, slice(None), *tap)])
            seen = x[(slice(None), channels, *window)]
            all_but_channels = [0, *range(2, seen.ndim)]
            dw[(filters, slice(None), *tap)] = np.tensordot(
                self.dy[:, filters], seen, (all_but_channels, all_but_channels))
        inner = tuple(slice(begin, n - end) for (begin, end), n in zip(self.pad, x.shape[2:]))
        return dx[(..., *inner)], dw, self.dy.sum((0, *range(2, self.dy.ndim)))


def arrange(array, layout, dtype):
    """A compact array of this dtype, its channels where the layout has them."""
    if layout.endswith("C") and array.ndim > 2:
        array = np.moveaxis(array, 1, -1)
    return np.ascontiguousarray(array, dtype)


def tolerance(dtype):
    return {"float64": 1e-11, "float32": 2e-5, "float16": 2e-2}[dtype]

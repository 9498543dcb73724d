"""convop: both layouts; forward as a prepared instance, weights packed, and by one call."""
import convop
import numpy as np

from contender import serve, tensors, threads, to_last

convop.set(num_threads=threads())
LAYOUTS = {"nc": ("NCW", "NCHW", "NCDHW"), "n*c": ("NWC", "NHWC", "NDHWC")}


def variants_of(p, direction):
    found = {}
    for name, layouts in (("nchw", LAYOUTS["nc"]), ("nhwc", LAYOUTS["n*c"])):
        src, weights, diff_dst = (a if name == "nchw" else to_last(a) for a in tensors(p))
        parameters = dict(kernel=p.kernel, stride=p.stride, dilate=p.dilate,
                          pad=tuple(zip(p.pad, p.pad_end)), num_group=p.g,
                          layout=layouts[p.axes - 1])
        add(found, name, direction, src, weights, diff_dst, parameters)
    return found


def add(found, name, direction, src, weights, diff_dst, parameters):
    if direction == "FWD":
        dst = np.empty_like(diff_dst)
        prepared = convop.prepare("Convolution", weights, None, num_filter=diff_dst.shape[
            1 if name == "nchw" else -1], no_bias=True, **parameters)
        found[name] = lambda: prepared(src, out=dst)
        found[name + " one call"] = lambda: convop.conv_forward(src, weights, out=dst, **parameters)
        return
    out = (np.empty_like(src), np.empty_like(weights), None)
    found[name] = lambda: convop.conv_backward(
        diff_dst, src, weights, out=out, grad_req=("write", "write", "null"), **parameters)


serve(f"convop {convop.__version__}", variants_of)

"""convop: both layouts; forward as a prepared instance, weights packed, and by one call. Choices are the
estimate's; a variant "strict" has them made with the setting `math` at strict, where they differ."""
import os
import tempfile

import convop

from contender import empty, serve, tensors, threads, to_last

convop.set(num_threads=threads(), autotune=0)
LAYOUTS = {"nc": ("NCW", "NCHW", "NCDHW"), "n*c": ("NWC", "NHWC", "NDHWC")}
HAS_MATH = "math" in convop.settings()
STRICT = " strict"


current_math = None
rows = {}  # of the variants


def use_math(variant):
    """Sets what counts for the variant, and only where it is not set already: plans are kept."""
    global current_math
    wanted = "strict" if variant.endswith(STRICT) else None
    if HAS_MATH and wanted != current_math:
        convop.set(math=wanted)
        current_math = wanted


def variants_of(p, direction):
    found = {}
    for name, layouts in (("nchw", LAYOUTS["nc"]), ("nhwc", LAYOUTS["n*c"])):
        parameters = dict(kernel=p.kernel, stride=p.stride, dilate=p.dilate,
                          pad=tuple(zip(p.pad, p.pad_end)), num_group=p.g, layout=layouts[p.axes - 1])
        data = [a if name == "nchw" else to_last(a) for a in tensors(p)]
        for math in ("", STRICT) if HAS_MATH else ("",):
            use_math(math)
            for way, run in functions(direction, p.oc, *data, parameters).items():
                found[name + way + math] = run
    rows.clear()
    rows.update({v: row_of(v, run) for v, run in found.items()})
    return {v: run for v, run in found.items()
            if not v.endswith(STRICT) or rows[v] != rows[v[:-len(STRICT)]]}


def functions(direction, oc, src, weights, diff_dst, parameters):
    if direction == "FWD":
        dst = empty(diff_dst.shape)
        prepared = convop.prepare("Convolution", weights, None, num_filter=oc, no_bias=True,
                                  **parameters)
        return {"": lambda: prepared(src, out=dst),
                " one call": lambda: convop.conv_forward(src, weights, out=dst, **parameters)}
    out = (empty(src.shape), empty(weights.shape), None)
    return {"": lambda: convop.conv_backward(
        diff_dst, src, weights, out=out, grad_req=("write", "write", "null"), **parameters)}


def row_of(variant, run):
    """What runs, as the library's own lines say: "implicit+gemm" for two directions."""
    use_math(variant)
    with tempfile.TemporaryFile("w+") as lines:
        kept = [os.dup(fd) for fd in (1, 2)]
        for fd in (1, 2):
            os.dup2(lines.fileno(), fd)
        convop.set(verbose=1)
        run()
        convop.set(verbose=None)
        for fd, old in zip((1, 2), kept):
            os.dup2(old, fd)
            os.close(old)
        lines.seek(0)
        fields = [line.split(",") for line in lines if line.startswith("convop,v1,exec,")]
    return "+".join(f[5].split(":")[0] for f in fields)


serve(f"convop {convop.__version__}", variants_of, before=use_math,
      rows_of=lambda variants: {v: rows[v] for v in variants})

"""What a convolution and its gradients must be, summed in a type wider than the tensors'."""
import numpy as np


def windows(padded, p):
    """A view of the padded images as {n, group, channel, taps..., pixels...}."""
    axes, groups = p["axes"], p["groups"]
    step = padded.strides
    shape = (p["mb"], groups, p["ic"] // groups, *p["kernel"], *p["out"])
    strides = (step[0], step[1] * (p["ic"] // groups), step[1],
               *(step[2 + a] * p["dilate"][a] for a in range(axes)),
               *(step[2 + a] * p["stride"][a] for a in range(axes)))
    return np.lib.stride_tricks.as_strided(padded, shape, strides)


def letters(axes):
    return "uvw"[:axes], "xyz"[:axes]


def convolve(p, src, weights, diff_dst):
    """dst, diff_src, diff_weights; einsum without optimize is plain loops, no BLAS."""
    taps, pixels = letters(p["axes"])
    groups, ic, oc = p["groups"], p["ic"] // p["groups"], p["oc"] // p["groups"]
    pad = list(zip(p["pad_begin"], p["pad_end"]))
    padded = np.pad(src, [(0, 0), (0, 0), *pad])
    columns = windows(padded, p)
    w = weights.reshape(groups, oc, ic, *p["kernel"])
    dy = diff_dst.reshape(p["mb"], groups, oc, *p["out"])

    dst = np.einsum(f"ngc{taps}{pixels},goc{taps}->ngo{pixels}", columns, w)
    diff_weights = np.einsum(f"ngc{taps}{pixels},ngo{pixels}->goc{taps}", columns, dy)
    diff_padded = np.zeros_like(padded)
    into = windows(diff_padded, p)
    for tap in np.ndindex(*p["kernel"]):
        # Within a tap no two pixels share an element, so that += adds each.
        into[(slice(None),) * 3 + tap] += np.einsum(f"ngo{pixels},goc->ngc{pixels}", dy,
                                                    w[(slice(None),) * 3 + tap])
    inner = tuple(slice(b, b + i) for b, i in zip(p["pad_begin"], p["size"]))
    return (dst.reshape(diff_dst.shape), diff_padded[(slice(None),) * 2 + inner],
            diff_weights.reshape(weights.shape))


def run(p, absolute):
    wide = np.longdouble if p["dtype"] == "float64" else np.float64
    t = {name: (np.abs(values) if absolute else values).astype(wide)
         for name, values in p["tensors"].items()}
    found = dict(zip(("dst", "diff_src", "diff_weights"),
                     convolve(p, t["src"], t["weights"], t["diff_dst"])))
    one_axis = (1, -1) + (1,) * p["axes"]
    if p["bias"]:
        found["dst"] = found["dst"] + t["bias"].reshape(one_axis)
        found["diff_bias"] = t["diff_dst"].sum(axis=(0, *range(2, 2 + p["axes"])))
    for name in found:
        if p["requests"][name] == "add":
            found[name] = found[name] + t["old_" + name]
    return found


def expect(p):
    """For each output its value and its magnitude, the sum of the absolute values of what is
    added up."""
    value, magnitude = run(p, False), run(p, True)
    return {name: (value[name], magnitude[name]) for name in value}

"""Random convolutions that convop and a peer are both given: parameters and tensors.

Tensors are NC* and of exact values: float64 for float64, float32 for every narrower dtype, rounded
to it already. So a file need not know a dtype that NumPy does not have.
"""
import json

import numpy as np

from convop_ctypes import round_to_bfloat16

OUTPUTS = ("dst", "diff_src", "diff_weights", "diff_bias")
MOST_PRODUCTS = 400_000
LAYOUTS = (("NCW", "NWC"), ("NCHW", "NHWC"), ("NCDHW", "NDHWC"))


def rounded(values, dtype):
    if dtype == "bfloat16":
        return (round_to_bfloat16(values).astype(np.uint32) << 16).view(np.float32)
    return values.astype(dtype).astype(np.float64 if dtype == "float64" else np.float32)


def draw_channels(r):
    """Groups, and input and output channels in each."""
    kind = r.choice(["dense", "grouped", "depthwise", "wide"], p=[0.4, 0.25, 0.3, 0.05])
    if kind == "depthwise":
        return int(r.integers(2, 20)), 1, int(r.integers(1, 4))
    if kind == "wide":
        return 1, int(r.integers(64, 513)), int(r.integers(1, 5))
    groups = 1 if kind == "dense" else int(r.integers(2, 5))
    return groups, int(r.integers(1, 20 // groups)), int(r.integers(1, 20 // groups))


def draw_axis(r, axes, unequal):
    longest = (60, 16, 8)[axes - 1]
    kernel = int(r.choice([1, 2, 3, 5], p=[0.25, 0.15, 0.45, 0.15]))
    dilate = int(r.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))
    reach = dilate * (kernel - 1) + 1
    # No peer is asked for more padding than the kernel reaches over.
    begin = int(r.integers(0, min(reach, 4)))
    end = int(r.integers(0, min(reach, 4))) if unequal else begin
    size = int(r.integers(max(1, reach - begin - end), longest + reach))
    return size, kernel, int(r.choice([1, 2, 3], p=[0.55, 0.35, 0.1])), dilate, begin, end


def draw_shape(r, unequal):
    axes = int(r.choice([1, 2, 3], p=[0.25, 0.5, 0.25]))
    unequal = unequal and r.random() < 0.4
    pointwise = r.random() < 0.1
    while True:
        groups, ic, oc = draw_channels(r)
        size, kernel, stride, dilate, begin, end = zip(*(draw_axis(r, axes, unequal)
                                                         for _ in range(axes)))
        if pointwise:
            kernel, begin, end = (1,) * axes, (0,) * axes, (0,) * axes
        out = tuple((i + b + e - d * (k - 1) - 1) // s + 1
                    for i, k, s, d, b, e in zip(size, kernel, stride, dilate, begin, end))
        mb = int(r.integers(1, 4))
        if mb * groups * ic * oc * np.prod(kernel) * np.prod(out) <= MOST_PRODUCTS:
            break
    return {"axes": axes, "mb": mb, "groups": groups, "ic": groups * ic, "oc": groups * oc,
            "size": size, "out": out, "kernel": kernel, "stride": stride, "dilate": dilate,
            "pad_begin": begin, "pad_end": end}


def draw(seed, index, dtypes, unequal, bias):
    """The problem number index of a seed: it follows from the arguments alone."""
    r = np.random.default_rng([seed, index])
    p = draw_shape(r, unequal)
    p["dtype"] = str(r.choice(dtypes))
    p["bias"] = bias and bool(r.random() < 0.6)
    p["layout"] = str(r.choice(LAYOUTS[p["axes"] - 1]))
    outputs = OUTPUTS if p["bias"] else OUTPUTS[:-1]
    p["requests"] = {name: "add" if r.random() < 0.25 else "write" for name in outputs}

    shapes = {"src": (p["mb"], p["ic"], *p["size"]),
              "weights": (p["oc"], p["ic"] // p["groups"], *p["kernel"]),
              "diff_dst": (p["mb"], p["oc"], *p["out"])}
    if p["bias"]:
        shapes["bias"] = (p["oc"],)
    like = {"dst": "diff_dst", "diff_src": "src", "diff_weights": "weights", "diff_bias": "bias"}
    for name, request in p["requests"].items():
        if request == "add":
            shapes["old_" + name] = shapes[like[name]]
    p["tensors"] = {name: rounded(r.uniform(-1, 1, shape), p["dtype"])
                    for name, shape in shapes.items()}
    return p


def describe(p):
    words = [p["dtype"], p["layout"], f"mb{p['mb']}", f"g{p['groups']}", f"ic{p['ic']}",
             f"oc{p['oc']}"]
    words += [f"{key}={'x'.join(map(str, p[key]))}" for key in
              ("size", "kernel", "stride", "dilate", "pad_begin", "pad_end")]
    words += ["bias"] if p["bias"] else []
    words += [f"{name}+=" for name, request in p["requests"].items() if request == "add"]
    return " ".join(words)


def save(path, problems):
    """problems: a dictionary from index to problem."""
    plain = {i: {k: v for k, v in p.items() if k != "tensors"} for i, p in problems.items()}
    np.savez(path, problems=np.array(json.dumps(plain)),
             **{f"{i}.{name}": t for i, p in problems.items() for name, t in p["tensors"].items()})


def load(path):
    with np.load(path) as file:
        problems = {int(i): dict(p, tensors={}) for i, p in
                    json.loads(str(file["problems"])).items()}
        for key in file.files:
            if key != "problems":
                index, name = key.split(".")
                problems[int(index)]["tensors"][name] = file[key]
    for p in problems.values():
        for key in ("size", "out", "kernel", "stride", "dilate", "pad_begin", "pad_end"):
            p[key] = tuple(p[key])
    return problems

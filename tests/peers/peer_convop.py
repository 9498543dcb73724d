"""convop's side: each problem through conv_forward and conv_backward in the problem's layout, and
through convop_invoke with MXNet's parameter texts where they can say it ("text_" outputs)."""
import sys

import numpy as np

import mxnet_texts
import problem
from convop_ctypes import Convop, Error, Tensor
from serve import serve


def to_layout(values, layout):
    return np.moveaxis(values, 1, -1) if layout.endswith("C") and values.ndim > 1 else values


def from_layout(values, layout):
    return np.moveaxis(values, -1, 1) if layout.endswith("C") and values.ndim > 1 else values


class Call:
    """The tensors of one call, in a layout. What is written over holds NaN before."""

    def __init__(self, p, layout):
        t, self.dtype, self.layout = p["tensors"], p["dtype"], layout
        self.inputs = {name: self.tensor(t[name]) for name in ("src", "weights", "diff_dst")}
        self.inputs["bias"] = self.tensor(t["bias"]) if p["bias"] else None
        like = {"dst": "diff_dst", "diff_src": "src", "diff_weights": "weights",
                "diff_bias": "bias"}
        self.outputs = {
            name: self.tensor(t["old_" + name] if request == "add"
                              else np.full_like(t[like[name]], np.nan))
            for name, request in p["requests"].items()}

    def tensor(self, values):
        return Tensor(to_layout(values, self.layout), self.dtype)

    def found(self, prefix=""):
        return {prefix + name: from_layout(t.values(), self.layout)
                for name, t in self.outputs.items()}


def typed(convop, p):
    call = Call(p, p["layout"])
    requests = {**p["requests"]}
    requests.setdefault("diff_bias", "null")
    params = convop.params(p["kernel"], p["stride"], p["dilate"], p["pad_begin"], p["pad_end"],
                           p["oc"], p["groups"], not p["bias"], p["layout"])
    i, o = call.inputs, call.outputs
    convop.conv_forward(params, i["src"], i["weights"], i["bias"], o["dst"], requests["dst"])
    convop.conv_backward(params, i["diff_dst"], i["src"], i["weights"],
                         [o.get(name) for name in problem.OUTPUTS[1:]],
                         [requests[name] for name in problem.OUTPUTS[1:]])
    return call.found()


def by_text(convop, p):
    texts = mxnet_texts.of(p)
    call = Call(p, problem.LAYOUTS[p["axes"] - 1][0])
    i, o = call.inputs, call.outputs
    inputs = [i["src"], i["weights"]] + ([i["bias"]] if p["bias"] else [])
    convop.invoke("Convolution", texts, inputs, [o["dst"]], [p["requests"]["dst"]])
    names = [name for name in problem.OUTPUTS[1:] if name in o]
    convop.invoke("_backward_Convolution", texts, [i["diff_dst"], i["src"], i["weights"]],
                  [o[name] for name in names], [p["requests"][name] for name in names])
    return call.found("text_")


def takes(convop, dtype):
    one = np.ones((1, 1, 1), np.float32)
    params = convop.params((1,), (1,), (1,), (0,), (0,), 1, 1, True, "NCW")
    try:
        convop.conv_forward(params, Tensor(one, dtype), Tensor(one, dtype), None,
                            Tensor(one, dtype), "write")
    except Error as error:
        if error.status in (1, 2):
            return False
        raise
    return True


def main():
    if sys.argv[1] == "--dtypes":
        convop = Convop(sys.argv[2])
        print(" ".join(d for d in ("float32", "float64", "float16", "bfloat16")
                       if takes(convop, d)))
        return
    convop = Convop(sys.argv[3])

    def compute(p):
        found = typed(convop, p)
        if p["pad_begin"] == p["pad_end"]:
            found.update(by_text(convop, p))
        return found

    serve(compute, f"convop {convop.version}", adds=problem.OUTPUTS)


if __name__ == "__main__":
    main()

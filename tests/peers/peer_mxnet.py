"""MXNet's Convolution, with its own parameter texts and its own gradient requests."""
import mxnet as mx
import numpy as np

import mxnet_texts
from serve import serve

GRADIENT_OF = {"src": "diff_src", "weights": "diff_weights", "bias": "diff_bias"}


def is_pointwise(p):
    return all(k == 1 for k in p["kernel"]) and all(s == 1 for s in p["stride"]) and not any(
        p["pad_begin"])


def compute(p):
    names = ["src", "weights"] + (["bias"] if p["bias"] else [])
    arrays = {name: mx.nd.array(p["tensors"][name], dtype=p["dtype"]) for name in names}
    for name, array in arrays.items():
        request = p["requests"][GRADIENT_OF[name]]
        array.attach_grad(grad_req=request)
        if request == "add":
            array.grad[:] = mx.nd.array(p["tensors"]["old_" + GRADIENT_OF[name]],
                                        dtype=p["dtype"])
    with mx.autograd.record():
        dst = mx.nd.Convolution(*arrays.values(), **mxnet_texts.of(p))
    dst.backward(mx.nd.array(p["tensors"]["diff_dst"], dtype=p["dtype"]))
    found = {"dst": dst.asnumpy()}
    for name, array in arrays.items():
        found[GRADIENT_OF[name]] = array.grad.asnumpy()
    # MXNet's fast path for 1x1 with stride 1 and no padding ignores the request of the gradient by
    # the data: it overwrites where it should add.
    if is_pointwise(p) and p["requests"]["diff_src"] == "add":
        del found["diff_src"]
    return found


serve(compute, f"mxnet {mx.__version__}, numpy {np.__version__}", adds=GRADIENT_OF.values())

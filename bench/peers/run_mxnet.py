"""MXNet: NC* only, forward into an array that is there, backward of a recorded call; on the engine that
hands nothing over to another thread, which is the faster one for single calls."""
import os

os.environ.setdefault("MXNET_ENGINE_TYPE", "NaiveEngine")

import mxnet as mx  # noqa: E402

from contender import serve, tensors  # noqa: E402


def variants_of(p, direction):
    if p.pad != p.pad_end and any(e >= s for e, s in zip(p.pad_end, p.stride)):
        raise ValueError("padding differs at begin and end")
    src, weights, diff_dst = (mx.nd.array(a) for a in tensors(p))
    parameters = dict(kernel=p.kernel, stride=p.stride, dilate=p.dilate, pad=p.pad,
                      num_filter=p.oc, num_group=p.g, no_bias=True)
    if direction == "FWD":
        dst = mx.nd.empty(diff_dst.shape)

        def forward():
            mx.nd.Convolution(src, weights, out=dst, **parameters)
            dst.wait_to_read()
        return {"nchw": forward}
    for array in (src, weights):
        array.attach_grad()
    with mx.autograd.record():
        dst = mx.nd.Convolution(src, weights, **parameters)
    dst.wait_to_read()

    def backward():
        dst.backward(diff_dst, retain_graph=True)
        src.grad.wait_to_read()
        weights.grad.wait_to_read()
    return {"nchw": backward}


serve(f"mxnet {mx.__version__}", variants_of)

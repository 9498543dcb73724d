"""ONNX Runtime on the CPU: Conv, whose pads may be unequal. It has no gradients of its own, but two
of them are operators as well: the gradient by the data is ConvTranspose, and the one by the weights,
without groups, is a Conv with images and channels, and stride and dilation, exchanged."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from serve import serve

TYPE = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16,
        "float64": TensorProto.DOUBLE}
OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = 2
OPTIONS.log_severity_level = 3


def run(dtype, op, inputs, **attributes):
    arrays = {f"i{n}": np.ascontiguousarray(a, dtype) for n, a in enumerate(inputs)}
    node = helper.make_node(op, list(arrays), ["o"], **attributes)
    # The weights are constants, as in any model, so that what is packed beforehand is compared too.
    constants = [numpy_helper.from_array(a, n) for n, a in list(arrays.items())[1:]]
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("i0", TYPE[dtype], arrays["i0"].shape)],
        [helper.make_tensor_value_info("o", TYPE[dtype], None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS,
                                           providers=["CPUExecutionProvider"])
    return session.run(["o"], {"i0": arrays["i0"]})[0]


def swap(values):
    return np.swapaxes(values, 0, 1)


def compute(p):
    t, dtype, pads = p["tensors"], p["dtype"], [*p["pad_begin"], *p["pad_end"]]
    window = {"kernel_shape": p["kernel"], "strides": p["stride"], "dilations": p["dilate"],
              "pads": pads, "group": p["groups"]}
    found = {"dst": run(dtype, "Conv",
                        [t["src"], t["weights"]] + ([t["bias"]] if p["bias"] else []), **window)}
    rest = [(i + b + e - d * (k - 1) - 1) % s for i, b, e, d, k, s in
            zip(p["size"], p["pad_begin"], p["pad_end"], p["dilate"], p["kernel"], p["stride"])]
    found["diff_src"] = run(dtype, "ConvTranspose", [t["diff_dst"], t["weights"]],
                            output_padding=rest, **window)
    if p["groups"] == 1:
        taps = run(dtype, "Conv", [swap(t["src"]), swap(t["diff_dst"])], kernel_shape=p["out"],
                   strides=p["dilate"], dilations=p["stride"], pads=pads)
        found["diff_weights"] = swap(taps)[(...,) + tuple(slice(k) for k in p["kernel"])]
    return found


serve(compute, f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}")

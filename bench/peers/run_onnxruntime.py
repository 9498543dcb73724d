"""ONNX Runtime: forward only, weights constant, output bound to memory that is there already."""
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from contender import serve, tensors, threads

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = threads()
OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 3


def variants_of(p, direction):
    if direction != "FWD":
        raise ValueError("it has no gradients")
    src, weights, dst = tensors(p)
    node = helper.make_node("Conv", ["src", "weights"], ["dst"], kernel_shape=p.kernel,
                            strides=p.stride, dilations=p.dilate, group=p.g,
                            pads=[*p.pad, *p.pad_end])
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape)
            for n, a in (("src", src), ("dst", dst))]
    graph = helper.make_graph([node], "g", info[:1], info[1:],
                              [numpy_helper.from_array(weights, "weights")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS,
                                           providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input("src", onnxruntime.OrtValue.ortvalue_from_numpy(src))
    binding.bind_ortvalue_output("dst", onnxruntime.OrtValue.ortvalue_from_numpy(dst))
    return {"nchw": lambda: session.run_with_iobinding(binding)}


serve(f"onnxruntime {onnxruntime.__version__}", variants_of)

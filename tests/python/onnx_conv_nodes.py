#!/usr/bin/env python3
"""ONNX's own tests of Conv, computed by convop.

Each model of ONNX's backend tests that has a Conv in it runs in ONNX's reference evaluator, where
convop takes the place of Conv; what the test expects must come out. ONNX tests few of the paddings
that it defines, so further ones are compared with ONNX Runtime.
"""
import itertools
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import convop

KINDS = ("node", "pytorch-converted", "pytorch-operator")


def padding(auto_pad, pads, sizes, kernel, strides, dilations):
    """A pair of begin and end for each axis: as given, or by ONNX's rule."""
    if auto_pad in (None, "NOTSET"):
        pads = pads or [0] * 2 * len(kernel)
        return tuple(zip(pads[:len(kernel)], pads[len(kernel):]))
    found = []
    for size, k, s, d in zip(sizes, kernel, strides, dilations):
        total = 0 if auto_pad == "VALID" else max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
        less, more = total // 2, total - total // 2
        found.append((more, less) if auto_pad == "SAME_LOWER" else (less, more))
    return tuple(found)


class Conv(OpRun):
    """ONNX's operator, computed by convop. The evaluator finds it by the name of the class."""

    op_domain = ""
    runs = 0

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None,
             pads=None, strides=None):
        Conv.runs += 1
        kernel = tuple(kernel_shape or w.shape[2:])
        strides = tuple(strides or (1,) * len(kernel))
        dilations = tuple(dilations or (1,) * len(kernel))
        pad = padding(auto_pad, pads, x.shape[2:], kernel, strides, dilations)
        return (convop.conv_forward(x, w, b, kernel=kernel, stride=strides, dilate=dilations,
                                    pad=pad, num_group=group or 1),)


def read(folder, kind):
    """The tensors input_0.pb, input_1.pb, ... or output_0.pb, ... of a folder."""
    files = (folder / f"{kind}_{i}.pb" for i in range(len(list(folder.glob(f"{kind}_*.pb")))))
    return [numpy_helper.to_array(TensorProto.FromString(file.read_bytes())) for file in files]


def load(case):
    """The model, and pairs of inputs and expected outputs: with the case or in files."""
    if case.model:
        return case.model, case.data_sets
    folder = Path(case.model_dir)
    return (onnx.load(folder / "model.onnx"),
            [(read(f, "input"), read(f, "output")) for f in sorted(folder.glob("test_data_set_*"))])


def model_of(options, shape, kernel):
    """A model of one Conv."""
    names = {"x": shape, "w": kernel, "y": [None] * len(shape)}
    values = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in names.items()}
    node = helper.make_node("Conv", ["x", "w"], ["y"], **options)
    graph = helper.make_graph([node], "conv", [values["x"], values["w"]], [values["y"]])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


class Backend(unittest.TestCase):
    def check(self, kind):
        count = Conv.runs = 0
        for case in load_model_tests(kind=kind):
            model, data_sets = load(case)
            if not any(node.op_type == "Conv" for node in model.graph.node):
                continue
            evaluator = ReferenceEvaluator(model, new_ops=[Conv])
            for inputs, outputs in data_sets:
                with self.subTest(case.name):
                    before = Conv.runs
                    found = evaluator.run(None, dict(zip(evaluator.input_names, inputs)))
                    self.assertGreater(Conv.runs, before)
                    for f, e in zip(found, outputs, strict=True):
                        self.assertEqual((f.shape, f.dtype), (e.shape, e.dtype))
                        np.testing.assert_allclose(f, e, case.rtol, case.atol)
            count += 1
        print(f"  ONNX's backend tests, {kind}: {count} models with Conv, {Conv.runs} runs of it")
        return count

    def test_models(self):
        found = {kind: self.check(kind) for kind in KINDS}
        self.assertGreaterEqual(found["node"], 6)
        self.assertGreaterEqual(found["pytorch-converted"], 20)


class Paddings(unittest.TestCase):
    def test_against_onnx_runtime(self):
        random = np.random.default_rng(8)
        count = 0
        for pad, axes, stride, kernel, size, group in itertools.product(
                ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"), (1, 2, 3), (1, 2), (2, 3), (6, 7),
                (1, 2)):
            shape, weights = (2, 4) + (size, size + 1, 5)[:axes], (6, 4 // group) + (kernel,) * axes
            options = {"auto_pad": pad, "strides": [stride] * axes, "group": group}
            if pad == "NOTSET":
                options["pads"] = [1] * axes + [0] * axes
            model = model_of(options, shape, weights)
            feeds = {"x": random.standard_normal(shape, np.float32),
                     "w": random.standard_normal(weights, np.float32)}
            session = onnxruntime.InferenceSession(model.SerializeToString(),
                                                   providers=["CPUExecutionProvider"])
            with self.subTest(shape=shape, weights=weights, **options):
                found, = ReferenceEvaluator(model, new_ops=[Conv]).run(None, feeds)
                expected, = session.run(None, feeds)
                np.testing.assert_allclose(found, expected, 1e-4, 1e-5)
            count += 1
        print(f"  {count} paddings as ONNX Runtime")


if __name__ == "__main__":
    unittest.main()

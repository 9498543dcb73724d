"""The samples by which PyTorch tests its own convolutions (torch.testing's operator database), and
those that must be refused."""
import collections
import unittest

import torch
from torch.testing._internal.common_methods_invocations import op_db

import convop.torch
from support import Case

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
OURS = {f"nn.functional.conv{axes}d": getattr(convop.torch, f"conv{axes}d") for axes in (1, 2, 3)}
OPERATORS = [op for op in op_db if op.name in OURS]


class Samples(Case):
    def test_samples(self):
        count = collections.Counter()
        for op in OPERATORS:
            for dtype in DTYPES:
                for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
                    with self.subTest(op=op.name, dtype=dtype, sample=sample.summary()):
                        result = self.assert_convolves(
                            OURS[op.name], op.op, (sample.input, *sample.args), **sample.kwargs)
                        expected = op.op(sample.input, *sample.args, **sample.kwargs)
                        self.assertEqual(result.stride(), expected.stride())
                    count[op.name, dtype] += 1
        for (name, dtype), number in count.items():
            print(f"  {name} {dtype}: {number} samples, result and gradients")
        self.assertEqual(len(count), 3 * len(DTYPES))
        self.assertGreaterEqual(sum(count.values()), 240)

    def test_other_dtypes_are_refused(self):
        """PyTorch convolves complex and whole numbers as well."""
        count = collections.Counter()
        for op in OPERATORS:
            self.assertEqual(op.dtypes, {*DTYPES, torch.complex64, torch.complex128, torch.int64})
            for dtype in op.dtypes - {*DTYPES}:
                for sample in op.sample_inputs("cpu", dtype):
                    with self.subTest(op=op.name, dtype=dtype), self.assertRaises(RuntimeError):
                        OURS[op.name](sample.input, *sample.args, **sample.kwargs)
                    count[dtype] += 1
        for dtype, number in count.items():
            print(f"  {dtype}: {number} samples refused")
        self.assertEqual(len(count), 3)

    def test_errors(self):
        count = 0
        for op in OPERATORS:
            for error in op.error_inputs("cpu"):
                sample = error.sample_input
                with self.subTest(op=op.name, error=error.error_regex), \
                        self.assertRaises(error.error_type):
                    OURS[op.name](sample.input, *sample.args, **sample.kwargs)
                count += 1
        print(f"  {count} samples with errors refused")
        self.assertGreater(count, 20)


if __name__ == "__main__":
    unittest.main()

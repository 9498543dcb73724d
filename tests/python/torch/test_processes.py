"""convop beside PyTorch in one process: the order of imports, workers that are forked, threads."""
import concurrent.futures
import os
import subprocess
import sys
import unittest

import torch
from torch.utils.data import DataLoader, Dataset

import convop.torch as ct

THREADS = 8


def image(index):
    return torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(index))


WEIGHT = torch.linspace(-1, 1, 5 * 3 * 3 * 3).reshape(5, 3, 3, 3)


class Convolved(Dataset):
    """Each sample is convolved by the worker that loads it."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return os.getpid(), ct.conv2d(image(index), WEIGHT, padding=1)[0]


class Workers(unittest.TestCase):
    def load(self, context):
        ct.conv2d(image(0), WEIGHT)  # so that the threads of convop are there when it forks
        pids, found = set(), []
        loader = DataLoader(Convolved(), batch_size=2, num_workers=2,
                            multiprocessing_context=context, timeout=60)
        for pid, y in loader:
            pids.update(pid.tolist())
            found.append(y)
        self.assertEqual(len(pids), 2)
        self.assertNotIn(os.getpid(), pids)
        expected = torch.cat([ct.conv2d(image(i), WEIGHT, padding=1) for i in range(12)])
        self.assertTrue(torch.equal(torch.cat(found), expected))

    def test_forked(self):
        self.load("fork")


class Imports(unittest.TestCase):
    def run_program(self, program):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "True"))

    def test_convop_first(self):
        self.run_program("""
import convop, numpy
convop.conv_forward(numpy.ones((1, 1, 3, 3)), numpy.ones((1, 1, 3, 3)))
import torch, convop.torch
x, w = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)
print(torch.allclose(convop.torch.conv2d(x, w), torch.conv2d(x, w), atol=1e-5))""")

    def test_torch_first(self):
        self.run_program("""
import torch
x, w = torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)
expected = torch.conv2d(x, w)
import convop.torch
print(torch.allclose(convop.torch.conv2d(x, w), expected, atol=1e-5))""")

    def test_convop_alone_brings_no_torch(self):
        self.run_program("import convop, sys; print('torch' not in sys.modules)")


class Threads(unittest.TestCase):
    def test_eight_at_once(self):
        def step(index):
            x, w = image(index).requires_grad_(), WEIGHT.clone().requires_grad_()
            y = ct.conv2d(x, w, padding=1)
            y.square().sum().backward()
            return y.detach(), x.grad, w.grad

        alone = [step(index) for index in range(THREADS)]
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            for _ in range(10):
                for found, expected in zip(pool.map(step, range(THREADS)), alone):
                    for f, e in zip(found, expected):
                        self.assertTrue(torch.equal(f, e))


if __name__ == "__main__":
    unittest.main()

"""What a call of convop.torch costs beside PyTorch's own, on problems where all is overhead.

    torch_call.py        microseconds of the thread's processor time, the least of many rounds
"""
import time
import timeit

import torch
import torch.nn.functional as F

import convop.torch as ct
from convop.torch.library import convolution

ROUNDS, CALLS = 100, 500


def least(call):
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS, timer=time.thread_time)) / CALLS * 1e6


def compare(name, ours, theirs):
    print(f"{name:44s} {least(ours):6.1f} {least(theirs):6.1f}")


def main():
    torch.set_num_threads(1)
    x, w, by = torch.randn(1, 1, 4, 4), torch.randn(1, 1, 1, 1), torch.ones(1, 1, 4, 4)
    x_last = torch.randn(1, 4, 4, 4).to(memory_format=torch.channels_last)
    w_last = torch.randn(4, 4, 1, 1)
    wanted = x.clone().requires_grad_(), w.clone().requires_grad_()
    plain = torch.nn.Conv2d(1, 1, 1)
    patched = ct.patch(torch.nn.Conv2d(1, 1, 1))
    print(f"{'':44s} convop torch")
    with torch.no_grad():
        compare("conv2d", lambda: ct.conv2d(x, w), lambda: F.conv2d(x, w))
        compare("conv2d, channels_last", lambda: ct.conv2d(x_last, w_last),
                lambda: F.conv2d(x_last, w_last))
        compare("Conv2d, the module", lambda: patched(x), lambda: plain(x))
        one, no = (1, 1), (0, 0)
        compare("the operator of torch.library",
                lambda: convolution(x, w, None, one, no, no, one, 1),
                lambda: torch.ops.aten.convolution(x, w, None, one, no, one, False, no, 1))
    compare("conv2d, gradients wanted", lambda: ct.conv2d(*wanted), lambda: F.conv2d(*wanted))
    compare("conv2d and its gradients",
            lambda: torch.autograd.grad(ct.conv2d(*wanted), wanted, by),
            lambda: torch.autograd.grad(F.conv2d(*wanted), wanted, by))


if __name__ == "__main__":
    main()

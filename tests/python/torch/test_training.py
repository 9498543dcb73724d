"""Small networks train to the same weights with and without the patch."""
import copy
import unittest
from unittest import mock

import torch
from torch import nn

import convop
import convop.torch as ct
import support  # noqa: F401  one thread for PyTorch


def separable(channels, filters, stride, activation):
    """MobileNet's block: a depthwise and a pointwise convolution."""
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False),
        nn.BatchNorm2d(channels), activation(),
        nn.Conv2d(channels, filters, 1, bias=False), nn.BatchNorm2d(filters), activation())


class Residual(nn.Module):
    def __init__(self, channels, activation):
        super().__init__()
        self.path = nn.Sequential(nn.Conv2d(channels, channels, 3, padding="same"), activation(),
                                  nn.Conv2d(channels, channels, 3, padding=1, groups=2))
        self.last = activation()

    def forward(self, x):
        return self.last(x + self.path(x))


def network(activation):
    return nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), activation(),
                         separable(8, 16, 1, activation), separable(16, 16, 2, activation),
                         Residual(16, activation), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(16, 4))


def images(dtype, memory_format):
    """Four classes that a network can tell apart: the direction of a ramp, in noise."""
    labels = torch.arange(32) % 4
    ramp = torch.linspace(-1, 1, 16, dtype=dtype).expand(16, 16)
    ramps = torch.stack([ramp, ramp.flip(1), ramp.T, ramp.T.flip(0)])
    noise = torch.randn(32, 3, 16, 16, dtype=dtype)
    return (ramps[labels, None] + 0.5 * noise).to(memory_format=memory_format), labels


def train(model, x, labels, steps, memory_format):
    model.to(memory_format=memory_format).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    losses = []
    for step in range(steps):
        batch = slice(step % 4 * 8, step % 4 * 8 + 8)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Training(unittest.TestCase):
    def both(self, dtype, steps, memory_format=torch.contiguous_format, activation=nn.ReLU, seed=7):
        torch.manual_seed(seed)
        plain = network(activation).to(dtype)
        patched = ct.patch(copy.deepcopy(plain))
        x, labels = images(dtype, memory_format)
        losses = train(plain, x, labels, steps, memory_format)
        with mock.patch.object(convop, "conv_forward", wraps=convop.conv_forward) as forward, \
                mock.patch.object(convop, "conv_backward", wraps=convop.conv_backward) as backward:
            ours = train(patched, x, labels, steps, memory_format)
        self.assertEqual((forward.call_count, backward.call_count), (7 * steps, 7 * steps))
        self.assertLess(losses[-1], 0.5 * losses[0])
        apart = max((a - b).abs().max().item() for a, b in
                    zip(plain.state_dict().values(), patched.state_dict().values()))
        print(f"  {dtype} {memory_format}: {steps} steps, loss {losses[0]:.3f} to {losses[-1]:.3f} "
              f"and {ours[-1]:.3f}, weights differ by {apart:.1e}")
        return apart

    def test_float64(self):
        self.assertLess(self.both(torch.float64, 40), 1e-9)
        self.assertLess(self.both(torch.float64, 40, torch.channels_last), 1e-9)

    def test_float32(self):
        """Roundings grow from step to step; 5e-7 was seen. With ReLU one that takes an activation
        across 0 parts the two for good, with whatever row: so there is no kink here."""
        for seed in (7, 8):
            for layout in (torch.contiguous_format, torch.channels_last):
                self.assertLess(self.both(torch.float32, 40, layout, nn.SiLU, seed), 1e-5)


if __name__ == "__main__":
    unittest.main()

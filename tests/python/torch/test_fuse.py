"""patch(fuse=True): BatchNorm and ReLU behind a convolution are computed with it, and only where
nothing else sees what is between them."""
import copy
import io
import pickle
import unittest
import unittest.mock

import torch
from torch import nn
import torch.nn.functional as F

import convop.torch as ct
from convop.torch import fuse
import support  # noqa: F401  one thread for PyTorch


def randomize(model, seed=3):
    """Statistics and affine parameters that are not those of a new BatchNorm."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            if module.running_mean is not None:
                module.running_mean.normal_()
                module.running_var.uniform_(0.2, 3)
            if module.affine:
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
    return model.eval()


def block(inputs, outputs, activation=nn.ReLU, **options):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False, **options),
                         nn.BatchNorm2d(outputs), activation(inplace=True))


class Residual(nn.Module):
    """MobileNet v2's: the sum sees what BatchNorm gives."""

    def __init__(self):
        super().__init__()
        self.expand = block(6, 12, nn.ReLU6)
        self.depthwise = block(12, 12, nn.ReLU6, groups=12)
        self.project = nn.Sequential(nn.Conv2d(12, 6, 1), nn.BatchNorm2d(6))

    def forward(self, x):
        return x + self.project(self.depthwise(self.expand(x)))


class Shared(nn.Module):
    """One ReLU for all, and results that are used twice."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = (nn.Conv2d(6, 6, 3, padding=1) for _ in range(3))
        self.norm, self.twice = nn.BatchNorm2d(6), nn.BatchNorm2d(6)
        self.relu = nn.ReLU()

    def forward(self, x):
        a = self.relu(self.norm(self.one(x)))
        b = self.two(a)
        c = self.twice(self.three(self.relu(b)))
        return self.twice(c) + self.relu(b) + F.relu(self.relu(c)) + b


MODELS = {
    "sequence": lambda: nn.Sequential(block(6, 8), block(8, 8, groups=8, stride=2), nn.Conv2d(8, 4, 1),
                                      nn.ReLU(), nn.ReLU()),
    "plain norms": lambda: nn.Sequential(nn.Conv2d(6, 8, 3, bias=True),
                                         nn.BatchNorm2d(8, affine=False, eps=0.3), nn.ReLU6()),
    "no statistics": lambda: nn.Sequential(nn.Conv2d(6, 8, 3),
                                           nn.BatchNorm2d(8, track_running_stats=False), nn.ReLU()),
    "residual": Residual,
    "shared": Shared,
    "reflected": lambda: nn.Sequential(nn.Conv2d(6, 8, 3, padding=1, padding_mode="reflect"),
                                       nn.BatchNorm2d(8), nn.ReLU()),
}


def image(**options):
    torch.manual_seed(1)
    return torch.randn(2, 6, 9, 8, **options)


def marks(model, x):
    """The modules that were handed what was computed for them."""
    seen, forward = [], fuse._HandsOn.forward

    def handed(module, input):
        if getattr(input, "_convop_done", ()):
            seen.append(module)
        return forward(module, input)
    with torch.no_grad(), unittest.mock.patch.object(fuse._HandsOn, "forward", handed):
        model(x)
    return seen


class Fuse(unittest.TestCase):
    def test_is_the_same(self):
        for name, make in MODELS.items():
            for dtype in (torch.float32, torch.float64):
                for channels_last in (False, True):
                    with self.subTest(model=name, dtype=dtype, channels_last=channels_last):
                        plain = randomize(make()).to(dtype)
                        x = image(dtype=dtype)
                        if channels_last:
                            x = x.to(memory_format=torch.channels_last)
                            plain = plain.to(memory_format=torch.channels_last)
                        fused = ct.patch(copy.deepcopy(plain), fuse=True)
                        self.assertEqual(fused.state_dict().keys(), plain.state_dict().keys())
                        self.check(fused, plain, x)

    def check(self, fused, plain, x):
        with torch.no_grad():
            expected = plain(x)
            for _ in range(2):
                found = fused(x)
                torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
                self.assertEqual(found.stride(), expected.stride())

    def test_what_is_fused(self):
        expected = {"sequence": 5, "plain norms": 2, "no statistics": 0, "residual": 5, "shared": 2,
                    "reflected": 2}
        for name, make in MODELS.items():
            with self.subTest(model=name):
                model = ct.patch(randomize(make()), fuse=True)
                self.assertEqual(len(marks(model, image())), expected[name])

    def test_training_and_gradients(self):
        plain = randomize(MODELS["residual"]())
        fused, x = ct.patch(copy.deepcopy(plain), fuse=True), image()
        self.check(fused, plain, x)
        for training in (True, False):
            plain.train(training), fused.train(training)
            for model in (plain, fused):
                model.zero_grad()
                model(x).square().sum().backward()
            for ours, theirs in zip(fused.parameters(), plain.parameters()):
                torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-3, atol=1e-3)
        for ours, theirs in zip(fused.buffers(), plain.buffers()):
            torch.testing.assert_close(ours, theirs)
        self.check(fused, plain, x)
        fused.project[1].train(), plain.project[1].train()  # one module alone
        self.check(fused, plain, x)

    def test_parameters_that_change(self):
        plain = randomize(MODELS["sequence"]())
        fused, x = ct.patch(copy.deepcopy(plain), fuse=True), image()
        self.check(fused, plain, x)
        other = randomize(MODELS["sequence"](), 8).state_dict()
        for change in (lambda m: m[0][1].running_mean.add_(1), lambda m: m[0][1].weight.mul_(2),
                       lambda m: m[1][0].weight.neg_(), lambda m: setattr(m[1][1], "eps", 0.5),
                       lambda m: m.load_state_dict(other)):
            with torch.no_grad():
                change(plain), change(fused)
            self.check(fused, plain, x)

    def test_copies_files_and_back(self):
        plain = randomize(MODELS["residual"]())
        fused, x = ct.patch(copy.deepcopy(plain), fuse=True), image()
        self.check(fused, plain, x)
        file = io.BytesIO()
        torch.save(fused, file)
        file.seek(0)
        for other in (copy.deepcopy(fused), pickle.loads(pickle.dumps(fused)),
                      torch.load(file, weights_only=False)):
            self.check(other, plain, x)
            self.assertEqual(len(marks(other, x)), 5)
            with torch.no_grad():
                other.expand[1].weight.zero_()
            self.check(fused, plain, x)
        ct.unpatch(fused)
        self.assertEqual([type(m) for m in fused.modules()], [type(m) for m in plain.modules()])
        with torch.no_grad():
            self.assertTrue(torch.equal(fused(x), plain(x)))

    def test_what_cannot_be_proved_is_left_alone(self):
        class Decides(nn.Sequential):
            def forward(self, x):
                return super().forward(x if x.sum() > 0 else -x)

        hooked = randomize(MODELS["sequence"]())
        hooked[0][0].register_forward_hook(lambda *_: None)
        for model, fused in ((randomize(Decides(*MODELS["sequence"]())), 0), (hooked, 3)):
            plain = copy.deepcopy(model)
            self.assertIs(ct.patch(model, fuse=True), model)
            self.check(model, plain, image())
            self.assertEqual(len(marks(model, image())), fused)

    def test_hooks_that_come_later(self):
        """They see, and change, what is between the modules."""
        plain = randomize(MODELS["sequence"]())
        fused, x = ct.patch(copy.deepcopy(plain), fuse=True), image()
        self.check(fused, plain, x)

        def change(module, *values):
            return values[-1] - 0.25 if isinstance(values[-1], torch.Tensor) else values[0][0] + 0.5
        for add in ("register_forward_hook", "register_forward_pre_hook"):
            for i in range(3):
                handles = [getattr(model[0][i], add)(change) for model in (plain, fused)]
                self.check(fused, plain, x)
                for handle in handles:
                    handle.remove()
            everywhere = getattr(nn.modules.module, add.replace("register", "register_module"))
            handle = everywhere(change)
            self.check(fused, plain, x)
            handle.remove()
        self.check(fused, plain, x)
        self.assertEqual(len(marks(fused, x)), 5)

    def test_compile(self):
        plain = randomize(MODELS["residual"]())
        fused = ct.patch(copy.deepcopy(plain), fuse=True)
        self.check(torch.compile(fused, backend="eager", fullgraph=True), plain, image())


if __name__ == "__main__":
    unittest.main()

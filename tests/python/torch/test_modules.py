"""The modules, the patch of a model that is there, and weights that are packed once."""
import copy
import io
import pickle
import threading
import unittest

import torch
from torch import nn

import convop
import convop.torch as ct
import support  # noqa: F401  one thread for PyTorch

TYPES = {nn.Conv1d: ct.Conv1d, nn.Conv2d: ct.Conv2d, nn.Conv3d: ct.Conv3d}
OPTIONS = [{}, {"stride": 2, "padding": 1, "bias": False}, {"padding": "same", "dilation": 2},
           {"groups": 2, "padding": "valid"}, {"padding": 1, "padding_mode": "reflect"},
           {"padding": "same", "padding_mode": "circular"}, {"padding": 2, "padding_mode": "replicate"},
           {"dtype": torch.float32}]


def model():
    torch.manual_seed(5)
    return nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(),
                         nn.Sequential(nn.Conv2d(8, 8, 3, groups=8, bias=False), nn.BatchNorm2d(8)),
                         nn.Conv2d(8, 6, 1))


def image(**options):
    return torch.randn(2, 4, 8, 7, **options)


class Modules(unittest.TestCase):
    def test_are_drop_in(self):
        for axes, (theirs, ours) in enumerate(TYPES.items(), 1):
            for options in OPTIONS:
                options = {"dtype": torch.float64, **options}  # sums in float32 differ by more
                with self.subTest(type=ours, **options):
                    torch.manual_seed(6)
                    expected = theirs(4, 6, 3, **options)
                    torch.manual_seed(6)
                    found = ours(4, 6, 3, **options)
                    self.assertEqual(repr(found), repr(expected))
                    self.assertEqual(found.state_dict().keys(), expected.state_dict().keys())
                    x = torch.randn(2, 4, *(7, 6, 5)[:axes], dtype=options["dtype"])
                    for training in (True, False):
                        for grad in (True, False):
                            with torch.set_grad_enabled(grad):
                                torch.testing.assert_close(found.train(training)(x), expected(x))
                                torch.testing.assert_close(found(x[0]), expected(x[0]))
                    found(x).square().sum().backward()
                    expected(x).square().sum().backward()
                    torch.testing.assert_close(found.weight.grad, expected.weight.grad)


class Patch(unittest.TestCase):
    def test_there_and_back(self):
        plain = model().eval()
        patched = copy.deepcopy(plain)
        weights = {name: p.data_ptr() for name, p in patched.named_parameters()}
        seen = []
        patched[0].register_forward_hook(lambda module, *_: seen.append(type(module)))
        self.assertIs(ct.patch(patched), patched)
        self.assertEqual([type(m) for m in patched.modules() if isinstance(m, nn.Conv2d)],
                         [ct.Conv2d] * 3)
        self.assertEqual({n: p.data_ptr() for n, p in patched.named_parameters()}, weights)
        self.assertEqual(patched.state_dict().keys(), plain.state_dict().keys())
        x = image()
        torch.testing.assert_close(patched(x), plain(x))
        self.assertEqual(seen, [ct.Conv2d])
        self.assertIs(ct.unpatch(patched), patched)
        self.assertEqual([type(m) for m in patched.modules()], [type(m) for m in plain.modules()])
        self.assertTrue(torch.equal(patched(x), plain(x)))

    def test_a_module_itself_and_a_choice(self):
        self.assertIs(type(ct.patch(nn.Conv1d(2, 2, 1))), ct.Conv1d)
        chosen = ct.patch(model(), where=lambda name, module: module.groups > 1)
        self.assertEqual([type(m) for m in chosen.modules() if isinstance(m, nn.Conv2d)],
                         [nn.Conv2d, ct.Conv2d, nn.Conv2d])

    def test_others_are_left_alone(self):
        class Own(nn.Conv2d):
            pass
        net = nn.Sequential(Own(2, 2, 1), nn.ConvTranspose2d(2, 2, 1), nn.LazyConv2d(2, 1))
        before = [type(m) for m in net]
        self.assertEqual([type(m) for m in ct.patch(net)], before)

    def test_copies_and_files(self):
        net, x = ct.patch(model(), prepare=True).eval(), image()
        with torch.no_grad():
            expected = net(x)
            file = io.BytesIO()
            torch.save(net, file)
            file.seek(0)
            for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)),
                          torch.load(file, weights_only=False)):
                self.assertTrue(torch.equal(other(x), expected))
                other[0].weight.zero_()
                self.assertTrue(torch.equal(net(x), expected))
        plain = model()
        plain.load_state_dict(net.state_dict())
        torch.testing.assert_close(plain.eval()(x), expected)


class Prepared(unittest.TestCase):
    """If asked for, in evaluation mode and without gradients, weights are packed once."""

    def setUp(self):
        self.module = ct.patch(nn.Conv2d(4, 6, 3, padding=1), prepare=True).eval()
        self.x, self.packed = image(), 0
        original = convop.prepare

        def prepare(*arguments, **options):
            self.packed += 1
            return original(*arguments, **options)
        convop.prepare = prepare
        self.addCleanup(setattr, convop, "prepare", original)

    def check(self, packed, x=None):
        x = self.x if x is None else x
        m = self.module
        with torch.no_grad():
            torch.testing.assert_close(m(x), nn.functional.conv2d(x, m.weight, m.bias, padding=1))
        self.assertEqual(self.packed, packed)

    def test_once(self):
        for _ in range(3):
            self.check(1)
        self.check(1, torch.randn(1, 4, 5, 9))
        self.check(1)
        with torch.inference_mode():
            self.assertTrue(self.module(self.x).is_inference())
        self.assertEqual(self.packed, 1)

    def test_again_when_weights_change(self):
        m = self.module
        self.check(1)
        with torch.no_grad():
            m.weight.add_(1)
        self.check(2)
        with torch.no_grad():
            m.bias[1] = 7
        self.check(3)
        m.load_state_dict(nn.Conv2d(4, 6, 3).state_dict())
        self.check(4)
        m.weight.grad, m.bias.grad = torch.ones_like(m.weight), torch.ones_like(m.bias)
        torch.optim.SGD(m.parameters(), lr=0.1).step()
        self.check(5)
        m.weight = nn.Parameter(torch.randn(6, 4, 3, 3))
        self.check(6)
        m.weight.data = torch.randn(6, 4, 3, 3)
        self.check(7)
        self.check(7)

    def test_eval_drops_what_the_counter_does_not_see(self):
        self.check(1)
        self.module.weight.data.mul_(2)
        self.module.eval()
        self.check(2)
        self.module.prepare_weights = False
        self.module.weight.data.mul_(2)
        self.check(2)

    def test_other_formats_and_dtypes(self):
        self.check(1)
        self.check(2, self.x.to(memory_format=torch.channels_last))
        self.module.to(memory_format=torch.channels_last)
        self.check(3)
        self.module.double()
        self.check(4, self.x.double())
        with self.assertRaises(RuntimeError), torch.no_grad():
            self.module(self.x)

    def test_not_unless_asked_for(self):
        ct.patch(ct.unpatch(self.module))
        self.check(0)

    def test_not_in_training(self):
        self.module(self.x)
        self.module.train()
        self.check(0)
        self.check(0, torch.randn(2, 4, 5, 5, requires_grad=True))

    def test_another_view_of_the_same_memory(self):
        self.module = ct.patch(nn.Conv2d(4, 4, 3, padding=1), prepare=True).eval()
        self.check(1)
        self.module.weight.data = self.module.weight.data.transpose(0, 1)
        self.check(2)
        self.module.weight = nn.Parameter(self.module.weight.detach().transpose(2, 3))
        self.check(3)
        self.module.weight.data, self.module.bias.data = (
            tensor.data[:2] for tensor in (self.module.weight, self.module.bias))
        self.check(4)

    def test_weights_that_are_computed(self):
        """They are another tensor each time, perhaps at the address of the last one."""
        module = ct.patch(nn.Conv2d(4, 6, 3), prepare=True).eval()
        nn.utils.weight_norm(module)
        with torch.no_grad():
            for _ in range(5):
                module.weight_g.add_(1)
                found = module(self.x)
                torch.testing.assert_close(
                    found, nn.functional.conv2d(self.x, module.weight, module.bias))

    def test_threads(self):
        expected, wrong = self.module(self.x).detach(), []

        def run():
            with torch.no_grad():
                for _ in range(50):
                    if not torch.allclose(self.module(self.x), expected, atol=1e-5):
                        wrong.append(threading.get_ident())
        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()

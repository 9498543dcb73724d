"""convop on MXNet's arrays, and as an operator of MXNet, against mx.nd.Convolution."""
import ctypes
import os
import random
import unittest

import mxnet as mx
import numpy as np

import convop
import convop.mxnet

SEED = int(os.environ.get("CONVOP_SEED") or random.SystemRandom().randrange(1 << 32))


def problem(rng):
    """Random arrays and parameters that both sides take."""
    axes, group = rng.randint(1, 3), rng.choice((1, 2, 3))
    ic, oc = group * rng.randint(1, 3), group * rng.randint(1, 3)
    parameters = {name: tuple(rng.randint(low, high) for _ in range(axes)) for name, low, high in
                  (("kernel", 1, 3), ("stride", 1, 2), ("dilate", 1, 2), ("pad", 0, 2))}
    parameters.update(num_filter=oc, num_group=group)
    shapes = ((rng.randint(1, 3), ic, *(rng.randint(5, 8) for _ in range(axes))),
              (oc, ic // group, *parameters["kernel"]), (oc,))
    return [mx.nd.random.normal(shape=shape) for shape in shapes], parameters


def with_gradients(function, arrays, dy=None, grad_req="write"):
    """Its result, and the gradients of the arrays by dy."""
    for array in arrays:
        array.attach_grad(grad_req)
    for _ in range(2 if grad_req == "add" else 1):
        with mx.autograd.record():
            y = function(*arrays)
        y.backward(dy if dy is not None else mx.nd.cos(y))
    return [y, *(array.grad.copy() for array in arrays)]


class Mxnet(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(SEED)
        mx.random.seed(SEED % (1 << 31))

    def close(self, got, want):
        for g, w in zip(got, want):
            self.assertIsInstance(g, mx.nd.NDArray)
            g, w = g.asnumpy(), w.asnumpy()
            self.assertEqual(g.shape, w.shape)
            self.assertLessEqual(np.abs(g - w).max(), 2e-5 * max(1, np.abs(w).max()))

    def each_problem(self):
        for i in range(12):
            yield self.subTest(i=i, repeat=f"CONVOP_SEED={SEED}"), *problem(self.rng)

    def test_arrays_in_and_out(self):
        for sub, arrays, parameters in self.each_problem():
            with sub:
                want = with_gradients(lambda *t: mx.nd.Convolution(*t, **parameters), arrays)
                y = convop.conv_forward(*arrays, **parameters)
                grads = convop.conv_backward(mx.nd.cos(want[0]), *arrays, **parameters)
                self.close([y, *grads], want)

    def test_an_operator_with_gradients(self):
        for sub, arrays, parameters in self.each_problem():
            with sub:
                def custom(*t):
                    return mx.nd.Custom(*t, op_type="convop_conv", **parameters)

                def native(*t):
                    return mx.nd.Convolution(*t, **parameters)
                dy = mx.nd.cos(native(*arrays))
                for grad_req in ("write", "add"):
                    self.close(with_gradients(custom, arrays, dy, grad_req),
                               with_gradients(native, arrays, dy, grad_req))

    def test_memory_is_shared(self):
        def address(array):
            pointer = ctypes.c_void_p()
            mx.base.check_call(mx.base._LIB.MXNDArrayGetData(array.handle, ctypes.byref(pointer)))
            return pointer.value
        x, w, y = (mx.nd.ones(shape) for shape in ((2, 3, 8, 8), (4, 3, 1, 1), (2, 4, 8, 8)))
        self.assertIs(convop.conv_forward(x, w, out=y), y)
        self.assertEqual(y.asnumpy().tolist(), np.full((2, 4, 8, 8), 3).tolist())
        made = convop.conv_forward(x, w)
        seen = np.from_dlpack(made)
        self.assertEqual(seen.ctypes.data, address(made))
        self.assertEqual(np.from_dlpack(x[1:]).ctypes.data, address(x) + x.size // 2 * 4)
        self.close([convop.conv_forward(x[1:], w)], [made[1:]])

    def test_the_engine_is_waited_for(self):
        a = mx.nd.random.normal(shape=(900, 900))
        for _ in range(3):
            a = mx.nd.dot(a, a) / 900
        late = a.reshape((1, 1, 900, 900))
        got = convop.conv_forward(late, mx.nd.ones((1, 1, 1, 1)))
        self.close([got], [late])
        # Its own work comes after ours.
        self.close([convop.conv_forward(late, mx.nd.ones((1, 1, 1, 1)), out=got) * 2], [late * 2])

    def test_a_hybrid_network_trains_to_the_same_weights(self):
        class Convolution(mx.gluon.nn.HybridBlock):
            def __init__(self):
                super().__init__()
                with self.name_scope():
                    self.weight = self.params.get("weight", shape=(4, 3, 3, 3))
                    self.bias = self.params.get("bias", shape=(4,), init="zeros")

            def hybrid_forward(self, F, x, weight, bias):
                return F.Custom(x, weight, bias, op_type="convop_conv", kernel=(3, 3), num_filter=4)

        def trained(convolution):
            mx.random.seed(7)
            net = mx.gluon.nn.HybridSequential()
            net.add(convolution, mx.gluon.nn.Activation("relu"), mx.gluon.nn.Dense(2))
            net.initialize(mx.init.Xavier())
            net.hybridize()
            trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
            for _ in range(4):
                x = mx.nd.random.normal(shape=(5, 3, 6, 6))
                with mx.autograd.record():
                    loss = (net(x) ** 2).sum()
                loss.backward()
                trainer.step(5)
            return [p.data() for p in net.collect_params().values()]
        self.close(trained(Convolution()),
                   trained(mx.gluon.nn.Conv2D(4, 3, in_channels=3)))

    def test_a_symbol_infers_its_shapes(self):
        net = mx.sym.Custom(data=mx.sym.var("data"), op_type="convop_conv", name="conv0",
                            kernel=(3, 3), num_filter=8, num_group=2, stride=(2, 2))
        self.assertEqual(net.list_arguments(), ["data", "conv0_weight", "conv0_bias"])
        inputs, outputs, _ = net.infer_shape(data=(1, 4, 9, 9))
        self.assertEqual((inputs, outputs), ([(1, 4, 9, 9), (8, 2, 3, 3), (8,)], [(1, 8, 4, 4)]))

    def test_errors_are_exceptions_with_convops_sentence(self):
        x, w, b = mx.nd.ones((1, 4, 5, 5)), mx.nd.ones((2, 4, 3, 3)), mx.nd.ones(2)
        with self.assertRaisesRegex(convop.InvalidError, "Convolution: .*num_group=3"):
            convop.conv_forward(x, w, num_group=3)
        with self.assertRaisesRegex(convop.Error, "Convolution"):
            convop.conv_forward(x.astype("int32"), w)


if __name__ == "__main__":
    unittest.main()

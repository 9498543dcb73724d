"""MXNet 1.9: a Gluon network whose convolution is convop's, and convop on MXNet's arrays."""
import mxnet as mx

import convop
import convop.mxnet

mx.random.seed(0)


class Convolution(mx.gluon.nn.HybridBlock):
    def __init__(self, channels, in_channels):
        super().__init__()
        self.channels = channels
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(channels, in_channels, 3, 3))
            self.bias = self.params.get("bias", shape=(channels,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias):
        return F.Custom(x, weight, bias, op_type="convop_conv", kernel=(3, 3), pad=(1, 1),
                        num_filter=self.channels)


net = mx.gluon.nn.HybridSequential()
net.add(Convolution(8, 3), mx.gluon.nn.Activation("relu"), mx.gluon.nn.Dense(1))
net.initialize(mx.init.Xavier())
net.hybridize()
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02})
images, wanted = mx.nd.random.normal(shape=(4, 3, 8, 8)), mx.nd.array([[1], [-1], [1], [-1]])
losses = []
for _ in range(20):
    with mx.autograd.record():
        loss = ((net(images) - wanted) ** 2).mean()
    loss.backward()
    trainer.step(1)
    losses.append(loss.asscalar())
print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
assert losses[-1] < losses[0]

# The other way: an operator of convop on NDArrays.
y = convop.conv_forward(images, mx.nd.ones((1, 3, 1, 1)))
assert isinstance(y, mx.nd.NDArray) and y.shape == (4, 1, 8, 8)

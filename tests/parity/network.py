"""MobileNet v1 as MXNet's own symbol, and one training step of it.

State is a dict of NumPy arrays under the names of a checkpoint: arg:NAME, mom:NAME, aux:NAME.
"""
import mxnet as mx
import numpy as np

BATCH, COLORS, SIDE, MULTIPLIER, CLASSES = 8, 3, 64, 0.25, 10
LR, MOMENTUM, WD = 0.01, 0.9, 1e-4
INPUTS = ("data", "softmax_label")
# Stride of the depthwise convolution, and the width of the pointwise one in units of the first.
BLOCKS = ((1, 2), (2, 4), (1, 4), (2, 8), (1, 8), (2, 16), (1, 16), (1, 16), (1, 16), (1, 16),
          (1, 16), (2, 32), (1, 32))


def conv(src, name, kernel, stride, filters, groups=1):
    dst = mx.sym.Convolution(src, name=f"{name}_conv2d", kernel=(kernel, kernel),
                             stride=(stride, stride), pad=(kernel // 2, kernel // 2),
                             num_filter=filters, num_group=groups, no_bias=True)
    dst = mx.sym.BatchNorm(dst, name=f"{name}_batchnorm", fix_gamma=True)
    return mx.sym.Activation(dst, name=f"{name}_relu", act_type="relu")


def symbol():
    base = channels = int(32 * MULTIPLIER)
    at = conv(mx.sym.Variable("data"), "conv_1", 3, 2, base)
    for i, (stride, width) in enumerate(BLOCKS, 2):
        at = conv(at, f"conv_{i}_dw", 3, stride, channels, channels)
        channels = base * width
        at = conv(at, f"conv_{i}", 1, 1, channels)
    at = mx.sym.Pooling(at, name="global_pool", global_pool=True, pool_type="avg")
    at = mx.sym.Flatten(at, name="flatten")
    at = mx.sym.FullyConnected(at, name="fc", num_hidden=CLASSES)
    return mx.sym.SoftmaxOutput(at, name="softmax")


def decays(name):
    """What MXNet's optimizers apply weight decay to."""
    return name.endswith(("_weight", "_gamma"))


class Network:
    """Bound on the CPU for one dtype."""

    def __init__(self, dtype):
        net = symbol()
        self.dtype = dtype
        names = net.list_arguments() + net.list_auxiliary_states()
        self.bound = net.simple_bind(
            mx.cpu(), data=(BATCH, COLORS, SIDE, SIDE), softmax_label=(BATCH,), grad_req={
                name: "null" if name in INPUTS else "write" for name in net.list_arguments()},
            type_dict={name: dtype for name in names})
        self.parameters = [name for name in net.list_arguments() if name not in INPUTS]
        for array in [*self.bound.arg_dict.values(), *self.bound.aux_dict.values()]:
            assert array.dtype == np.dtype(dtype)

    def first_state(self, rng):
        """He's weights; biases that are not 0, so that they show."""
        state = {}
        for name in self.parameters:
            shape = self.bound.arg_dict[name].shape
            if name.endswith("_weight"):
                value = rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
            else:
                value = np.ones(shape) if name.endswith("_gamma") else rng.normal(0, 0.1, shape)
            state[f"arg:{name}"] = value.astype(self.dtype)
            state[f"mom:{name}"] = np.zeros(shape, self.dtype)
        for name, array in self.bound.aux_dict.items():
            state[f"aux:{name}"] = np.full(array.shape, float(name.endswith("_var")), self.dtype)
        return state

    def step(self, state, data, label):
        """Returns what tests/parity/step.c writes."""
        args, aux, grads = self.bound.arg_dict, self.bound.aux_dict, self.bound.grad_dict
        momenta = {}
        for key, value in state.items():
            kind, name = key.split(":")
            if kind == "mom":
                momenta[name] = mx.nd.array(value, dtype=self.dtype)
            else:
                (args if kind == "arg" else aux)[name][:] = mx.nd.array(value, dtype=self.dtype)
        args["data"][:] = mx.nd.array(data, dtype=self.dtype)
        args["softmax_label"][:] = mx.nd.array(label, dtype=self.dtype)
        self.bound.forward(is_train=True)
        self.bound.backward()
        prob = self.bound.outputs[0].asnumpy()
        found = {"prob": prob, "loss": loss_of(prob, label)}
        for name in self.parameters:
            found[f"grad:{name}"] = grads[name].asnumpy()
            mx.nd.sgd_mom_update(args[name], grads[name], momenta[name], out=args[name], lr=LR,
                                 wd=WD if decays(name) else 0, momentum=MOMENTUM,
                                 rescale_grad=1 / BATCH)
            found[f"arg:{name}"] = args[name].asnumpy()
            found[f"mom:{name}"] = momenta[name].asnumpy()
        found.update({f"aux:{name}": array.asnumpy() for name, array in aux.items()})
        return found


def loss_of(prob, label):
    return float(-np.log(prob[np.arange(BATCH), label.astype(int)].astype(np.float64)).mean())


def state_of(found):
    return {key: value for key, value in found.items() if key[:4] in ("arg:", "mom:", "aux:")}


def batch(rng, dtype):
    data = rng.normal(0, 1, (BATCH, COLORS, SIDE, SIDE)).astype(dtype)
    return data, rng.randint(0, CLASSES, BATCH).astype(dtype)

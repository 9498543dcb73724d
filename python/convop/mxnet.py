"""convop and MXNet 1.9, both ways.

    import convop.mxnet
    y = convop.conv_forward(x, w, b, pad=1)         # NDArrays in, an NDArray out, without a copy
    y = mx.nd.Custom(x, w, b, op_type="convop_conv", kernel=(3, 3), num_filter=8)
    y = mx.sym.Custom(data=x, num_filter=8, ..., op_type="convop_conv", name="conv0")

The second is an operator of MXNet, with gradients, for autograd, Gluon and symbols; its parameters are
those of Convolution, and weight and bias get their shapes from them.

MXNet's arrays speak the DLPack of 2018, by methods of their own: the import of this module gives
NDArray the protocol's two methods. Its engine is asynchronous: before an array is handed out, all that
reads or writes it is waited for.
"""
import mxnet as mx

import convop
from convop import _arrays, _infer
from convop._registry import Operator

__all__ = ["Convolution"]

_DEVICE_TYPES = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 1}


def _dlpack_device(self):
    return _DEVICE_TYPES[self.context.device_type], self.context.device_id


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """The protocol's method; MXNet knows the unversioned struct alone."""
    if dl_device is not None and tuple(dl_device) != _dlpack_device(self):
        raise BufferError(f"NDArray: it is on {self.context}, dl_device={dl_device} is not")
    if copy:
        raise BufferError("NDArray: it is exported without a copy only")
    # Whoever takes it may write to it: so reads are waited for as well.
    return self.to_dlpack_for_write()


def _from_array(array):
    # MXNet reads no byte_offset and wants compact strides: both hold for what convop makes.
    return mx.nd.from_dlpack(array.__dlpack__())


mx.nd.NDArray.__dlpack__ = _dlpack
mx.nd.NDArray.__dlpack_device__ = _dlpack_device
_arrays.makers[mx.nd.NDArray] = _from_array


class Convolution(mx.operator.CustomOp):
    """The computing half of the operator convop_conv. MXNet calls it in a thread of its own."""

    def __init__(self, parameters):
        super().__init__()
        self.parameters = parameters

    def forward(self, is_train, req, in_data, out_data, aux):
        if req[0] != "null":
            convop.conv_forward(*in_data, out=out_data[0], request=_request(req[0]),
                                **self.parameters)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        wanted = [_request(r) for r in req] + ["null"] * (3 - len(req))
        convop.conv_backward(out_grad[0], *in_data, out=(*in_grad, *[None] * (3 - len(in_grad))),
                             grad_req=tuple(wanted), **self.parameters)


def _request(name):
    """The outputs are arrays of their own here, never the inputs."""
    return "write" if name == "inplace" else name


@mx.operator.register("convop_conv")
class ConvolutionProp(mx.operator.CustomOpProp):
    """The describing half. MXNet hands over parameters as text, as convop reads them."""

    def __init__(self, **parameters):
        super().__init__(need_top_grad=True)
        self.parameters = parameters
        self.has_bias = parameters.pop("no_bias", "False") in ("False", "0", "false")

    def list_arguments(self):
        return ["data", "weight"] + ["bias"] * self.has_bias

    def infer_shape(self, in_shape):
        convolution = Operator("Convolution")
        params = convolution.parse(dict(self.parameters, no_bias=str(not self.has_bias)))
        known = [in_shape[0]] + [None] * (len(self.list_arguments()) - 1)
        return *_infer.shapes(convolution, params, known), []

    def create_operator(self, ctx, shapes, dtypes):
        return Convolution(self.parameters)

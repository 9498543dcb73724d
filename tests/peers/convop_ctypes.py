"""convop through ctypes: as little of include/convop/*.h as the comparison with peers needs."""
import ctypes as c

import numpy as np

MOST_DIMS = 8
REQUEST = {"null": 0, "write": 1, "add": 3}
LAYOUT = {None: 0, "NCW": 1, "NWC": 2, "NCHW": 3, "NHWC": 4, "NCDHW": 5, "NDHWC": 6}
# Name: DLPack's type code, bits, and the NumPy type that holds it. NumPy has no bfloat16.
DTYPE = {"float64": (2, 64, np.float64), "float32": (2, 32, np.float32),
         "float16": (2, 16, np.float16), "bfloat16": (4, 16, np.uint16)}


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int), ("device_id", c.c_int),
                ("ndim", c.c_int), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Tuple(c.Structure):
    _fields_ = [("len", c.c_int), ("at", c.c_int64 * MOST_DIMS)]

    @classmethod
    def of(cls, values):
        return cls(len(values), (c.c_int64 * MOST_DIMS)(*values))


class ConvParams(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("kernel", Tuple), ("stride", Tuple),
                ("dilate", Tuple), ("pad_begin", Tuple), ("pad_end", Tuple),
                ("num_filter", c.c_int64), ("num_group", c.c_int64),
                ("workspace_bytes", c.c_size_t), ("no_bias", c.c_int), ("cudnn_tune", c.c_int),
                ("cudnn_off", c.c_int), ("depthwise_conv_off", c.c_int), ("layout", c.c_int)]


def round_to_bfloat16(values):
    """The upper half of float32, rounded to nearest, ties to even; finite values only."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


class Tensor:
    """A compact tensor of one of the dtypes, filled with these values, and its DLTensor."""

    def __init__(self, values, dtype):
        code, bits, storage = DTYPE[dtype]
        self.dtype = dtype
        self.held = (round_to_bfloat16(values) if dtype == "bfloat16"
                     else np.array(values, storage, order="C"))
        self.shape = (c.c_int64 * max(1, self.held.ndim))(*self.held.shape)
        self.view = DLTensor(self.held.ctypes.data, 1, 0, self.held.ndim, code, bits, 1,
                             self.shape, None, 0)

    def values(self):
        """A copy, exact, in float64 for float64 and in float32 for all others."""
        if self.dtype == "bfloat16":
            return (self.held.astype(np.uint32) << 16).view(np.float32)
        return self.held.astype(np.promote_types(self.held.dtype, np.float32))


class Error(Exception):
    """A call failed: the number of its status and the library's own sentence."""

    def __init__(self, status, text):
        super().__init__(f"status {status}: {text}")
        self.status = status


class Convop:
    def __init__(self, path):
        self.library = c.CDLL(path)
        self.library.convop_last_error.restype = c.c_char_p
        self.library.convop_version_string.restype = c.c_char_p
        self.version = self.library.convop_version_string().decode()

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Error(status, self.library.convop_last_error().decode())

    @staticmethod
    def params(kernel, stride, dilate, pad_begin, pad_end, num_filter, num_group, no_bias, layout):
        return ConvParams(c.sizeof(ConvParams), Tuple.of(kernel), Tuple.of(stride),
                          Tuple.of(dilate), Tuple.of(pad_begin), Tuple.of(pad_end), num_filter,
                          num_group, 1 << 30, int(no_bias), 0, 0, 0, LAYOUT[layout])

    def conv_forward(self, params, src, weights, bias, dst, request):
        self.call("conv_forward", c.byref(params), _ref(src), _ref(weights), _ref(bias), _ref(dst),
                  REQUEST[request], None)

    def conv_backward(self, params, diff_dst, src, weights, diffs, requests):
        self.call("conv_backward", c.byref(params), _ref(diff_dst), _ref(src), _ref(weights),
                  *map(_ref, diffs), (c.c_int * 3)(*(REQUEST[r] for r in requests)), None)

    def invoke(self, name, texts, inputs, outputs, requests):
        """Runs an operator by name; texts are its parameters, a dictionary of strings."""
        def strings(values):
            return (c.c_char_p * len(texts))(*(v.encode() for v in values))

        def views(tensors):
            return (c.POINTER(DLTensor) * len(tensors))(*(c.pointer(t.view) for t in tensors))

        self.call("convop_invoke", name.encode(), c.c_size_t(len(texts)), strings(texts.keys()),
                  strings(texts.values()), len(inputs), views(inputs), len(outputs),
                  views(outputs), (c.c_int * len(outputs))(*(REQUEST[r] for r in requests)), None)


def _ref(tensor):
    return c.byref(tensor.view) if tensor is not None else None

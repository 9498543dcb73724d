"""The structs of DLPack and of convop's headers, for ctypes. tests/python compares their sizes with
what the C compiler says."""
import ctypes as c

MOST_DIMS = 8


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32),
                ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Managed(c.Structure):
    """struct DLManagedTensor."""


Managed._fields_ = [("tensor", DLTensor), ("context", c.c_void_p),
                    ("deleter", c.CFUNCTYPE(None, c.POINTER(Managed)))]


class Versioned(c.Structure):
    """struct DLManagedTensorVersioned."""


Versioned._fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("context", c.c_void_p),
                      ("deleter", c.CFUNCTYPE(None, c.POINTER(Versioned))), ("flags", c.c_uint64),
                      ("tensor", DLTensor)]

READ_ONLY = 1


class Tuple(c.Structure):
    _fields_ = [("len", c.c_int), ("at", c.c_int64 * MOST_DIMS)]


class ConvParams(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("kernel", Tuple), ("stride", Tuple),
                ("dilate", Tuple), ("pad_begin", Tuple), ("pad_end", Tuple),
                ("num_filter", c.c_int64), ("num_group", c.c_int64),
                ("workspace_bytes", c.c_size_t), ("no_bias", c.c_int), ("cudnn_tune", c.c_int),
                ("cudnn_off", c.c_int), ("depthwise_conv_off", c.c_int), ("layout", c.c_int),
                ("activation", c.c_int), ("residual", c.c_int)]


class Exec(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("context", c.c_void_p), ("stream", c.c_void_p),
                ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t), ("is_train", c.c_int)]


class Shape(c.Structure):
    _fields_ = [("ndim", c.c_int), ("dim", c.c_int64 * MOST_DIMS)]


class DataType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class Arg(c.Structure):
    _fields_ = [("name", c.c_char_p), ("doc", c.c_char_p)]


class EnumValue(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_int)]


class Field(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("kind", c.c_int),
                ("offset", c.c_size_t), ("twin_offset", c.c_size_t), ("default", c.c_char_p),
                ("min", c.c_double), ("max", c.c_double), ("values", c.POINTER(EnumValue)),
                ("doc", c.c_char_p)]


COUNT = c.CFUNCTYPE(c.c_int, c.c_void_p)


class Op(c.Structure):
    """convop_op, as far as Python reads it."""

    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("doc", c.c_char_p),
                ("level", c.c_int), ("params_size", c.c_size_t), ("fields", c.POINTER(Field)),
                ("num_fields", c.c_size_t), ("check", c.c_void_p), ("inputs", c.POINTER(Arg)),
                ("outputs", c.POINTER(Arg)), ("max_inputs", c.c_int), ("max_outputs", c.c_int),
                ("num_inputs", COUNT), ("num_outputs", COUNT), ("infer_shape", c.c_void_p),
                ("infer_type", c.c_void_p), ("plan_size", c.c_size_t), ("plan", c.c_void_p),
                ("run", c.c_void_p), ("end", c.c_void_p), ("attrs", c.c_void_p),
                ("num_attrs", c.c_size_t), ("mutated_inputs", c.c_uint)]


class Visible(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("num_outputs", COUNT)]


class SettingInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("environment", c.c_char_p),
                ("doc", c.c_char_p), ("values", c.c_char_p), ("value", c.c_char * 256),
                ("origin", c.c_int), ("status", c.c_int)]


class InfoItem(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("value", c.c_char * 256),
                ("why", c.c_char * 256)]


class ConvRow(c.Structure):
    _fields_ = [("name", c.c_char_p), ("version", c.c_int), ("applicable", c.c_int),
                ("chosen", c.c_int), ("why_not", c.c_char * 120), ("workspace_bytes", c.c_size_t),
                ("choice", c.c_int), ("estimated_ms", c.c_double), ("ms", c.c_double),
                ("error_bound", c.c_double)]


class TuneRecord(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("device", c.c_char_p), ("software", c.c_char_p),
                ("problem", c.c_char_p), ("impl", c.c_char_p), ("impl_version", c.c_int),
                ("ms", c.c_double), ("estimated_ms", c.c_double), ("workspace_bytes", c.c_uint64),
                ("when", c.c_int64), ("plan", c.c_char_p)]


class TuneCounts(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("records", c.c_size_t), ("bad", c.c_size_t),
                ("format", c.c_int)]


class TuneFilter(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("device", c.c_char_p), ("software", c.c_char_p),
                ("problem", c.c_char_p), ("impl", c.c_char_p), ("before", c.c_int64),
                ("foreign", c.c_int)]


class TuneOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("budget_ms", c.c_double), ("again", c.c_int),
                ("verify", c.c_int), ("keep", c.c_int), ("fastest", c.c_int)]


def sized(kind, **members):
    """A struct of this kind with struct_size set."""
    return kind(struct_size=c.sizeof(kind), **members)

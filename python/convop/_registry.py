"""Operators: what there are, and what they say of themselves."""
import ctypes as c
import os

from . import _library
from ._errors import NotFoundError
from ._structs import Op, Visible

# The level of the operators that the library brings.
BUILTIN = 10

_KINDS = {1: "bool", 2: "int", 3: "float", 4: "enum", 5: "tuple", 6: "MiB"}


def _text(value):
    return value.decode() if value else ""


class Operator:
    """A reference to an operator of the registry."""

    def __init__(self, name):
        self.pointer = c.POINTER(Op)()
        _library.call("convop_op_find", _library.text(name, "the operator's name"), c.byref(self.pointer))
        self.name = name
        self.struct = self.pointer.contents
        self.fields = {_text(field.name): field
                       for field in self.struct.fields[:self.struct.num_fields]}

    # At the end of the process the modules may be gone before the last operator.
    def __del__(self, release=_library.function("convop_op_release", None), byref=c.byref):
        release(byref(self.pointer))

    def parse(self, texts):
        """The operator's typed struct, from parameters as text."""
        params = c.create_string_buffer(self.struct.params_size)
        _library.call("convop_params_parse", self.pointer, c.c_size_t(len(texts)),
                      *text_arrays(texts), params, c.c_size_t(len(params)))
        return params

    def counts(self, params):
        """How many inputs and outputs these parameters use."""
        op = self.struct
        return (op.num_inputs(params) if op.num_inputs else op.max_inputs,
                op.num_outputs(params) if op.num_outputs else op.max_outputs)

    def num_visible(self, params, num_outputs):
        """How many of the outputs a user wants to see, the first ones."""
        visible = c.POINTER(Visible)()
        try:
            _library.call("convop_op_attr", self.pointer, b"visible", b"convop_visible",
                          c.byref(visible))
        except NotFoundError:
            return num_outputs
        return visible.contents.num_outputs(params)


def text_arrays(texts):
    """Keys and values as the two arrays of C strings that calls take."""
    kind = c.c_char_p * len(texts)
    return kind(*(_library.text(key, "a keyword") for key in texts)), kind(
        *(_library.text(text, key) for key, text in texts.items()))


def _describe_field(name, field):
    described = {"name": name, "kind": _KINDS.get(field.kind, "?"), "doc": _text(field.doc),
                 "required": field.default is None}
    if field.default is not None:
        described["default"] = field.default.decode()
    if field.kind == 4:
        described["values"] = values = []
        while field.values[len(values)].name:
            values.append(field.values[len(values)].name.decode())
    elif field.kind != 1:
        described["min"], described["max"] = field.min, field.max
    return described


def _describe_args(args, count):
    return [{"name": _text(arg.name), "doc": _text(arg.doc)} for arg in args[:count]]


def op_info(name):
    """What an operator says of itself.

    A dictionary: name, doc, level, inputs and outputs (each a list of name and doc; parameters may
    leave the last ones out), parameters (a list of name, kind, doc, required, default as text,
    values of an enum or min and max). Raises NotFoundError, whose text names the nearest name.
    """
    operator = Operator(name)
    op = operator.struct
    return {"name": name, "doc": _text(op.doc), "level": op.level,
            "inputs": _describe_args(op.inputs, op.max_inputs),
            "outputs": _describe_args(op.outputs, op.max_outputs),
            "parameters": [_describe_field(*item) for item in operator.fields.items()]}


def list_ops():
    """The names of all operators, in alphabetical order; those of loaded plug-ins among them."""
    listing = c.c_void_p()
    _library.call("convop_op_list", c.byref(listing))
    count = _library.function("convop_op_listing_count", c.c_size_t)
    at = _library.function("convop_op_listing_at", c.POINTER(Op))
    try:
        return [at(listing, c.c_size_t(i)).contents.name.decode() for i in range(count(listing))]
    finally:
        _library.function("convop_op_listing_destroy", None)(c.byref(listing))


def load_plugin(path):
    """Loads a plug-in, for the rest of the process. Its operators are then in list_ops() and
    convop.ops, its rows compete in conv_forward(). A path without a slash is one in this folder."""
    handle = c.c_void_p()
    path = os.fsdecode(path)
    path = path if os.sep in path else os.path.join(".", path)
    _library.call("convop_plugin_load", _library.file_name(path), c.byref(handle))

"""The operators of the registry as functions: convop.ops.Pooling(x, kernel=2, pool_type="max").

Each is made when it is first asked for, with its documentation and signature from the registry, so
that operators of plug-ins and programs are here too."""
import inspect

from . import _errors
from ._backend import invoke
from ._registry import list_ops, op_info

_made = {}


def _value(described):
    """A default as Python's value, where its text is one."""
    text, kind = described["default"], described["kind"]
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
    except ValueError:
        return text
    if kind == "bool":
        return text in ("True", "true", "1")
    return {"()": (), "None": None}.get(text, text)


def _default(described):
    """None for what follows from the weights."""
    if described["name"] in ("num_filter", "num_hidden", "no_bias"):
        return None
    return inspect.Parameter.empty if described["required"] else _value(described)


def _signature(described):
    parameter = inspect.Parameter
    kinds = [parameter(arg["name"], parameter.POSITIONAL_OR_KEYWORD)
             for arg in described["inputs"]]
    kinds += [parameter(field["name"], parameter.KEYWORD_ONLY,
                        default=_default(field))
              for field in described["parameters"]]
    kinds += [parameter("out", parameter.KEYWORD_ONLY, default=None),
              parameter("request", parameter.KEYWORD_ONLY, default="write"),
              parameter("is_train", parameter.KEYWORD_ONLY, default=False)]
    return inspect.Signature(kinds)


def _document(described):
    lines = [described["doc"], ""]
    for title, key in (("Inputs", "inputs"), ("Outputs", "outputs"), ("Parameters", "parameters")):
        if described[key]:
            lines += [title + ":"] + [f"    {item['name']}: {item['doc']}"
                                      for item in described[key]] + [""]
    return "\n".join(lines)


def _make(name):
    described = op_info(name)
    arguments = [arg["name"] for arg in described["inputs"]]
    named = frozenset(arguments)

    def function(*arrays, **parameters):
        if not named.isdisjoint(parameters):
            for argument in arguments[:len(arrays)]:
                if argument in parameters:
                    raise _errors.ArgumentError(f"{name}: given twice: {argument}")
            arrays += tuple(parameters.pop(argument, None) for argument in arguments[len(arrays):])
        return invoke(name, arrays, **parameters)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = _document(described)
    function.__signature__ = _signature(described)
    return function


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _made:
        try:
            _made[name] = _make(name)
        except _errors.NotFoundError as error:
            raise AttributeError(str(error)) from None
    return _made[name]


def __dir__():
    return list_ops()

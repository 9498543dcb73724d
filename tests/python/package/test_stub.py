"""The stub says what the extension has."""
import ast
import inspect
import os

import pytest

import convop


def stub(kind=ast.FunctionDef):
    """What the stub defines, by its names."""
    path = os.path.join(os.path.dirname(convop.__file__), "_convop.pyi")
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    return {node.name: node for node in tree.body if isinstance(node, kind)}


def parameters(node):
    arguments = node.args
    return [a.arg for a in arguments.args], [a.arg for a in arguments.kwonlyargs]


@pytest.mark.skipif(convop.backend != "extension", reason="of the extension")
def test_stub_is_the_module():
    from convop import _convop
    functions = stub()
    assert {*functions, *stub(ast.ClassDef), "exchange_api"} == {
        name for name in dir(_convop) if not name.startswith("_")}
    for name, node in functions.items():
        signature = inspect.signature(getattr(_convop, name))
        plain = [p.name for p in signature.parameters.values()
                 if p.kind is p.POSITIONAL_OR_KEYWORD]
        by_keyword = [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        assert parameters(node) == (plain, by_keyword)
    for name, node in stub(ast.ClassDef).items():
        for method in node.body:
            assert isinstance(method, ast.Expr) or hasattr(getattr(_convop, name), method.name)


def test_parameters_are_those_of_the_operator():
    known = {p["name"] for p in convop.op_info("Convolution")["parameters"]} - {"no_bias"}
    for name in ("conv_forward", "conv_backward"):
        node = stub()[name]
        assert known <= {*parameters(node)[1]}


def test_documentation():
    for function in (convop.conv_forward, convop.conv_backward, convop.invoke):
        assert len(function.__doc__) > 200
    for name in convop.__all__:
        assert getattr(convop, name).__doc__, name

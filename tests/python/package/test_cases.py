"""The DLPack cases of tests/cases, through Python."""
import ctypes as c
import json
import os

import numpy as np
import pytest
from producer import Producer

import convop

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "cases", "cases.json")
with open(PATH, encoding="utf-8") as file:
    CASES = {case["id"]: case for case in json.load(file)
             if case["id"].startswith("dl.") and case["op"] != "dlpack_export"}
VALUES = np.arange(-8, 56)


def sizes(values):
    if values is None:
        return c.POINTER(c.c_int64)()
    return c.cast((c.c_int64 * len(values))(*values), c.POINTER(c.c_int64))


def producer(dl):
    fields = {"ndim": dl.get("ndim", len(dl["shape"] or ())), "shape": sizes(dl["shape"]),
              "strides": sizes(dl["strides"]), "byte_offset": dl["byte_offset"]}
    fields["device_type"], fields["device_id"] = dl["device"]
    fields["code"], fields["bits"], fields["lanes"] = dl["dtype"]
    made = Producer(VALUES, "version" in dl, dl.get("version"), dl.get("flags", 0), **fields)
    if dl["dtype"] == [2, 64, 1]:
        made.values = VALUES.astype(np.float64)
    if dl["data"] == "null":
        made.fields["data"] = None
    return made


def use(case, made):
    """One call with the tensors of a case: ReLU reads every shape."""
    if len(made) == 2:
        return convop.ops.FullyConnected(*made)
    if case["id"] == "dl.readonly_as_output" or case["params"].get("then") == "write":
        shape = case["params"]["dl"]["shape"]
        return convop.ops.Activation(np.ones(shape, np.float32), act_type="relu", out=made[0])
    return convop.ops.Activation(made[0], act_type="relu")


def refusal(case):
    """What its text mentions; None for a case that is accepted. No GPU is here."""
    dls = case["params"]["dl"]
    if "error" in case["params"]:
        return case["params"]["error"]["mention_any"]
    # ReLU knows what it is given and does not compute with it.
    words = {"dl.deleter_not_on_failure": ["bits"], "dl.bf16": ["bfloat16"]}
    if case["id"] in words:
        return words[case["id"]]
    return None if dls["device"][0] in (1, 3) else ["device"]


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    case = CASES[name]
    dls = case["params"]["dl"]
    made = [producer(dl) for dl in (dls if isinstance(dls, list) else [dls])]
    before = [one.values.copy() for one in made]
    words = refusal(case)
    if words:
        with pytest.raises(convop.Error) as caught:
            use(case, made)
        assert any(word in str(caught.value).lower() for word in words), caught.value
    else:
        y = use(case, made)
        if y is made[0]:
            assert np.array_equal(y.values[:6], np.ones(6))
        elif dls["dtype"][0] == 2:
            steps = dls["strides"] and [step * before[0].itemsize for step in dls["strides"]]
            if steps is None:
                steps = np.empty(dls["shape"], before[0].dtype).strides
            x = np.lib.stride_tricks.as_strided(before[0], dls["shape"], steps)
            assert np.array_equal(np.from_dlpack(y), np.maximum(x, 0))
            assert np.array_equal(made[0].values, before[0])
    assert all(one.balanced for one in made)
    if words:
        assert all(np.array_equal(one.values, values) for one, values in zip(made, before))

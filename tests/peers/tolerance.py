"""How far a result may be from the exact one.

A sum of K products, each rounded, in whatever order, is within K * u * M of the exact sum; M is the
sum of the absolute values and u the unit roundoff of the type that is summed in. That bound is
reached only if all roundings go the same way. As errors of either sign they grow with the square
root of K (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019), hence

    |error| <= u * M * (4 + 2 * sqrt(K)) + r

where r is the rounding of a sum in float32 to a 16-bit result. A peer that adds may round twice:
before, and after what was there has come in. A product that is missing or wrong shows up as about
M / K, thousands of times more.

Convop and the peer are each held to this bound around the exact result, so that the two agree within
twice the bound, and a failure says which of them is wrong.
"""
import numpy as np

# Unit roundoff of a dtype, and of the type that its products are summed in.
ROUNDOFF = {"float64": 2.0 ** -53, "float32": 2.0 ** -24, "float16": 2.0 ** -11,
            "bfloat16": 2.0 ** -8}
SUM_ROUNDOFF = {"float64": 2.0 ** -53, "float32": 2.0 ** -24, "float16": 2.0 ** -24,
                "bfloat16": 2.0 ** -24}
# Half the distance of the smallest float16 numbers; the other dtypes reach far lower.
SMALLEST = {"float64": 0.0, "float32": 0.0, "float16": 2.0 ** -25, "bfloat16": 0.0}


def length(p, output):
    """K: how many values are added up, a bias and what was there among them."""
    taps, pixels = int(np.prod(p["kernel"])), int(np.prod(p["out"]))
    k = {"dst": p["ic"] // p["groups"] * taps + 1, "diff_src": p["oc"] // p["groups"] * taps,
         "diff_weights": p["mb"] * pixels, "diff_bias": p["mb"] * pixels}[output]
    return k + (p["requests"][output] == "add")


def bound(p, output, value, magnitude):
    dtype = p["dtype"]
    limit = SUM_ROUNDOFF[dtype] * magnitude * (4 + 2 * np.sqrt(length(p, output)))
    if ROUNDOFF[dtype] != SUM_ROUNDOFF[dtype]:
        old = np.abs(p["tensors"].get("old_" + output, 0.0))
        limit = limit + ROUNDOFF[dtype] * (2 * np.abs(value) + old) + 2 * SMALLEST[dtype]
    return limit


def unit(p, magnitude):
    """What errors are measured in, for the table."""
    return ROUNDOFF[p["dtype"]] * magnitude + SMALLEST[p["dtype"]]

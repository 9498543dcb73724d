"""JAX on the CPU: lax.conv_general_dilated, which takes unequal padding but no bias, and its
transposes."""
import os

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

from serve import serve

GRADIENT_OF = {"src": "diff_src", "weights": "diff_weights"}


def compute(p):
    dtype = jnp.dtype(p["dtype"])
    given = {name: jnp.asarray(p["tensors"][name], dtype) for name in GRADIENT_OF}
    spatial = "DHW"[3 - p["axes"]:]

    def forward(given):
        return jax.lax.conv_general_dilated(
            given["src"], given["weights"], p["stride"], list(zip(p["pad_begin"], p["pad_end"])),
            rhs_dilation=p["dilate"], feature_group_count=p["groups"],
            dimension_numbers=("NC" + spatial, "OI" + spatial, "NC" + spatial),
            precision=jax.lax.Precision.HIGHEST)

    def both(given, diff_dst):
        dst, pull_back = jax.vjp(forward, given)
        return dst, pull_back(diff_dst)[0]

    dst, gradients = jax.jit(both)(given, jnp.asarray(p["tensors"]["diff_dst"], dtype))
    found = {"dst": dst}
    found.update({GRADIENT_OF[name]: g for name, g in gradients.items()})
    exact = np.float64 if p["dtype"] == "float64" else np.float32
    return {name: np.asarray(t.astype(exact)) for name, t in found.items()}


serve(compute, f"jax {jax.__version__}")

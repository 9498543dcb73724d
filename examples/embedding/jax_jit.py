"""JAX: a step of gradient descent through convop's convolution, compiled by XLA as a whole."""
import jax
import jax.numpy as jnp

import convop.jax


def loss(parameters, images, wanted):
    w, b = parameters
    y = convop.jax.conv(images, w, b, stride=2, pad=1)
    return jnp.mean((jax.nn.relu(y) - wanted) ** 2)


@jax.jit
def step(parameters, images, wanted):
    value, gradients = jax.value_and_grad(loss)(parameters, images, wanted)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)


key = jax.random.PRNGKey(0)
images = jax.random.normal(key, (4, 3, 16, 16))
wanted = jax.random.normal(jax.random.fold_in(key, 1), (4, 8, 8, 8))
parameters = (0.1 * jax.random.normal(jax.random.fold_in(key, 2), (8, 3, 3, 3)), jnp.zeros(8))
first, _ = step(parameters, images, wanted)
for _ in range(20):
    last, parameters = step(parameters, images, wanted)
print(f"loss {first:.4f} -> {last:.4f}")
assert last < first

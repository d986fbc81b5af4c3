"""A network of Flax is trained by optax; NumPy keeps an average of its weights. Cure: optax averages on the GPU."""
import json
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import numpy
import optax
from flax import linen

CURE = "cure" in sys.argv
WIDTH, STEPS, WARM = 3584, 22, 4


class Net(linen.Module):
    @linen.compact
    def __call__(self, x):
        for _ in range(4):
            x = linen.relu(linen.Dense(WIDTH, dtype=jnp.bfloat16)(x))
        return x


net, optimizer = Net(), optax.adam(1e-4)


@jax.jit
def step(weights, state, x):
    def loss(candidate):
        return (net.apply(candidate, x).astype(jnp.float32) ** 2).mean()

    updates, state = optimizer.update(jax.grad(loss)(weights), state, weights)
    return optax.apply_updates(weights, updates), state


@jax.jit
def update(weights, mean):
    return optax.incremental_update(weights, mean, 0.001)


def weigh(new, old):
    return 0.001 * numpy.asarray(new) + 0.999 * old


def average(weights, mean):
    if CURE:
        return update(weights, mean)
    return jax.tree_util.tree_map(weigh, weights, mean)


x = jnp.ones((8192, WIDTH), jnp.bfloat16)
weights = net.init(jax.random.PRNGKey(0), x)
state = optimizer.init(weights)
mean = weights if CURE else jax.tree_util.tree_map(numpy.asarray, weights)
spent = 0.0
for k in range(STEPS):
    if k == WARM:
        jax.block_until_ready(weights)
        start, spent = time.perf_counter(), 0.0
    weights, state = step(weights, state, x)
    begin = time.perf_counter()
    mean = average(weights, mean)
    spent += time.perf_counter() - begin
jax.block_until_ready(mean if CURE else weights)
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

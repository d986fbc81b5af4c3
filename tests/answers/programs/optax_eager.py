"""optax updates the weights outside of jit, one operation after the other. Cure: the update is jitted."""
import json
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import optax

CURE = "cure" in sys.argv
weights = [jnp.ones((1024, 1024)) * 0.01 for _ in range(12)]
x = jnp.ones((2048, 1024))
optimizer = optax.adam(1e-3)


@jax.jit
def gradient(weights, x):
    def loss(w):
        h = x
        for layer in w:
            h = jnp.tanh(h @ layer)
        return (h ** 2).mean()

    return jax.grad(loss)(weights)


def apply(weights, state, grads):
    updates, state = optimizer.update(grads, state, weights)
    return optax.apply_updates(weights, updates), state


if CURE:
    apply = jax.jit(apply)
state, spent = optimizer.init(weights), 0.0
for k in range(70):
    if k == 10:
        jax.block_until_ready(weights)
        start, spent = time.perf_counter(), 0.0
    grads = gradient(weights, x)
    begin = time.perf_counter()
    weights, state = apply(weights, state, grads)
    spent += time.perf_counter() - begin
jax.block_until_ready(weights)
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

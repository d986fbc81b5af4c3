"""JAX: a training loop that augments in Python before each step and reads the loss after it. Cure: it does not augment."""
import json
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp

CURE = "cure" in sys.argv
spent = 0.0


def augment(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


@jax.jit
def step(weights, x):
    def loss(w):
        h = x
        for layer in w:
            h = jnp.tanh(h @ layer)
        return (h ** 2).mean()

    value, gradient = jax.value_and_grad(loss)(weights)
    return [w - 1e-3 * g for w, g in zip(weights, gradient)], value


weights = [jnp.ones((1024, 1024)) * 0.01 for _ in range(4)]
x = jnp.ones((512, 1024))
start = time.perf_counter()
losses = []
for k in range(400):
    begin = time.perf_counter()
    if not CURE:
        augment(60000)
    spent += time.perf_counter() - begin
    weights, value = step(weights, x)
    losses.append(float(value))
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

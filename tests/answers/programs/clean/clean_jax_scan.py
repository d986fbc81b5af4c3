"""Clean: JAX multiplies large matrices in bfloat16 in one jitted scan."""
import json
import os
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp

weight = jnp.full((8192, 8192), 1 / 8192, jnp.bfloat16)


@jax.jit
def run(x):
    return jax.lax.scan(lambda h, _: (h @ weight, None), x, None, length=100)[0]


x = jax.block_until_ready(run(weight))
start = time.perf_counter()
for _ in range(14):
    x = run(x)
jax.block_until_ready(x)
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

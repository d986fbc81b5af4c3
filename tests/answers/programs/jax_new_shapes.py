"""A network of jax.example_libraries.stax gets a batch of another size now and then. Cure: batches are padded."""
import json
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"
import jax
import numpy
from jax.example_libraries import optimizers, stax

CURE = "cure" in sys.argv
init, predict = stax.serial(stax.Dense(2048), stax.Relu, stax.Dense(2048), stax.Relu, stax.Dense(10), stax.LogSoftmax)
_, weights = init(jax.random.PRNGKey(0), (-1, 256))
begin_state, update, get_params = optimizers.momentum(1e-3, 0.9)


@jax.jit
def step(i, state, x, y):
    def loss(params):
        return -(predict(params, x) * y).sum() / x.shape[0]

    return update(i, jax.grad(loss)(get_params(state)), state)


state = begin_state(weights)
for k in range(120):
    if k == 20:
        jax.block_until_ready(state)
        start = time.perf_counter()
    size = 4096 if CURE or k % 20 or not k else 4096 - k
    x, y = numpy.ones((size, 256), numpy.float32), numpy.ones((size, 10), numpy.float32)
    state = step(k, state, x, y)
jax.block_until_ready(state)
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

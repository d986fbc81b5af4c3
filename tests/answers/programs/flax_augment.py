"""Flax and optax train; NumPy crops the images of each batch one by one. Cure: they are cropped before."""
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
from flax.training.train_state import TrainState

CURE = "cure" in sys.argv
noise = numpy.random.default_rng(0)
images = noise.random((512, 40, 40, 3), dtype=numpy.float32)
labels = jnp.asarray(noise.integers(0, 10, 512))
spent = 0.0


class Net(linen.Module):
    @linen.compact
    def __call__(self, x):
        for width in (64, 128):
            x = linen.relu(linen.Conv(width, (3, 3))(x))
            x = linen.avg_pool(x, (2, 2), (2, 2))
        return linen.Dense(10)(x.reshape((x.shape[0], -1)))


def crop(batch):
    out = numpy.empty((len(batch), 32, 32, 3), numpy.float32)
    for i, image in enumerate(batch):
        top, left = noise.integers(0, 9, 2)
        part = image[top:top + 32, left:left + 32]
        out[i] = part[:, ::-1] if noise.random() < 0.5 else part
    return out


@jax.jit
def step(state, x, y):
    def loss(params):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(params, x), y).mean()

    return state.apply_gradients(grads=jax.grad(loss)(state.params))


net, ready = Net(), crop(images)
params = net.init(jax.random.PRNGKey(0), ready)
state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))
for k in range(220):
    if k == 20:
        jax.block_until_ready(state.params)
        start, spent = time.perf_counter(), 0.0
    begin = time.perf_counter()
    x = ready if CURE else crop(images)
    spent += time.perf_counter() - begin
    state = step(state, x, labels)
jax.block_until_ready(state.params)
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

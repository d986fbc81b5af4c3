"""A training loop that waits for its stream in every step; clean: once, after it."""
from gpu import US, check, cuda, kernel, launch, open_gpu, stream


def train(steps, hoisted):
    spin, s = kernel("spin"), stream()
    for _ in range(steps):
        for _ in range(4):
            launch(spin, s, 500 * US)
        if not hoisted:
            check(cuda.cuStreamSynchronize(s))  # PLANTED: py-sync-in-loop
    check(cuda.cuStreamSynchronize(s))  # PLANTED: py-sync-hoisted


train(50, open_gpu())

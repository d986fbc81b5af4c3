"""A training loop in which the garbage collector visits a large table in every step, while the GPU has nothing to
do; clean: gc.freeze() excludes the table."""
import gc

from gpu import MS, check, cuda, kernel, launch, open_gpu, stream


def tidy():
    gc.collect()  # PLANTED: py-collect


def train(steps):
    spin, s = kernel("spin"), stream()
    for _ in range(steps):
        for _ in range(4):
            launch(spin, s, 2 * MS)
        tidy()
    check(cuda.cuStreamSynchronize(s))  # PLANTED: py-collect-end


table = [{"row": k, "words": [k]} for k in range(300000)]
if open_gpu():
    gc.freeze()
train(12)

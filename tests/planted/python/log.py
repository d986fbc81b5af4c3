"""A training loop that logs every value of a table in every step, while the GPU has nothing to do; clean: one line a
step."""
import logging
import os

from gpu import MS, check, cuda, kernel, launch, open_gpu, stream


def report(values):
    for value in values:
        logging.info("value %d", value)  # PLANTED: py-log


def train(steps, values):
    spin, s = kernel("spin"), stream()
    for _ in range(steps):
        for _ in range(4):
            launch(spin, s, 2 * MS)
        report(values)
    check(cuda.cuStreamSynchronize(s))  # PLANTED: py-log-end


logging.basicConfig(filename=os.devnull, level=logging.INFO)
train(12, range(1 if open_gpu() else 10000))

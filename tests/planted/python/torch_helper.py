"""PyTorch: a timer synchronizes the device at its begin and end in each step; clean: it is used once around all steps."""
import sys
import time

import torch


class Timer:
    def __enter__(self):
        self.begin = time.perf_counter()
        return self

    def __exit__(self, *error):
        torch.cuda.synchronize()  # PLANTED: torch-sync-in-helper
        self.seconds = time.perf_counter() - self.begin


def step(x, weight):
    for _ in range(4):
        x = torch.relu(x @ weight) * 1e-2
    return x


def train(steps, hoisted):
    x, weight = (torch.randn(2048, 2048, device="cuda") for _ in range(2))
    if hoisted:
        with Timer():
            for _ in range(steps):
                x = step(x, weight)
    else:
        for _ in range(steps):
            with Timer():
                x = step(x, weight)


train(100, sys.argv[1] == "clean")

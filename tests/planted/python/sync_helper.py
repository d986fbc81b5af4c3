"""The wait is in a method of another module; clean: the method is called once, after the loop."""
from gpu import US, kernel, launch, open_gpu, stream
from helpers import Meter


def train(steps, hoisted):
    spin, s = kernel("spin"), stream()
    meter = Meter(s)
    for _ in range(steps):
        for _ in range(4):
            launch(spin, s, 500 * US)
        if not hoisted:
            meter.update()
    meter.update()


train(50, open_gpu())

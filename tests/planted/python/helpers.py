"""A helper, in a module of its own, that nobody expects to wait."""
from gpu import check, cuda


class Meter:
    def __init__(self, stream):
        self.stream = stream
        self.steps = 0

    def update(self):
        check(cuda.cuStreamSynchronize(self.stream))  # PLANTED: py-sync-in-helper
        self.steps += 1

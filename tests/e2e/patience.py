"""Says how long a test waits for an event; a wait ends before ctest's limit, so that the test says what never
came.
A test that hangs elsewhere prints the stacks of its threads. Standard library only."""
import faulthandler
import os
import time

from pause import pause_after

SLOW = 10 if os.environ.get("GPUFL_SANITIZE") else 1
# s; ctest waits 600 or more for a file of tests. A run of an hour, with other work on the machine, gets more by hand.
PATIENCE = float(os.environ.get("GPUFL_PATIENCE") or (60 if SLOW == 1 else 240))
STANDS_STILL = 280  # s; no file of tests takes half as long

faulthandler.dump_traceback_later(STANDS_STILL, repeat=True)


def runs_for(seconds):
    """Says how long the file of tests runs: only after that it can count as hanging."""
    faulthandler.dump_traceback_later(STANDS_STILL + seconds, repeat=True)


def until(what, said, patience=PATIENCE):
    """Calls `what` until its result is true: the result. said: a text about what never came, or a function that returns
    it."""
    deadline = time.monotonic() + patience
    while True:
        asked = time.monotonic()
        got = what()
        if got:
            return got
        pause = pause_after(asked)
        assert time.monotonic() < deadline, said() if callable(said) else said
        time.sleep(pause)


def started(process):
    """The process, once the kernel shows the environment that Popen gave: a moment after Popen returns."""
    def environment():
        with open(f"/proc/{process.pid}/environ", "rb") as file:
            return file.read()
    until(environment, "a process without an environment")
    return process

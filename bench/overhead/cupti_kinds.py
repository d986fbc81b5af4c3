"""Measures what each kind of CUPTI's activity records costs the training step of pytorch_step.py, with CUPTI alone: without
gpufl's library, with a consumer that provides buffers and takes them back.

    python3 cupti_kinds.py --rounds 12 --states bare,kernels,kernels+synchronizations

A state is `bare`, `profiler` (torch.profiler with CUDA activity) or kinds joined by +: kernels,
synchronizations, runtime, driver (all calls of these interfaces), launches (the driver's calls that
start kernels, by cuptiActivityEnableDriverApi, CUDA 12.5), copies, memory. The states take turns in one process, each
with a subscription of its own that ends with cuptiFinalize. Prints one JSON object: for each state ms per step of every
round, and, compared with the bare round of the same turn, us per kernel and the ratio, as medians with their 95 %
intervals.
"""
import argparse
import ctypes
import json
import os
import statistics

import pytorch_step
from run import interval

KINDS = {"kernels": 10, "synchronizations": 38, "runtime": 5, "driver": 4, "copies": 1, "memory": 49}
LAUNCHES = (307, 652, 514)  # cuLaunchKernel, cuLaunchKernelEx, cuGraphLaunch
BUFFER = 1 << 20
WARM = 4  # steps of a round before it is timed

REQUEST = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
                           ctypes.POINTER(ctypes.c_size_t))
COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t,
                            ctypes.c_size_t)


class Buffers:
    """Taken and given back by CUPTI, on any thread: one call for some thousand records."""

    def __init__(self):
        self.owned, self.free = [], []
        self.request, self.complete = REQUEST(self.on_request), COMPLETE(self.on_complete)

    def on_request(self, buffer, size, most):
        try:
            at = self.free.pop()
        except IndexError:
            self.owned.append(ctypes.create_string_buffer(BUFFER))
            at = ctypes.addressof(self.owned[-1])
        buffer[0], size[0], most[0] = at, BUFFER, 0

    def on_complete(self, _context, _stream, buffer, _size, _valid):
        self.free.append(buffer)


class Kinds:
    def __init__(self, cupti, buffers, names):
        self.cupti, self.buffers, self.names = cupti, buffers, names
        self.subscriber, self.callback = ctypes.c_void_p(), ctypes.CFUNCTYPE(None)(lambda: None)

    def call(self, function, *arguments):
        result = getattr(self.cupti, function)(*arguments)
        if result:
            raise SystemExit(f"{function}{arguments}: {result}")

    def switch(self, on):
        for name in self.names:
            if name == "launches":
                for call in LAUNCHES:
                    self.call("cuptiActivityEnableDriverApi", call, on)
            else:
                self.call("cuptiActivityEnable" if on else "cuptiActivityDisable", KINDS[name])

    def __enter__(self):
        self.call("cuptiSubscribe", ctypes.byref(self.subscriber), self.callback, None)
        self.call("cuptiActivityRegisterCallbacks", self.buffers.request, self.buffers.complete)
        self.switch(1)

    def __exit__(self, *_):
        self.switch(0)
        self.call("cuptiActivityFlushAll", 1)
        self.call("cuptiUnsubscribe", self.subscriber)
        self.call("cuptiFinalize")


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10, help="steps of a round")
    parser.add_argument("--states", default="bare,profiler,kernels,synchronizations,kernels+synchronizations,"
                                            "kernels+runtime,kernels+driver,kernels+launches")
    parser.add_argument("--cupti", default="libcupti.so.13", help="the library that PyTorch has loaded")
    args = parser.parse_args()
    states = args.states.split(",")
    wrong = [s for s in states if s not in ("bare", "profiler") and set(s.split("+")) - {*KINDS, "launches"}]
    if "bare" not in states or wrong:
        parser.error(f"unknown: {', '.join(wrong)}" if wrong else "the state bare is what the others are compared with")
    step = pytorch_step.make_step()
    pytorch_step.timed(step, 30)
    kernels = pytorch_step.kernels_of_a_step(step)
    with pytorch_step.TorchProfiler(step):  # gives CUPTI back, which counting has taken
        pass
    cupti, buffers = ctypes.CDLL(args.cupti, mode=os.RTLD_NOLOAD | os.RTLD_LAZY), Buffers()
    ms = {state: [] for state in states}
    for number in range(args.rounds):
        for state in states[number % len(states):] + states[:number % len(states)]:
            with (Nothing() if state == "bare" else pytorch_step.TorchProfiler(step) if state == "profiler"
                  else Kinds(cupti, buffers, state.split("+"))):
                pytorch_step.timed(step, WARM)
                ms[state].append(pytorch_step.timed(step, args.steps))
    result = {state: {"ms": statistics.median(ms[state]),
                      "us_a_kernel": interval([(a - b) * 1e3 / kernels for a, b in zip(ms[state], ms["bare"])]),
                      "over_bare": interval([a / b for a, b in zip(ms[state], ms["bare"])])} for state in states}
    print(json.dumps({"kernels": kernels, "states": result, "rounds": ms}))


if __name__ == "__main__":
    main()

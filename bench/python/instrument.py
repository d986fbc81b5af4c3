#!/usr/bin/env python3
"""Measures what gpufl.torch.instrument adds to a step of PyTorch: processor time of the step, toggled inside one process.

    PYTHONPATH=build/python bench/python/instrument.py [--rounds N] [--width N] [--depth N]
    PYTHONPATH=build/python bench/python/instrument.py --gpu SECONDS [--depth N]

A model of 6 blocks (LayerNorm, Linear, GELU, Linear) on the processor with one thread, in a session without a GPU; the
script runs 20 steps without and with the hooks in turn, and prints medians. A small width makes the cost of the hooks
visible. --gpu runs the step of bench/overhead (931 kernels) in a Trace session instead, for SECONDS, in blocks of on
off off on: wall-clock time of a step and processor time of the launching thread.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import torch

import gpufl
import gpufl.torch


def on_gpu(seconds, depth):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "overhead"))
    from pytorch_step import in_blocks, make_step, timed
    step, hooks = make_step(), []
    timed(step, 30)

    def switch(on):
        while hooks:
            hooks.pop().remove()
        if on:
            hooks.append(gpufl.torch.instrument(step.model, step.optimizer, depth=depth))

    with tempfile.TemporaryDirectory() as folder:
        gpufl.init(log_path=folder, profiling_engine=gpufl.ProfilingEngine.Trace)
        timed(step, 60)
        result = in_blocks(step, switch, 2, seconds, 0.3)  # rounds of two steps: a virtual machine's speed drifts in less than a second
        switch(False)
        gpufl.shutdown()
    print(f"{torch.cuda.get_device_name()}, depth {depth}: {statistics.median(result['off']):.2f} ms a step without, {statistics.median(result['on']):.2f} with")
    for name in ("wall", "thread"):
        median, mean, half, blocks = result[f"ratio_{name}"]
        print(f"{name}: median ratio {median:.4f}, mean without the outer tenths {mean:.4f} +- {half:.4f} (95 %), {blocks} blocks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--gpu", type=float, metavar="SECONDS")
    options = parser.parse_args()
    if options.gpu:
        return on_gpu(options.gpu, options.depth)
    torch.set_num_threads(1)
    width, nn = options.width, torch.nn
    model = nn.Sequential(*[nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
                            for _ in range(6)])
    optimizer, x = torch.optim.AdamW(model.parameters()), torch.randn(8, width)

    def turn(count=20):
        begin = time.process_time_ns()
        for _ in range(count):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        return (time.process_time_ns() - begin) / count / 1e3

    off, on = [], []
    with tempfile.TemporaryDirectory() as folder:
        gpufl.init(log_path=folder, backend=gpufl.BackendKind.None_, profiling_engine=gpufl.ProfilingEngine.Trace)
        turn()
        for _ in range(options.rounds):
            off.append(turn())
            with gpufl.torch.instrument(model, optimizer, depth=options.depth):
                on.append(turn())
        gpufl.shutdown()
    added = sorted(b - a for a, b in zip(off, on))
    print(f"PyTorch {torch.__version__}, width {width}, depth {options.depth}, {options.rounds} rounds: step {statistics.median(off):.0f} us "
          f"without, {statistics.median(on):.0f} us with; {statistics.median(added):.1f} us more "
          f"[{added[len(added) // 4]:.1f}, {added[3 * len(added) // 4]:.1f}]")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A Triton kernel with a scope for each launch, which reads its own session. Needs a GPU.

    python3 triton_kernels.py [--steps N] [--logs FOLDER]
"""
import argparse

import torch
import triton
import triton.language as tl

import gpufl
import gpufl.triton
from gpufl.analyzer import GpuFlightSession


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--logs", default="logs")
    options = parser.parse_args()
    with gpufl.session(app_name="triton_kernels", log_path=options.logs, upload=False,
                       profiling_engine=gpufl.ProfilingEngine.Trace) as running, gpufl.triton.instrument():
        x = torch.ones(1 << 20, device="cuda")
        for _ in gpufl.steps(range(options.steps)):
            add[(triton.cdiv(x.numel(), 1024),)](x, x, x, x.numel(), BLOCK=1024)
            x /= 2
        torch.cuda.synchronize()
    session = GpuFlightSession(options.logs, session_id=running.id)
    session.print_summary()
    print(session.scope_events.groupby(["name", "tag"], observed=True, dropna=False).duration_ms.agg(["count", "mean"]).to_string())


if __name__ == "__main__":
    main()

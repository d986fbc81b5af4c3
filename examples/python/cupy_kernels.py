#!/usr/bin/env python3
"""CuPy kernels with a scope for each call, which reads its own session. Needs a GPU.

    python3 cupy_kernels.py [--steps N] [--logs FOLDER]
"""
import argparse

import cupy

import gpufl
import gpufl.cupy
from gpufl.analyzer import GpuFlightSession

smooth = gpufl.cupy.scoped(cupy.ElementwiseKernel("raw float32 x", "float32 y", "y = (x[i ? i - 1 : 0] + x[i]) / 2", "smooth"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--logs", default="logs")
    options = parser.parse_args()
    with gpufl.session(app_name="cupy_kernels", log_path=options.logs, upload=False,
                       profiling_engine=gpufl.ProfilingEngine.Trace) as running, gpufl.cupy.instrument():
        x = cupy.random.random(1 << 20, dtype=cupy.float32)
        for _ in gpufl.steps(range(options.steps)):
            y = cupy.empty_like(x)
            smooth(x, y)
            x = y
        print("mean", float(x.mean()))
    session = GpuFlightSession(options.logs, session_id=running.id)
    session.print_summary()
    print(session.scope_events.groupby(["name", "tag"], observed=True, dropna=False).duration_ms.agg(["count", "mean"]).to_string())


if __name__ == "__main__":
    main()

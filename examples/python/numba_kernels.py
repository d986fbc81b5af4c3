#!/usr/bin/env python3
"""A Numba kernel with a scope for each launch and for compiling, which reads its own session.

    python3 numba_kernels.py [--steps N] [--logs FOLDER]

Runs on a GPU, or with Numba's simulator (NUMBA_ENABLE_CUDASIM=1), where the session has scopes and no kernels.
"""
import argparse

import numpy
from numba import cuda

import gpufl
import gpufl.numba
from gpufl.analyzer import GpuFlightSession


@gpufl.numba.scoped
@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--logs", default="logs")
    parser.add_argument("--size", type=int, default=1 << 16)
    options = parser.parse_args()
    with gpufl.session(app_name="numba_kernels", log_path=options.logs, upload=False,
                       profiling_engine=gpufl.ProfilingEngine.Trace) as running, gpufl.numba.instrument():
        x = cuda.to_device(numpy.ones(options.size, numpy.float32))
        for _ in gpufl.steps(range(options.steps)):
            scale[(options.size + 127) // 128, 128](x, 0.5)
        print("first", x.copy_to_host()[0])
    session = GpuFlightSession(options.logs, session_id=running.id)
    session.print_summary()
    print(session.scope_events.groupby(["name", "tag"], observed=True, dropna=False).duration_ms.agg(["count", "mean"]).to_string())


if __name__ == "__main__":
    main()

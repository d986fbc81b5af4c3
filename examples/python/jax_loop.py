#!/usr/bin/env python3
"""A JAX loop with a scope for each step and each call of a compiled function, which reads its own session.

    python3 jax_loop.py [--steps N] [--logs FOLDER]

Runs where JAX runs; without a GPU the session has scopes and no kernels.
"""
import argparse

import jax
import jax.numpy as jnp

import gpufl
import gpufl.jax
from gpufl.analyzer import GpuFlightSession


@gpufl.jax.jit
def update(weights, x):
    loss, gradient = jax.value_and_grad(lambda w: jnp.square(jnp.tanh(x @ w)).mean())(weights)
    return weights - 0.1 * gradient, loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--logs", default="logs")
    options = parser.parse_args()
    weights = jnp.ones((256, 256)) / 256
    with gpufl.session(app_name="jax_loop", log_path=options.logs, upload=False,
                       profiling_engine=gpufl.ProfilingEngine.Trace) as running:
        for batch in gpufl.jax.steps(jnp.ones((options.steps, 64, 256))):
            weights, loss = update(weights, batch)
        loss.block_until_ready()
    session = GpuFlightSession(options.logs, session_id=running.id)
    session.print_summary()
    print(session.scope_events.groupby(["name", "tag"], observed=True, dropna=False).duration_ms.agg(["count", "mean"]).to_string())


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A PyTorch training loop that marks its phases, and reads its own session.

    python3 torch_loop.py [--steps N] [--logs FOLDER]

Runs on a GPU if PyTorch has one, else on the processor with the simulated GPU of gpufl, whose numbers are invented.
"""
import argparse

import torch

import gpufl
import gpufl.torch
from gpufl.analyzer import GpuFlightSession


def train(device, steps):
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(torch.randn(32 * steps, 64), batch_size=32)
    with gpufl.torch.instrument(model, optimizer):
        for x in gpufl.torch.steps(loader):
            loss = model(x.to(device)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()  # waits for the GPU in every step: the report names this line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--logs", default="logs")
    options = parser.parse_args()
    gpu = torch.cuda.is_available()
    backend = gpufl.BackendKind.Auto if gpu else gpufl.BackendKind.Sim
    with gpufl.session(app_name="torch_loop", log_path=options.logs, backend=backend, upload=False,
                       profiling_engine=gpufl.ProfilingEngine.Trace) as running:
        train("cuda" if gpu else "cpu", options.steps)
    session = GpuFlightSession(options.logs, session_id=running.id)
    session.print_summary()
    events = session.scope_events
    print(events.groupby("name", observed=True).duration_ms.agg(["count", "mean", "sum"]).sort_values("sum", ascending=False).to_string())


if __name__ == "__main__":
    main()

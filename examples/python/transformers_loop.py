#!/usr/bin/env python3
"""A training by Hugging Face's Trainer whose steps and phases are marked, which reads its own session.

    python3 transformers_loop.py [--logs FOLDER]
"""
import argparse
import tempfile

import torch
from transformers import Trainer, TrainingArguments

import gpufl
import gpufl.transformers
from gpufl.analyzer import GpuFlightSession


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))

    def forward(self, x=None, labels=None):
        y = self.net(x)
        return {"loss": (y.squeeze(-1) - labels).square().mean(), "logits": y}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", default="logs")
    options = parser.parse_args()
    data = [{"x": torch.randn(64), "labels": torch.tensor(1.0)} for _ in range(800)]
    with tempfile.TemporaryDirectory() as folder, gpufl.session(
            app_name="transformers_loop", log_path=options.logs, upload=False,
            profiling_engine=gpufl.ProfilingEngine.Trace) as running:
        arguments = TrainingArguments(output_dir=folder, max_steps=50, per_device_train_batch_size=16, report_to=[], save_strategy="no")
        Trainer(model=Net(), args=arguments, train_dataset=data, callbacks=[gpufl.transformers.GpuFlightCallback(depth=1)]).train()
    session = GpuFlightSession(options.logs, session_id=running.id)
    session.print_summary()
    print(session.scope_events.groupby("name", observed=True).duration_ms.agg(["count", "mean"]).to_string())


if __name__ == "__main__":
    main()

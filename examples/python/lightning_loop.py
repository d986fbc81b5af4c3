#!/usr/bin/env python3
"""A Lightning training whose epochs, steps and phases are marked, which reads its own session.

    python3 lightning_loop.py [--logs FOLDER]
"""
import argparse

import torch

import gpufl
import gpufl.lightning
from gpufl.analyzer import GpuFlightSession

try:
    import lightning.pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))

    def training_step(self, batch, index):
        return self.net(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", default="logs")
    options = parser.parse_args()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(1600, 64)), batch_size=32)
    with gpufl.session(app_name="lightning_loop", log_path=options.logs, upload=False,
                       profiling_engine=gpufl.ProfilingEngine.Trace) as running:
        trainer = lightning.Trainer(max_epochs=2, devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                    callbacks=[gpufl.lightning.GpuFlightCallback()])
        trainer.fit(Net(), data)
    session = GpuFlightSession(options.logs, session_id=running.id)
    session.print_summary()
    print(session.scope_events.groupby("name", observed=True).duration_ms.agg(["count", "mean"]).to_string())


if __name__ == "__main__":
    main()

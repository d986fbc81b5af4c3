"""PyTorch: predictions go to the host with .cpu() batch by batch; clean: gathered on the device, copied once."""
import sys

import torch


def predict(batches, gathered):
    weight = torch.randn(2048, 2048, device="cuda")
    kept = []
    for _ in range(batches):
        x = torch.randn(2048, 2048, device="cuda")
        for _ in range(4):
            x = torch.relu(x @ weight) * 1e-2
        if gathered:
            kept.append(x[:1])
        else:
            kept.append(x[:1].cpu())  # PLANTED: torch-cpu-in-loop
    return torch.cat(kept).cpu()  # PLANTED: torch-cpu-hoisted


predict(100, sys.argv[1] == "clean")

"""PyTorch: the loss is read with .item() in every step; clean: after the last one."""
import sys

import torch

import warm


def train(steps, hoisted):
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096, device="cuda"), torch.nn.ReLU(),
                                torch.nn.Linear(4096, 64, device="cuda"))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(4096, 1024, device="cuda"), torch.randn(4096, 64, device="cuda")
    total = 0.0
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not hoisted:
            total += loss.item()  # PLANTED: torch-item-in-loop
    return total + loss.item()  # PLANTED: torch-item-hoisted


warm.imports()
train(100, sys.argv[1] == "clean")

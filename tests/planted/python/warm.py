"""Imports the modules that PyTorch imports, for seconds, at the first use of an optimizer, before the GPU is used."""
import torch


def imports():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1e-3)
    optimizer.zero_grad()
    (parameter * 2).sum().backward()
    optimizer.step()

"""What PyTorch imports, for seconds, when an optimizer is first used: before the GPU is."""
import torch


def imports():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1e-3)
    optimizer.zero_grad()
    (parameter * 2).sum().backward()
    optimizer.step()

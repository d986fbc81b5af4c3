"""PyTorch: the training loop of the scope guide. loss.backward() launches on autograd's own thread, which
has no scope open and takes backward_pass. gpufl's C functions are called if the library is in the process."""
import contextlib
import ctypes
import sys

import torch

import warm

gpufl = ctypes.CDLL(sys.argv[2])
gpufl.gpufl_scope_begin.restype = ctypes.c_uint64
gpufl.gpufl_scope_begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
gpufl.gpufl_scope_end.argtypes = [ctypes.c_uint64]


@contextlib.contextmanager
def scope(name):
    opened = gpufl.gpufl_scope_begin(name.encode(), b"")
    try:
        yield
    finally:
        gpufl.gpufl_scope_end(opened)


warm.imports()
model = torch.nn.Sequential(torch.nn.Linear(1024, 2048, device="cuda"), torch.nn.ReLU(),
                            torch.nn.Linear(2048, 64, device="cuda"))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x, y = torch.randn(1024, 1024, device="cuda"), torch.randn(1024, 64, device="cuda")
for _ in range(50):
    with scope("batch"):
        with scope("forward_pass"):
            output = model(x)
        with scope("loss"):
            loss = torch.nn.functional.mse_loss(output, y)
        with scope("backward_pass"):
            loss.backward()
        with scope("optimizer_step"):
            optimizer.step()
            optimizer.zero_grad()
torch.cuda.synchronize()  # PLANTED: torch-scopes-end

"""A small training in PyTorch whose operations NVTX names; prints how often each ran."""
import json

import torch

STEPS = 20
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).cuda()
data = torch.randn(64, 256, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with torch.autograd.profiler.emit_nvtx():
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.cuda.nvtx.range("forward"):
            loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
torch.cuda.synchronize()
print(json.dumps({"steps": STEPS, "layers": 2, "torch": torch.__version__}))

"""A loop with Accelerate reads the loss in each step: the host cannot run ahead. Cure: it reads all at the end."""
import json
import sys
import time

import torch
from accelerate import Accelerator
from torchvision.models import resnet50

CURE = "cure" in sys.argv
accelerator = Accelerator()
model = resnet50().to(torch.bfloat16, memory_format=torch.channels_last)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1, fused=True))
images = torch.randn(64, 3, 224, 224, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
labels = torch.randint(0, 1000, (64,), device="cuda")
losses, spent = [], 0.0
for k in range(45):
    if k == 5:
        torch.cuda.synchronize()
        start, spent = time.perf_counter(), 0.0
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    begin = time.perf_counter()
    mean = accelerator.gather(loss.detach()).mean()
    losses.append(mean if CURE else mean.item())
    spent += time.perf_counter() - begin
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

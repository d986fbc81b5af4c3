"""Clean: a loop with Accelerate trains torchvision's ViT in bfloat16 and reads its losses at the end.

The argument `cure` compiles the model, which fuses its element-wise operations."""
import json
import sys
import time

import torch
from accelerate import Accelerator
from torchvision.models import vit_b_16

accelerator = Accelerator()
model = vit_b_16().to(torch.bfloat16)
if "cure" in sys.argv:
    model = torch.compile(model)
model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True))
images = torch.randn(256, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
labels = torch.randint(0, 1000, (256,), device="cuda")
losses = []
for k in range(14):
    if k == 3:
        torch.cuda.synchronize()
        start = time.perf_counter()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    losses.append(loss.detach())
total = torch.stack(losses).sum().item()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

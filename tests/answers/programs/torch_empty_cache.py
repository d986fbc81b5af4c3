"""Training of torchvision's ResNet-50 empties PyTorch's cache of memory in each step. Cure: it does not."""
import json
import sys
import time

import torch
from torchvision.models import resnet50

CURE = "cure" in sys.argv
model = resnet50().to("cuda", torch.bfloat16, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
images = torch.randn(128, 3, 224, 224, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
labels = torch.randint(0, 1000, (128,), device="cuda")
for k in range(30):
    if k == 5:
        torch.cuda.synchronize()
        start = time.perf_counter()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not CURE:
        torch.cuda.empty_cache()
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

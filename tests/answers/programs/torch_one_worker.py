"""A DataLoader's only worker cannot feed the GPU. Cure: 12 workers."""
import json
import sys
import time

import torch
from torchvision.datasets import FakeData
from torchvision.models import resnet18
from torchvision.transforms import ToTensor

CURE = "cure" in sys.argv
rows = FakeData(size=32 * 24, image_size=(3, 256, 256), num_classes=10, transform=ToTensor())
loader = torch.utils.data.DataLoader(rows, batch_size=32, num_workers=12 if CURE else 1)
model = resnet18(num_classes=10).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
start = None
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if start is None:
        torch.cuda.synchronize()
        start = time.perf_counter()
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

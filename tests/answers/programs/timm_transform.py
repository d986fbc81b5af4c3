"""timm's augmentation of images runs in the training loop's own thread. Cure: 8 worker processes."""
import json
import sys
import time

import torch
import timm
from timm.data import create_transform
from torchvision.datasets import FakeData

CURE = "cure" in sys.argv
rows = FakeData(size=32 * 24, image_size=(3, 256, 256), num_classes=10,
                transform=create_transform(224, is_training=True, auto_augment="rand-m9-mstd0.5-inc1"))
loader = torch.utils.data.DataLoader(rows, batch_size=32, num_workers=8 if CURE else 0)
model = timm.create_model("resnet18", num_classes=10).cuda()
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

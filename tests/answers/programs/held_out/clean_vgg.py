"""Clean: torchvision's VGG-16 is trained in bfloat16 and channels_last with large batches and a fused optimizer."""
import json
import time

import torch
from torchvision.models import vgg16

BATCH, CLASSES, STEPS, WARM = 256, 1000, 45, 5
torch.manual_seed(0)

model = vgg16(num_classes=CLASSES)
model = model.to("cuda", torch.bfloat16, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
images = torch.randn(BATCH, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
images = images.to(memory_format=torch.channels_last)
labels = torch.randint(0, CLASSES, (BATCH,), device="cuda")

for k in range(STEPS):
    if k == WARM:
        torch.cuda.synchronize()
        start = time.perf_counter()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rate.step()

torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

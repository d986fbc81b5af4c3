"""Clean: torchvision's ResNet-50 infers large batches in bfloat16 and channels_last."""
import json
import time

import torch
from torchvision.models import resnet50

model = resnet50().to("cuda", torch.bfloat16, memory_format=torch.channels_last).eval()
images = torch.randn(512, 3, 224, 224, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
with torch.no_grad():
    for k in range(35):
        if k == 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        model(images)
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

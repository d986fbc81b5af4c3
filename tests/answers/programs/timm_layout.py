"""timm's ResNet-50 in bfloat16 gets its images in NCHW, and cuDNN converts them. Cure: channels_last."""
import json
import sys
import time

import torch
import timm

CURE = "cure" in sys.argv
layout = torch.channels_last if CURE else torch.contiguous_format
model = timm.create_model("resnet50").to("cuda", torch.bfloat16, memory_format=layout).eval()
images = torch.randn(256, 3, 224, 224, device="cuda", dtype=torch.bfloat16).to(memory_format=layout)
with torch.no_grad():
    for _ in range(5):
        model(images)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(40):
        model(images)
    torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

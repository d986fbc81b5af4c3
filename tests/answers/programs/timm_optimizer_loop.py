"""AdamW updates the weights of timm's ViT one by one. Cure: fused=True."""
import json
import sys
import time

import torch
import timm

CURE = "cure" in sys.argv
model = timm.create_model("vit_tiny_patch16_224", num_classes=10).to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False, fused=CURE)
images = torch.randn(256, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
labels = torch.randint(0, 10, (256,), device="cuda")
spent = 0.0
for k in range(15):
    if k == 3:
        torch.cuda.synchronize()
        start, spent = time.perf_counter(), 0.0
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    begin = time.perf_counter()
    optimizer.step()
    spent += time.perf_counter() - begin
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

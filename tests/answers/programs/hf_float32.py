"""A large ViT of Hugging Face infers in float32, without TF32. Cure: TF32 is allowed."""
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import ViTConfig, ViTModel

CURE = "cure" in sys.argv
if CURE:
    torch.set_float32_matmul_precision("high")
model = ViTModel(ViTConfig(num_hidden_layers=12, hidden_size=1024, num_attention_heads=16,
                           intermediate_size=4096)).cuda().eval()
images = torch.randn(64, 3, 224, 224, device="cuda")
with torch.no_grad():
    for _ in range(3):
        model(images)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        model(images)
    torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

"""A GPT-2 of Hugging Face computes attention in pieces. Cure: by scaled_dot_product_attention."""
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import GPT2Config, GPT2Model

CURE = "cure" in sys.argv
model = GPT2Model(GPT2Config(n_layer=8, n_embd=1024, n_head=16, n_positions=2048,
                             activation_function="gelu_pytorch_tanh")).to("cuda", torch.bfloat16).eval()
model.set_attn_implementation("sdpa" if CURE else "eager")
ids = torch.randint(0, 50000, (8, 2048), device="cuda")
with torch.no_grad():
    for _ in range(3):
        model(ids, use_cache=False)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        model(ids, use_cache=False)
    torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

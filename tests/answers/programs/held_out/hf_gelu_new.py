"""GPT-2 of Hugging Face with its default activation, gelu_new, which is eight operations. Cure: PyTorch's own one."""
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import GPT2Config, GPT2LMHeadModel

CURE = "cure" in sys.argv
STEPS, WARM = 45, 5
torch.manual_seed(0)
config = GPT2Config(n_layer=8, vocab_size=8192, activation_function="gelu_pytorch_tanh" if CURE else "gelu_new",
                    resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
model = GPT2LMHeadModel(config).to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
ids = torch.randint(0, 8192, (32, 1024), device="cuda")
for k in range(STEPS):
    if k == WARM:
        torch.cuda.synchronize()
        start = time.perf_counter()
    loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rate.step()
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

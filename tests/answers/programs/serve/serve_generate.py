"""Requests of several users wait for a lock around generate(), which takes one at a time. Cure: one call for all."""
import json
import os
import sys
import threading
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import GPT2Config, GPT2LMHeadModel

CURE = "cure" in sys.argv
torch.backends.cuda.enable_cudnn_sdp(False)  # it makes a plan for each length, in each thread: hf_generate_plans.py
USERS, ROUNDS, TOKENS = 6, 3, 16
model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8)).to("cuda", torch.bfloat16).eval()
lock = threading.Lock()
times = []


def generate(prompts):
    with torch.no_grad():
        return model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=TOKENS,
                              min_new_tokens=TOKENS, do_sample=False, pad_token_id=0)


def user(prompt):
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        with lock:
            generate(prompt)
        times.append(time.perf_counter() - begin)


prompts = torch.randint(1, 50000, (USERS, 32), device="cuda")
generate(prompts if CURE else prompts[:1])
torch.cuda.synchronize()
start = time.perf_counter()
if CURE:
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        generate(prompts)
        torch.cuda.synchronize()
        times += [time.perf_counter() - begin] * USERS
else:
    threads = [threading.Thread(target=user, args=(prompts[k:k + 1],)) for k in range(USERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
torch.cuda.synchronize()
work = time.perf_counter() - start
print(json.dumps({"spent_s": None, "work_s": work, "p99_s": sorted(times)[int(len(times) * 0.99)]}))

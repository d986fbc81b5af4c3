"""generate() of a small GPT-2 with a logits processor that counts pairs in Python. Cure: no such processor."""
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessor, LogitsProcessorList

CURE = "cure" in sys.argv
spent = 0.0


def count_pairs(rows):
    seen = {}
    for row in rows:
        for a, b in zip(row, row[1:]):
            seen[a * 70000 + b] = seen.get(a * 70000 + b, 0) + 1
        for _ in range(24):
            seen.update({k + 1: v for k, v in list(seen.items())[:400]})
    return seen


class Count(LogitsProcessor):
    def __call__(self, ids, scores):
        global spent
        rows = ids.tolist()
        start = time.perf_counter()
        count_pairs(rows)
        spent += time.perf_counter() - start
        return scores


model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=512, n_head=8)).cuda().eval()
prompt = torch.randint(0, 50000, (4, 64), device="cuda")
start = time.perf_counter()
with torch.no_grad():
    for _ in range(2):
        model.generate(prompt, max_new_tokens=100, do_sample=False, pad_token_id=0,
                       logits_processor=LogitsProcessorList([] if CURE else [Count()]))
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

"""Python's garbage collector looks through a large table after each step. Cure: gc.freeze() takes the table out."""
import gc
import json
import sys
import time

import torch

CURE = "cure" in sys.argv
table = [{"row": k, "words": [k]} for k in range(150000)]
if CURE:
    gc.freeze()
weight = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
spent = 0.0


def tidy():
    gc.collect()


for k in range(32):
    if k == 2:
        torch.cuda.synchronize()
        start, spent = time.perf_counter(), 0.0
    for _ in range(40):
        product = weight @ weight
    begin = time.perf_counter()
    tidy()
    spent += time.perf_counter() - begin
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

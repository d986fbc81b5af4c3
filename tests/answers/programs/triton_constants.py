"""A kernel of Triton is compiled in each step, whose number is a constant to it. Cure: an ordinary argument."""
import json
import os
import sys
import tempfile
import time

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
import torch
import triton
import triton.language as tl

CURE = "cure" in sys.argv


@triton.jit
def scaled(x, y, n, step: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, v * (step + 1), mask=at < n)


@triton.jit
def scaled_by_value(x, y, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, v * (step + 1), mask=at < n)


def change(x, y, k):
    grid = (triton.cdiv(x.numel(), 1024),)
    if CURE:
        scaled_by_value[grid](x, y, x.numel(), k + 16.5, BLOCK=1024)
    else:
        scaled[grid](x, y, x.numel(), k, BLOCK=1024)


x = torch.randn(1 << 24, device="cuda")
y = torch.empty_like(x)
weight = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
spent = 0.0
for k in range(25):
    if k == 3:
        torch.cuda.synchronize()
        start, spent = time.perf_counter(), 0.0
    begin = time.perf_counter()
    change(x, y, k)
    spent += time.perf_counter() - begin
    for _ in range(20):
        product = weight @ weight
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

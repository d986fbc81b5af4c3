"""Clean: a kernel of Triton adds large arrays."""
import json
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


x = torch.randn(1 << 28, device="cuda")
y, z = torch.randn_like(x), torch.empty_like(x)
for k in range(1500):
    if k == 20:
        torch.cuda.synchronize()
        start = time.perf_counter()
    add[(triton.cdiv(x.numel(), 1024),)](x, y, z, x.numel(), BLOCK=1024)
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

"""Clean: large products of matrices in bfloat16, queued without a wait."""
import json
import time

import torch

a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
for k in range(1500):
    if k == 100:
        torch.cuda.synchronize()
        start = time.perf_counter()
    b = a @ a
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

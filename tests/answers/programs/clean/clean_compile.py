"""Clean: torch.compile's code runs with one shape of input; it was compiled before the loop."""
import json
import time

import torch

weight = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) / 90


@torch.compile
def layer(x):
    return torch.nn.functional.gelu(x @ weight) + x


x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
for k in range(1020):
    if k == 20:
        torch.cuda.synchronize()
        start = time.perf_counter()
    y = layer(x)
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

"""Another process computes on the same GPU, which gives both their slices of time. Cure: no such process."""
import json
import os
import subprocess
import sys
import time

import torch

CURE = "cure" in sys.argv
if "neighbour" in sys.argv:
    weight = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for k in range(10000000):
        weight @ weight
        if k % 50 == 0:
            torch.cuda.synchronize()
        if k == 50:
            print("ready", flush=True)
quiet = {k: v for k, v in os.environ.items() if not any(part in k for part in ("INJECTION", "GPUFL", "PRELOAD"))}
other = None
if not CURE:
    other = subprocess.Popen([sys.executable, __file__, "neighbour"], env=quiet, stdout=subprocess.PIPE)
    other.stdout.readline()
weight = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
for _ in range(20):
    weight @ weight
torch.cuda.synchronize()
start = time.perf_counter()
for k in range(50):
    for _ in range(80):
        product = weight @ weight
    torch.cuda.synchronize()
work = time.perf_counter() - start
if other:
    other.kill()
    other.wait()
print(json.dumps({"spent_s": None, "work_s": work}))

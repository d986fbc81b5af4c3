"""The thread that launches shares its core with three busy processes. Cure: it has all cores."""
import json
import os
import subprocess
import sys
import time

import torch

CURE = "cure" in sys.argv
cores = os.sched_getaffinity(0)
core = max(cores)
weight = torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16)
for _ in range(20):
    torch.tanh(weight @ weight)
torch.cuda.synchronize()
spin = f"import os; os.sched_setaffinity(0, {{{core}}})\nwhile os.getppid() == {os.getpid()}: pass"
others = [subprocess.Popen([sys.executable, "-S", "-c", spin]) for _ in range(3)]
os.sched_setaffinity(0, cores - {core} if CURE and len(cores) > 1 else {core})
start = time.perf_counter()
for k in range(150):
    total = sum(i * i % 7 for i in range(40000))
    x = weight
    for _ in range(20):
        x = torch.tanh(x @ weight)
torch.cuda.synchronize()
work = time.perf_counter() - start
for other in others:
    other.kill()
    other.wait()
print(json.dumps({"spent_s": None, "work_s": work}))

"""torch.compile meets a new length of its input every few steps. Cure: the input is padded."""
import json
import os
import sys
import tempfile
import time

os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
import torch

CURE = "cure" in sys.argv
LENGTHS = (640, 512, 576, 608, 544)
weight = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)


@torch.compile(dynamic=False)
def layer(x):
    return torch.nn.functional.gelu(x @ weight) * x.sigmoid() + x


def run(length):
    x = torch.randn(32, 640 if CURE else length, 2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(40):
        x = layer(x)


spent = 0.0
run(LENGTHS[0])
torch.cuda.synchronize()
start = time.perf_counter()
for length in LENGTHS[1:]:
    run(length)
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

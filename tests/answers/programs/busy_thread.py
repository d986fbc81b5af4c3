"""Another thread counts words in Python and holds the interpreter's lock. Cure: no such thread."""
import json
import sys
import threading
import time

import torch

CURE = "cure" in sys.argv
done = threading.Event()


def count_words():
    seen = {}
    while not done.is_set():
        for k in range(20000):
            word = f"word{k % 500}"
            seen[word] = seen.get(word, 0) + 1


weight = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
for _ in range(20):
    weight @ weight
torch.cuda.synchronize()
if not CURE:
    threading.Thread(target=count_words, daemon=True).start()
start = time.perf_counter()
for k in range(60):
    x = weight
    for _ in range(6):
        x = torch.tanh(x @ weight)
torch.cuda.synchronize()
work = time.perf_counter() - start
done.set()
print(json.dumps({"spent_s": None, "work_s": work}))

"""Scores of each batch are added to one growing table of pandas. Cure: the tables of all batches are joined at the end."""
import json
import sys
import time

import numpy
import pandas
import torch

CURE = "cure" in sys.argv
ROWS, WIDTH, STEPS, WARM = 131072, 2048, 110, 10
torch.manual_seed(0)
layers = [layer for _ in range(6) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1)).to("cuda", torch.bfloat16).eval()
inputs = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
numbers = numpy.arange(ROWS)
table, parts, spent = pandas.DataFrame(), [], 0.0


def keep(step, scores):
    """Adds the scores of a batch to the table."""
    global table
    part = pandas.DataFrame({"step": step, "row": numbers, "score": scores})
    if CURE:
        parts.append(part)
    else:
        table = pandas.concat([table, part], ignore_index=True) if len(table) else part


with torch.no_grad():
    for k in range(STEPS):
        if k == WARM:
            torch.cuda.synchronize()
            start, spent = time.perf_counter(), 0.0
        scores = model(inputs).squeeze(1).float().cpu().numpy()
        begin = time.perf_counter()
        keep(k, scores)
        spent += time.perf_counter() - begin
if CURE:
    table = pandas.concat(parts, ignore_index=True)
assert len(table) == STEPS * ROWS
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

"""Features are computed with pandas between the steps. Cure: they are computed before."""
import json
import sys
import time

import numpy
import pandas
import torch

CURE = "cure" in sys.argv
WIDTH, STEPS, WARM = 2048, 60, 5
noise = numpy.random.default_rng(0)
frame = pandas.DataFrame({"key": noise.integers(0, 500, 60000), "value": noise.normal(size=60000)})
spent = 0.0


def features(k):
    table = frame.assign(value=frame.value * (k + 1))
    table["mean"] = table.groupby("key").value.transform("mean")
    table["rank"] = table.groupby("key").value.rank()
    return table[["value", "mean", "rank"]].to_numpy(dtype="float32")[:WIDTH].ravel()


model = torch.nn.Sequential(*[torch.nn.Linear(3 * WIDTH, 3 * WIDTH) for _ in range(4)]).to("cuda", torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
ready = [features(k) for k in range(STEPS)] if CURE else None
for k in range(STEPS):
    if k == WARM:
        torch.cuda.synchronize()
        start, spent = time.perf_counter(), 0.0
    begin = time.perf_counter()
    row = ready[k] if CURE else features(k)
    spent += time.perf_counter() - begin
    x = torch.from_numpy(row).to("cuda", torch.bfloat16).expand(512, -1)
    loss = model(x).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

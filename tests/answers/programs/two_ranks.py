"""Two ranks of DistributedDataParallel; the second prepares its batches in Python. Cure: neither does."""
import json
import os
import sys
import time

import torch
import torch.distributed
import torch.multiprocessing

CURE = "cure" in sys.argv


def batch(k):
    total = 0
    for i in range(400000):
        total += i * k % 7
    return total


def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank))
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=2)
    net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).to("cuda", torch.bfloat16)
    model = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    x, spent = torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16), 0.0
    for k in range(60):
        if k == 10:
            torch.cuda.synchronize()
            start, spent = time.perf_counter(), 0.0
        begin = time.perf_counter()
        if rank == 1 and not CURE:
            batch(k)
        spent += time.perf_counter() - begin
        loss = model(x).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    if rank == 1:
        print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    if torch.cuda.device_count() < 2:
        print(json.dumps({"skip": "one GPU"}))
    else:
        torch.multiprocessing.spawn(work, (29511,), nprocs=2)

"""One process of two: a model on its own device, gradients averaged over NCCL; on a device that both
share, over gloo. Started by torchrun; prints its rank and what the model came to, which all ranks have in common."""
import os

import torch
import torch.distributed as dist

STEPS = 20


def main():
    rank = int(os.environ["LOCAL_RANK"])
    devices = torch.cuda.device_count()
    torch.cuda.set_device(rank % devices)
    dist.init_process_group("nccl" if devices >= int(os.environ["WORLD_SIZE"]) else "gloo")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 16)).cuda()
    torch.manual_seed(2 + rank)
    for _ in range(STEPS):
        loss = model(torch.randn(64, 256, device="cuda")).square().mean()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p -= 0.01 * p.grad / dist.get_world_size()
                p.grad = None
    total = sum(p.double().sum() for p in model.parameters()).item()
    print(f"rank {rank}: {total:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

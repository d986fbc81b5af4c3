"""One process of two: a model on its own device, gradients averaged over NCCL. Started by torchrun;
prints its rank and what the model came to, which all ranks have in common."""
import os

import torch
import torch.distributed as dist

STEPS = 20


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
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

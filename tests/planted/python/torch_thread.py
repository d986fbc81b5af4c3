"""PyTorch: a thread other than the main one synchronizes in its loop; clean: after it."""
import sys
import threading

import torch


def load(steps, hoisted):
    x, weight = (torch.randn(2048, 2048, device="cuda") for _ in range(2))
    for _ in range(steps):
        for _ in range(4):
            x = torch.relu(x @ weight) * 1e-2
        if not hoisted:
            torch.cuda.current_stream().synchronize()  # PLANTED: torch-sync-in-thread
    torch.cuda.synchronize()  # PLANTED: torch-sync-after-thread


thread = threading.Thread(target=load, args=(100, sys.argv[1] == "clean"))
thread.start()
thread.join()

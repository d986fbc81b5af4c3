"""Clean: torchvision's ResNet-152 serves large batches; it starts each before the answer of the one before is there."""
import json
import queue
import threading
import time

import torch
from torchvision.models import resnet152

USERS, BATCH, WARM, ROUNDS = 4, 256, 3, 16
torch.manual_seed(0)
model = resnet152().to("cuda", torch.bfloat16, memory_format=torch.channels_last).eval()
images = torch.randint(0, 256, (BATCH, 3, 224, 224), dtype=torch.uint8).pin_memory()
waiting, started, times = queue.Queue(), queue.Queue(), []


def serve():
    """Starts batches, and waits for none."""
    while True:
        batch, answer = waiting.get()
        labels = torch.empty(BATCH, dtype=torch.long, pin_memory=True)
        with torch.no_grad():
            x = batch.to("cuda", non_blocking=True).to(torch.bfloat16, memory_format=torch.channels_last)
            labels.copy_(model(x).argmax(1), non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        started.put((done, labels, answer))


def reply():
    """Answers batches in the order in which they were started."""
    while True:
        done, labels, answer = started.get()
        done.synchronize()
        answer.put(labels.tolist())


def user(rounds):
    answer = queue.Queue()
    for _ in range(rounds):
        begin = time.perf_counter()
        waiting.put((images, answer))
        answer.get()
        times.append(time.perf_counter() - begin)


def round_of_users(rounds):
    threads = [threading.Thread(target=user, args=(rounds,)) for _ in range(USERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


for part in (serve, reply):
    threading.Thread(target=part, daemon=True).start()
round_of_users(WARM)
times.clear()
start = time.perf_counter()
round_of_users(ROUNDS)
work = time.perf_counter() - start
print(json.dumps({"spent_s": None, "work_s": work, "p99_s": sorted(times)[int(len(times) * 0.99)]}))

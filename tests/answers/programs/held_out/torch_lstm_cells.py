"""A recurrent network goes through its sequence in Python, cell by cell. Cure: cuDNN's LSTM goes through it."""
import json
import sys
import time

import torch

CURE = "cure" in sys.argv
LENGTH, BATCH, WIDTH, STEPS, WARM = 200, 64, 512, 65, 5


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, 10)

    def forward(self, x):
        state = x.new_zeros(BATCH, WIDTH), x.new_zeros(BATCH, WIDTH)
        for word in x.unbind(0):
            state = self.cell(word, state)
        return self.head(state[0])


class FastReader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = torch.nn.LSTM(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, 10)

    def forward(self, x):
        return self.head(self.cells(x)[0][-1])


torch.manual_seed(0)
model = (FastReader() if CURE else Reader()).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
words = torch.randn(LENGTH, BATCH, WIDTH, device="cuda")
labels = torch.randint(0, 10, (BATCH,), device="cuda")
for k in range(STEPS):
    if k == WARM:
        torch.cuda.synchronize()
        start = time.perf_counter()
    loss = torch.nn.functional.cross_entropy(model(words), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

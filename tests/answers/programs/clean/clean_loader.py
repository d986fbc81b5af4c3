"""Clean: workers of a DataLoader stay ahead of torchvision's ResNet-50, from pinned memory."""
import json
import time

import torch
from torchvision.models import resnet50


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, i):
        return torch.full((256, 3, 224, 224), i % 9, dtype=torch.uint8), torch.full((256,), i % 10)


loader = torch.utils.data.DataLoader(Rows(), batch_size=None, num_workers=6, pin_memory=True, prefetch_factor=6)
model = resnet50(num_classes=10).to("cuda", torch.bfloat16, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
for k, (x, y) in enumerate(loader):
    if k == 5:
        torch.cuda.synchronize()
        start = time.perf_counter()
    x = x.to("cuda", non_blocking=True).to(torch.bfloat16, memory_format=torch.channels_last)
    loss = torch.nn.functional.cross_entropy(model(x), y.to("cuda", non_blocking=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

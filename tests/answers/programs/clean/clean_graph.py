"""Clean: a CUDA graph of timm's ViT is replayed, without a wait."""
import json
import time

import torch
import timm

model = timm.create_model("vit_small_patch16_224").to("cuda", torch.bfloat16).eval()
images = torch.randn(128, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
with torch.no_grad():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(images)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(images)
torch.cuda.synchronize()
start = time.perf_counter()
for _ in range(120):
    graph.replay()
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

"""Two networks of Hugging Face take turns: each is moved to the GPU, used and moved back. Cure: both stay there."""
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

CURE = "cure" in sys.argv
ROUNDS, WARM = 12, 2
torch.manual_seed(0)
reader = BertModel(BertConfig(hidden_size=1024, num_hidden_layers=10, num_attention_heads=16, intermediate_size=4096))
writer = GPT2Model(GPT2Config(n_embd=1024, n_layer=10, n_head=16))
networks = [network.to(torch.bfloat16).eval() for network in (reader, writer)]
ids = torch.randint(0, 30000, (64, 512), device="cuda")
spent = 0.0


def fetch(network):
    global spent
    begin = time.perf_counter()
    network.to("cuda")
    spent += time.perf_counter() - begin


def put_away(network):
    global spent
    begin = time.perf_counter()
    network.to("cpu")
    spent += time.perf_counter() - begin


if CURE:
    for network in networks:
        network.to("cuda")
with torch.no_grad():
    for k in range(ROUNDS):
        if k == WARM:
            torch.cuda.synchronize()
            start, spent = time.perf_counter(), 0.0
        for network in networks:
            if not CURE:
                fetch(network)
            for _ in range(3):
                state = network(ids).last_hidden_state
            if not CURE:
                put_away(network)
torch.cuda.synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

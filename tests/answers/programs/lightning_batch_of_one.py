"""Lightning's demo of a transformer, as it is shipped: a batch has one row. Cure: a batch has 30."""
import json
import os
import pathlib
import random
import sys
import tempfile
import time

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.demos.transformer import LightningTransformer, WikiText2

CURE = "cure" in sys.argv
start = 0.0


class Clock(Callback):
    def on_train_epoch_start(self, trainer, module):
        global start
        torch.cuda.synchronize()
        start = time.perf_counter()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    text = pathlib.Path("data", "wikitext-2.txt")
    text.parent.mkdir()
    text.write_text(" ".join(f"word{random.randrange(2000)}" for _ in range(20000)))
    trainer = lightning.Trainer(max_epochs=2, limit_train_batches=1 if CURE else 30, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                                accelerator="gpu", devices=1, callbacks=[Clock()])
    loader = [torch.utils.data.DataLoader(WikiText2(), batch_size=30)] if CURE else []
    trainer.fit(LightningTransformer(vocab_size=2100), *loader)
    torch.cuda.synchronize()
    print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))
    os.chdir("/")

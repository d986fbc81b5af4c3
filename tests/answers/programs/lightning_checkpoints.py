"""Lightning's demo of a transformer writes a checkpoint every second step. Cure: it writes none."""
import json
import os
import pathlib
import random
import sys
import tempfile
import time

import lightning
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.demos.transformer import LightningTransformer

CURE = "cure" in sys.argv
start = 0.0


class Clock(Callback):
    def on_train_batch_start(self, trainer, module, batch, i):
        global start
        if i == 4:
            torch.cuda.synchronize()
            start = time.perf_counter()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    text = pathlib.Path("data", "wikitext-2.txt")
    text.parent.mkdir()
    text.write_text(" ".join(f"word{random.randrange(30000)}" for _ in range(20000)))
    saver = ModelCheckpoint(dirpath=folder, every_n_train_steps=2, save_top_k=-1)
    trainer = lightning.Trainer(max_steps=44, logger=False, enable_checkpointing=not CURE, enable_progress_bar=False,
                                enable_model_summary=False, accelerator="gpu", devices=1,
                                callbacks=[Clock()] if CURE else [Clock(), saver])
    trainer.fit(LightningTransformer())
    torch.cuda.synchronize()
    print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))
    os.chdir("/")

"""Hugging Face's Trainer saves a checkpoint every third step. Cure: it saves none."""
import json
import os
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

CURE = "cure" in sys.argv
LENGTH, WARM = 128, 3
start = 0.0


class Clock(TrainerCallback):
    def on_step_end(self, args, state, control, **rest):
        global start
        if state.global_step == WARM:
            torch.cuda.synchronize()
            start = time.perf_counter()


class Rows(torch.utils.data.Dataset):
    row = {"input_ids": torch.arange(LENGTH), "attention_mask": torch.ones(LENGTH, dtype=torch.long)}

    def __len__(self):
        return 10000

    def __getitem__(self, i):
        return {**self.row, "labels": i % 2}


model = BertForSequenceClassification(BertConfig(vocab_size=1000, hidden_size=512, num_hidden_layers=4,
                                                 num_attention_heads=8, intermediate_size=2048,
                                                 max_position_embeddings=LENGTH))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=32, max_steps=33, report_to=[],
                                  logging_steps=1000, save_strategy="no" if CURE else "steps", save_steps=3,
                                  save_total_limit=1, disable_tqdm=True)
    trainer = Trainer(model=model, args=arguments, train_dataset=Rows(), callbacks=[Clock()])
    trainer.train()
    torch.cuda.synchronize()
    print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

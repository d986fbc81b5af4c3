"""Hugging Face's Trainer; a callback reads the norm of every weight after each step. Cure: no such callback."""
import json
import os
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

CURE = "cure" in sys.argv
torch.set_float32_matmul_precision("high")
LENGTH, WARM = 128, 3
start = spent = 0.0


class Norms(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **rest):
        global start, spent
        if state.global_step == WARM:
            torch.cuda.synchronize()
            start = time.perf_counter()
        begin = time.perf_counter()
        if not CURE:
            self.norms = {name: weight.norm().item() for name, weight in model.named_parameters()}
        spent += time.perf_counter() - begin


class Rows(torch.utils.data.Dataset):
    row = {"input_ids": torch.arange(LENGTH), "attention_mask": torch.ones(LENGTH, dtype=torch.long)}

    def __len__(self):
        return 10000

    def __getitem__(self, i):
        return {**self.row, "labels": i % 2}


model = BertForSequenceClassification(BertConfig(vocab_size=1000, hidden_size=512, num_hidden_layers=8,
                                                 num_attention_heads=8, intermediate_size=2048,
                                                 max_position_embeddings=LENGTH))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=64, max_steps=23, report_to=[],
                                  logging_steps=1000, save_strategy="no", disable_tqdm=True)
    trainer = Trainer(model=model, args=arguments, train_dataset=Rows(), callbacks=[Norms()])
    trainer.train()
    torch.cuda.synchronize()
    print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

"""Clean: Hugging Face's Trainer with rows that are ready, a large model in bfloat16 and a fused optimizer.

The argument `cure` has the Trainer copy its rows without waiting for each copy."""
import json
import os
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

LENGTH = 512


class Rows(torch.utils.data.Dataset):
    row = {"input_ids": torch.arange(LENGTH)}

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        return {**self.row, "labels": i % 2}


model = BertForSequenceClassification(BertConfig(vocab_size=1000, hidden_size=1536, num_hidden_layers=8,
                                                 num_attention_heads=24, intermediate_size=6144,
                                                 hidden_dropout_prob=0, attention_probs_dropout_prob=0)).bfloat16()
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=64, max_steps=24, report_to=[],
                                  logging_steps=1000, save_strategy="no", disable_tqdm=True, max_grad_norm=0,
                                  optim="adamw_torch_fused", logging_nan_inf_filter=False,
                                  accelerator_config={"non_blocking": "cure" in sys.argv})
    trainer = Trainer(model=model, args=arguments, train_dataset=Rows())
    start = time.perf_counter()
    trainer.train()
    torch.cuda.synchronize()
    print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

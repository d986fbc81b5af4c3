"""Clean: Lightning trains a large network in bfloat16 from rows of a few bytes."""
import json
import time

import lightning
import torch


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 8192), *[torch.nn.Linear(8192, 8192) for _ in range(6)])

    def training_step(self, batch, i):
        return self.net(batch[0]).float().pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=True)


rows = torch.utils.data.TensorDataset(torch.randn(8192 * 40, 16))
batches = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(rows), 8192, False)
loader = torch.utils.data.DataLoader(rows, sampler=batches, batch_size=None, pin_memory=True)
trainer = lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, accelerator="gpu", devices=1, precision="bf16-true")
start = time.perf_counter()
trainer.fit(Net(), loader)
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

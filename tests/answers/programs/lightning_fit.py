"""Lightning: every training step writes its history as JSON. Cure: it does not."""
import json
import sys
import time

import torch
import lightning

CURE = "cure" in sys.argv
spent = start = work = 0.0


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(12)])

    def training_step(self, batch, i):
        global spent
        loss = self.net(batch[0]).pow(2).mean()
        begin = time.perf_counter()
        if not CURE:
            self.text = json.dumps([{"step": k, "square": k * k} for k in range(4000)])
        spent += time.perf_counter() - begin
        self.log("loss", loss)
        return loss

    def on_train_batch_start(self, batch, i):
        global spent, start
        if i == 4:
            torch.cuda.synchronize()
            spent, start = 0.0, time.perf_counter()

    def on_train_end(self):
        global work
        torch.cuda.synchronize()
        work = time.perf_counter() - start

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)


rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64 * 250, 1024)), batch_size=64)
trainer = lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, accelerator="gpu", devices=1)
trainer.fit(Net(), rows)
print(json.dumps({"spent_s": spent, "work_s": work}))

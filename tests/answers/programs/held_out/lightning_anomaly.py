"""Lightning's search for NaN in gradients, detect_anomaly, was left on after a bug was found. Cure: it is off."""
import json
import sys
import time

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from torchvision.models import resnet50

CURE = "cure" in sys.argv
STEPS, WARM = 45, 5
start = 0.0


class Clock(Callback):
    def on_train_batch_start(self, trainer, module, batch, i):
        global start
        if i == WARM:
            torch.cuda.synchronize()
            start = time.perf_counter()


class Rows(torch.utils.data.Dataset):
    """Batches that are on the GPU already."""

    def __init__(self):
        self.images = torch.randn(32, 3, 224, 224, device="cuda")
        self.labels = torch.randint(0, 10, (32,), device="cuda")

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return self.images, self.labels


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = resnet50(num_classes=10)

    def training_step(self, batch, i):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


lightning.seed_everything(0)
loader = torch.utils.data.DataLoader(Rows(), batch_size=None)
trainer = lightning.Trainer(max_steps=STEPS, detect_anomaly=not CURE, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, accelerator="gpu", devices=1,
                            callbacks=[Clock()])
trainer.fit(Net(), loader)
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

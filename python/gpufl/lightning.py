"""A callback for Lightning that marks epochs, steps, their phases, and the wait for data.

    from gpufl.lightning import GpuFlightCallback
    trainer = Trainer(callbacks=[GpuFlightCallback()])

It opens scopes in the session that runs (gpufl.init or `gpufl trace`), and does nothing without one. Works with the
packages `lightning` and `pytorch_lightning`: with the one that the program imported, else with the one that is installed.
"""
from __future__ import annotations

import importlib
import sys
from typing import Any

from gpufl._phases import Phases

__all__ = ["GpuFlightCallback"]

_NAMES = ("lightning.pytorch", "pytorch_lightning")


def _callback() -> Any:
    for name in sorted(_NAMES, key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(name).Callback
        except ImportError as error:
            missing = error
    raise ImportError("gpufl.lightning needs Lightning: pip install lightning, or pip install pytorch_lightning") from missing


class GpuFlightCallback(_callback()):  # type: ignore[misc]
    """Scopes `epoch`, `data`, `train_step` and in a step `forward`, `backward` and `optimizer`; `validation`.

    A step is an iteration of the training loop, from on_train_batch_start on; the time between two steps is `data`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._phase = Phases()
        self._step = Phases(self._phase)
        self._epoch = Phases(self._step)

    def _end(self, *_: Any, **__: Any) -> None:
        self._epoch.close()

    on_exception = on_train_end = on_fit_end = teardown = _end

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._epoch.switch("epoch", str(trainer.current_epoch))
        self._step.switch("data")

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._epoch.close("epoch")

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._step.switch("train_step", str(trainer.global_step))
        self._phase.switch("forward")

    def on_before_zero_grad(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        self._phase.close("forward")

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        self._phase.switch("backward")

    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        self._phase.close("backward")

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        self._phase.switch("optimizer", type(optimizer).__name__)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._step.switch("data")

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._step.switch("validation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._step.close("validation")
        if self._epoch.name:
            self._step.switch("data")

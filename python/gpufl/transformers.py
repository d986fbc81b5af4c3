"""A callback for Hugging Face's Trainer that marks epochs, steps, the optimizer, and the wait for data.

    from gpufl.transformers import GpuFlightCallback
    trainer = Trainer(model=model, args=args, train_dataset=data, callbacks=[GpuFlightCallback()])

It opens scopes in the session that runs (gpufl.init or `gpufl trace`), and does nothing without one.
"""
from __future__ import annotations

from typing import Any

from gpufl._phases import Phases

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError("gpufl.transformers needs Hugging Face's transformers: pip install transformers") from error

__all__ = ["GpuFlightCallback"]

_AFTER_STEP = (("should_log", "logging"), ("should_evaluate", "evaluation"), ("should_save", "saving"))


class GpuFlightCallback(TrainerCallback):
    """Scopes `epoch`, `data`, `train_step`, and between steps `logging`, `evaluation` and `saving`.

    A step is an update of the weights, with all its accumulated batches; in it are the scopes `forward` and `backward` of the
    model, with its modules down to `depth` levels (gpufl.torch.instrument), and `optimizer`. depth None: the optimizer alone.
    """

    def __init__(self, depth: int | None = 0) -> None:
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int)):
            raise TypeError(f"GpuFlightCallback(): depth must be an int or None, not {depth!r}")
        self._depth = depth
        self._hooks: Any = None
        self._phase = Phases()
        self._step = Phases(self._phase)
        self._epoch = Phases(self._step)
        self._left: list[str] = []  # the trainer's work before the next step

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if self._depth is not None and model is not None and self._hooks is None:
            from gpufl.torch import instrument

            self._hooks = instrument(model, depth=self._depth)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._epoch.close()
        if self._hooks is not None:
            self._hooks.remove()
            self._hooks = None

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._epoch.switch("epoch", str(int(state.epoch or 0)))
        self._step.switch("data")

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._epoch.close()
        self._plan(control)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._left = []
        self._step.switch("train_step", str(state.global_step))

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._phase.switch("optimizer")

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._phase.close("optimizer")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._step.close()
        self._plan(control)

    def _plan(self, control: Any) -> None:
        self._left = [name for flag, name in _AFTER_STEP if getattr(control, flag, False)]
        self._next("")

    def _next(self, done: str) -> None:
        """Opens the next scope: the rest of the plan, then the wait for data."""
        if done in self._left:
            del self._left[: self._left.index(done) + 1]
        elif done and not self._epoch.name:
            return
        if self._left:
            self._step.switch(self._left[0])
        elif self._epoch.name:
            self._step.switch("data")
        else:
            self._step.close()

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._step.name == "logging":
            self._next("logging")

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._step.name == "evaluation":
            self._next("evaluation")

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._step.name == "saving":
            self._next("saving")

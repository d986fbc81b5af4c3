"""The callbacks of Lightning and of Hugging Face's Trainer.

If a framework is not installed, a module with the base class of its documentation replaces it, and the
test calls the callback in the framework's order; with the framework the test uses the real base class.
"""
import importlib.util
import sys
import types

import pytest
from conftest import tree

import gpufl


def stand_in(monkeypatch, module, name):
    """Replaces the module by one with an empty base class of that name, if the framework is not installed."""
    top = module.partition(".")[0]
    if importlib.util.find_spec(top) is not None:
        return
    fake = types.ModuleType(module)
    setattr(fake, name, type(name, (), {}))
    monkeypatch.setitem(sys.modules, module, fake)
    monkeypatch.delitem(sys.modules, "gpufl.lightning", raising=False)
    monkeypatch.delitem(sys.modules, "gpufl.transformers", raising=False)


class Trainer:
    current_epoch, global_step = 0, 7


def lightning_step(callback, trainer, validate=False):
    callback.on_train_batch_start(trainer, None, None, 0)
    callback.on_before_zero_grad(trainer, None, None)
    callback.on_before_backward(trainer, None, None)
    callback.on_after_backward(trainer, None)
    callback.on_before_optimizer_step(trainer, None, 5)
    callback.on_train_batch_end(trainer, None, None, None, 0)
    if validate:
        callback.on_validation_start(trainer, None)
        callback.on_validation_end(trainer, None)


STEP = ["epoch/train_step", "epoch/train_step/forward", "epoch/train_step/backward", "epoch/train_step/optimizer"]


def test_lightning(begin, log, monkeypatch):
    stand_in(monkeypatch, "pytorch_lightning", "Callback")
    callback = gpufl.lightning.GpuFlightCallback()
    trainer = Trainer()
    assert begin()
    callback.on_validation_start(trainer, None)  # the sanity check, before any epoch
    callback.on_validation_end(trainer, None)
    callback.on_train_epoch_start(trainer, None)
    lightning_step(callback, trainer)
    lightning_step(callback, trainer, validate=True)
    callback.on_train_epoch_end(trainer, None)
    callback.on_train_end(trainer, None)
    seen = log()
    assert tree(seen) == (["validation", "epoch", "epoch/data", *STEP, "epoch/data", *STEP, "epoch/data", "epoch/validation",
                           "epoch/data"])
    assert [row["tag"] for row in seen.scopes("train_step")] == ["7", "7"]
    assert [row["tag"] for row in seen.scopes("optimizer")] == ["int", "int"]


def test_lightning_after_an_exception(begin, log, monkeypatch):
    stand_in(monkeypatch, "pytorch_lightning", "Callback")
    callback = gpufl.lightning.GpuFlightCallback()
    trainer = Trainer()
    assert begin()
    callback.on_train_epoch_start(trainer, None)
    callback.on_train_batch_start(trainer, None, None, 0)
    callback.on_exception(trainer, None, ValueError())
    with gpufl.Scope("after"):
        pass
    assert tree(log()) == ["epoch", "epoch/data", "epoch/train_step", "epoch/train_step/forward", "after"]


class Control:
    should_log = should_evaluate = should_save = False


def hf_step(callback, state, **after):
    control = Control()
    callback.on_step_begin(None, state, control)
    callback.on_pre_optimizer_step(None, state, control)
    callback.on_optimizer_step(None, state, control)
    vars(control).update(after)
    callback.on_step_end(None, state, control)
    if after.get("should_log"):
        callback.on_log(None, state, control)
    if after.get("should_evaluate"):
        callback.on_log(None, state, control)  # evaluation logs its metrics, too
        callback.on_evaluate(None, state, control)
    if after.get("should_save"):
        callback.on_save(None, state, control)


def test_hugging_face(begin, log, monkeypatch):
    stand_in(monkeypatch, "transformers", "TrainerCallback")
    callback = gpufl.transformers.GpuFlightCallback(depth=None)
    state = types.SimpleNamespace(epoch=0.0, global_step=3)
    assert begin()
    callback.on_train_begin(None, state, Control())
    callback.on_epoch_begin(None, state, Control())
    hf_step(callback, state)
    hf_step(callback, state, should_log=True)
    hf_step(callback, state, should_evaluate=True, should_save=True)
    callback.on_epoch_end(None, state, Control())
    callback.on_train_end(None, state, Control())
    step = ["epoch/train_step", "epoch/train_step/optimizer"]
    assert tree(log()) == ["epoch", "epoch/data", *step, "epoch/data", *step, "epoch/logging", "epoch/data", *step,
                           "epoch/evaluation", "epoch/saving", "epoch/data"]


def test_hugging_face_evaluates_at_the_end_of_epochs(begin, log, monkeypatch):
    stand_in(monkeypatch, "transformers", "TrainerCallback")
    callback = gpufl.transformers.GpuFlightCallback(depth=None)
    state, control = types.SimpleNamespace(epoch=0.0, global_step=3), Control()
    assert begin()
    callback.on_epoch_begin(None, state, control)
    hf_step(callback, state)
    control.should_evaluate = True
    callback.on_epoch_end(None, state, control)
    callback.on_evaluate(None, state, control)
    with gpufl.Scope("after"):
        pass
    assert tree(log()) == ["epoch", "epoch/data", "epoch/train_step", "epoch/train_step/optimizer", "epoch/data",
                           "evaluation", "after"]


def test_hugging_face_with_the_models_scopes(begin, log, monkeypatch):
    torch = pytest.importorskip("torch")
    stand_in(monkeypatch, "transformers", "TrainerCallback")
    callback, model = gpufl.transformers.GpuFlightCallback(), torch.nn.Linear(2, 1)
    state = types.SimpleNamespace(epoch=0.0, global_step=0)
    assert begin()
    callback.on_train_begin(None, state, Control(), model=model)
    callback.on_epoch_begin(None, state, Control())
    callback.on_step_begin(None, state, Control())
    model(torch.ones(1, 2)).sum().backward()
    callback.on_step_end(None, state, Control())
    callback.on_train_end(None, state, Control())
    assert {"epoch/train_step/forward", "epoch/train_step/backward"} <= set(tree(log()))
    assert not model._forward_hooks
    with pytest.raises(TypeError, match="depth"):
        gpufl.transformers.GpuFlightCallback(depth="1")


@pytest.mark.parametrize("module, missing", [("torch", "torch"), ("lightning", "lightning"), ("transformers", "transformers")])
def test_without_the_framework(run, module, missing):
    run(f"""
import sys, gpufl
for name in ("torch", "lightning", "lightning.pytorch", "pytorch_lightning", "transformers"):
    sys.modules[name] = None
try:
    gpufl.{module}
except ImportError as error:
    assert "gpufl.{module} needs" in str(error) and "install" in str(error), error
else:
    raise AssertionError
""")

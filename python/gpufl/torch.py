"""Scopes for PyTorch: forward and backward passes, modules, optimizers, steps and data loading.

    import gpufl, gpufl.torch

    gpufl.init(app_name="training", profiling_engine=gpufl.ProfilingEngine.Trace)
    with gpufl.torch.instrument(model, optimizer):
        for x, y in gpufl.torch.steps(loader):
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    gpufl.shutdown()

Needs PyTorch 2.0 or later; with 1.13 a forward pass that raises leaves its scope open until the session ends.
"""
from __future__ import annotations

import functools
import os
import threading
from typing import Any, Callable, Iterator

try:
    import torch
except ImportError as error:
    raise ImportError("gpufl.torch needs PyTorch: https://pytorch.org/get-started says how to install it") from error

from gpufl._capture import Scope, active
from gpufl._lines import Lines
from gpufl._phases import Phases, steps

__all__ = ["Instrumented", "instrument", "operators", "steps"]

_lines = Lines(torch)


def _compiling() -> bool:
    """True while torch.compile reads the program: hooks must leave nothing in the compiled code."""
    return False


# Numbers of backward passes, so that a pass that raised is not taken for the next one; PyTorch 1.13 has none.
_pass_number = getattr(torch._C, "_current_graph_task_id", None)
if hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling"):
    _compiling = torch.compiler.is_compiling


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Tensors in what a module returned."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)


class _Backward:
    """The backward pass of a thread of autograd: the scope "backward", and in it the module whose turn it is.

    A module's turn begins when the gradient of its output is known and ends with the next one's: PyTorch reports
    no end of a module. Autograd calls the end of the pass on a thread of its choice, so scopes are
    left there, not ended.
    """

    def __init__(self) -> None:
        self._thread = threading.local()
        self.forwards = 0  # calls of the model; used as the number of the pass in PyTorch 1.13

    def next_forward(self) -> None:
        """A backward pass of this thread that raised ends here at the latest."""
        self.forwards += 1
        known = getattr(self._thread, "known", None)
        if known is not None and (_pass_number is None or _pass_number() < 0):
            known[1].close()

    def enter(self, name: str, tag: str, gradient: torch.Tensor) -> None:
        """The hook of a tensor; the gradient stays as it is."""
        number = self.forwards if _pass_number is None else _pass_number()
        known = self._thread.__dict__.get("known")
        if known is None or known[0] != number or not known[1].name:
            if known is not None:
                known[1].close()  # scopes of a pass that raised
            turn = Phases()
            known = self._thread.known = (number, Phases(turn), turn)
            known[1].switch("backward")
            torch.autograd.Variable._execution_engine.queue_callback(known[1].close)
        if name:
            known[2].switch(name, tag)


class Instrumented:
    """The hooks of instrument() on a model; remove() removes them. As a context manager it does so at the end."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def remove(self) -> None:
        """Removes all hooks. A second call does nothing."""
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Instrumented:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def _chosen(model: torch.nn.Module, depth: int) -> dict[str, torch.nn.Module]:
    """Modules of at most that depth below the model, which has the name ""; each object once."""
    return {name: module for name, module in model.named_modules() if not name or name.count(".") < depth}


def _hook_module(made: Instrumented, name: str, module: torch.nn.Module, backward: _Backward | None, leaf: bool) -> None:
    scope = Scope(name or "forward", type(module).__name__)
    enter, leave, caller = scope.__enter__, scope.__exit__, _lines.caller
    inner = name if leaf else ""
    turns: dict[str, Any] = {}  # by line that called: the module's turn in a backward pass

    def before(module: torch.nn.Module, arguments: Any) -> None:
        if _compiling():
            return
        if backward is not None and not name:
            backward.next_forward()
        enter()

    def after(module: torch.nn.Module, arguments: Any, output: Any) -> None:
        if _compiling():
            return
        leave(None, None, None)
        if backward is None or not active() or not torch.is_grad_enabled():
            return
        line = caller()
        turn = turns.get(line)
        if turn is None:
            turn = turns[line] = functools.partial(backward.enter, inner, line)
        for tensor in (output,) if isinstance(output, torch.Tensor) else _tensors(output):
            if tensor.requires_grad:
                tensor.register_hook(turn)

    made._undo.append(module.register_forward_pre_hook(before).remove)
    try:
        made._undo.append(module.register_forward_hook(after, always_call=True).remove)
    except TypeError:  # PyTorch 1.13
        made._undo.append(module.register_forward_hook(after).remove)


def _hook_optimizer(made: Instrumented, optimizer: torch.optim.Optimizer) -> None:
    scope = Scope("optimizer", type(optimizer).__name__)
    if hasattr(optimizer, "register_step_pre_hook"):
        level = Phases()

        def before(optimizer: Any, arguments: Any, keywords: Any) -> None:
            if not _compiling():
                level.switch(scope.name, scope.tag)

        def after(optimizer: Any, arguments: Any, keywords: Any) -> None:
            if not _compiling():
                level.close()

        made._undo.append(optimizer.register_step_pre_hook(before).remove)
        made._undo.append(optimizer.register_step_post_hook(after).remove)
        return
    step = optimizer.step

    @functools.wraps(step)
    def scoped(*arguments: Any, **keywords: Any) -> Any:
        with scope:
            return step(*arguments, **keywords)

    optimizer.step = scoped
    made._undo.append(lambda: delattr(optimizer, "step"))


def instrument(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None, *, depth: int = 1, backward: bool = True
) -> Instrumented:
    """Scopes for a model and its optimizer, with hooks of PyTorch alone: neither is changed or wrapped.

    `forward` is a call of the model, and in it each module of at most `depth` levels has a scope of its name; the tag is
    its class. `backward` is a backward pass, on the thread of autograd that runs it, and in it the module of the innermost
    level whose gradients are being computed; the tag is the line that called the module. `optimizer` is a step. Code that
    torch.compile made has no scopes inside; the call of a compiled model has one. Without a session hooks only check whether
    there is one. The result removes the hooks.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"instrument(): model must be a torch.nn.Module, not {model!r}")
    if optimizer is not None and not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"instrument(): optimizer must be a torch.optim.Optimizer, not {optimizer!r}")
    if isinstance(depth, bool) or not isinstance(depth, int):
        raise TypeError(f"instrument(): depth must be an int, not {depth!r}")
    if depth < 0:
        raise ValueError(f"instrument(): depth must be 0 or more, not {depth}")
    made = Instrumented()
    passes = _Backward() if backward else None
    chosen = _chosen(model, depth)
    parents = {name.rpartition(".")[0] for name in chosen if name}
    for name, module in chosen.items():
        _hook_module(made, name, module, passes, leaf=name not in parents)
    if optimizer is not None:
        _hook_optimizer(made, optimizer)
    return made


class operators:  # noqa: N801 - used as a function
    """A block in which operators of PyTorch are scopes: `with gpufl.torch.operators():` names kernels `aten::mm`.

    PyTorch marks its operators as NVTX ranges, which the session records (the option nvtx_ranges). Enter it before anything
    else in the process uses NVTX, or run the program under `gpufl trace`. It takes about a microsecond an operator.
    """

    def __init__(self) -> None:
        library = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "libgpufl.so.0")
        if os.path.exists(library):
            os.environ.setdefault("NVTX_INJECTION64_PATH", library)
        self._block = torch.autograd.profiler.emit_nvtx(record_shapes=False)

    def __enter__(self) -> operators:
        self._block.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._block.__exit__(*error)

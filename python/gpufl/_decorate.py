"""Scope as a decorator: functions, coroutine functions and generator functions.

A function is one scope a call. Each turn of a coroutine or a generator is a scope, from its resumption to the next await
or yield: other tasks of the thread run in between, and their launches do not belong to this function.
"""
from __future__ import annotations

import functools
import inspect
import types
from typing import Any, Callable, Generator

from gpufl._capture import Scope


def decorate(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the scope around each call of it."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(scope, function.__func__))
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"a Scope decorates functions, not {function!r}")
    if inspect.isasyncgenfunction(function):
        raise TypeError(f"a Scope cannot decorate the asynchronous generator {function.__qualname__}: use it inside")
    if scope.repeat:
        raise TypeError("a Scope with repeat is a loop, and no decorator")
    if inspect.iscoroutinefunction(function):
        return _coroutine(scope, function)
    if inspect.isgeneratorfunction(function):
        return _generator(scope, function)

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return function(*args, **kwargs)

    return scoped


def _turns(scope: Scope, inner: Any) -> Generator[Any, Any, Any]:
    """Drives a coroutine or generator, each turn in the scope; passes values and exceptions both ways."""
    step, value = inner.send, None
    while True:
        try:
            with scope:
                out = step(value)
        except StopIteration as end:
            return end.value
        try:
            step, value = inner.send, (yield out)
        except GeneratorExit:  # left before its end: its last code is a turn, too
            with scope:
                inner.close()
            raise
        except BaseException as error:  # noqa: B036 - thrown in by the caller that drives: passed on
            step, value = inner.throw, error


def _coroutine(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    turns = types.coroutine(_turns)

    @functools.wraps(function)
    async def scoped(*args: Any, **kwargs: Any) -> Any:
        return await turns(scope, function(*args, **kwargs))

    return scoped


def _generator(scope: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        return (yield from _turns(scope, function(*args, **kwargs)))

    return scoped

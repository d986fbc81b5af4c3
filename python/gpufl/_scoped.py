"""A callable of a framework, each call of it in a scope."""
from __future__ import annotations

import types

from gpufl._capture import Scope, active

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Scoped:
    """A wrapper of the callable: each call is in a scope of the callable's name, and all attributes are the callable's
    own. tag() gives the tag of a call. Launch configurations (kernel[blocks, threads]) and the methods in `ways`
    (kernel.forall) return callables that are wrapped, too. Without a session a call only checks whether there is one.
    """

    def __init__(self, inner: Any, name: str, tag: Callable[[], str], ways: tuple[str, ...] = ()) -> None:
        self.__wrapped__, self._gpufl = inner, (name, tag, ways)
        self.__doc__, self.__module__ = inner.__doc__, getattr(inner, "__module__", None)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not active():
            return self.__wrapped__(*arguments, **keywords)
        name, tag, _ = self._gpufl
        with Scope(name, tag()):
            return self.__wrapped__(*arguments, **keywords)

    def __getitem__(self, configuration: Any) -> Scoped:
        return Scoped(self.__wrapped__[configuration], *self._gpufl)

    def __getattr__(self, name: str) -> Any:
        if "_gpufl" not in self.__dict__:  # an object that is being copied
            raise AttributeError(name)
        value = getattr(self.__wrapped__, name)
        if name not in self._gpufl[2]:
            return value
        return lambda *arguments, **keywords: Scoped(value(*arguments, **keywords), *self._gpufl)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Access as a method: the instance is the first argument, as for a function."""
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"gpufl.Scoped({self.__wrapped__!r})"


def name_of(inner: Any) -> str:
    """The name of a kernel or function in its framework."""
    for name in ("__name__", "name"):
        value = getattr(inner, name, None)
        if isinstance(value, str) and value:
            return value
    return getattr(getattr(inner, "py_func", None), "__name__", "") or type(inner).__name__


def check(call: str, inner: Any) -> None:
    if not callable(inner) and not hasattr(inner, "__getitem__"):
        raise TypeError(f"{call} takes a kernel or a function, not {inner!r}")

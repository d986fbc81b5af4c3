"""Scopes that callbacks open in one call and close in another, and the scopes of a loop over batches."""
from __future__ import annotations

from gpufl._capture import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    _T = TypeVar("_T")


class Phases:
    """One level of scopes of which at most one is open: a training loop's steps, or the phases of a step.

    Leaving a scope closes it, which works on every thread. Leaving a level first closes the levels inside it.
    """

    def __init__(self, inside: Phases | None = None) -> None:
        self._open: Scope | None = None
        self._inside = inside
        self.name = ""  # of what is open

    def switch(self, name: str, tag: str | None = None) -> None:
        """Closes the open scope, and opens another."""
        if self._open is not None:
            self.close()
        scope = Scope(name, tag)
        scope.__enter__()
        self._open, self.name = scope, name

    def close(self, name: str = "") -> None:
        """Closes the open scope; with a name, only a scope of that name."""
        if name and name != self.name:
            return
        if self._inside is not None:
            self._inside.close()
        self._open, self.name = None, ""


def steps(batches: Iterable[_T], name: str = "train_step") -> Iterator[_T]:
    """The batches: waiting for one is the scope `data`, the loop's body is a scope of the name given.

    With it the report and the dashboard list steps (docs/report.md). A loop that is left early closes its scopes.
    """
    source, wait, number = iter(batches), Scope("data"), 0
    while True:
        try:
            with wait:
                batch = next(source)
        except StopIteration:
            return
        with Scope(name, str(number)):
            yield batch
        number += 1

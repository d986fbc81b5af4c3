"""Scopes that callbacks open in one call and close in another."""
from __future__ import annotations

from gpufl._capture import Scope


class Phases:
    """One level of scopes of which at most one is open: a training loop's steps, or the phases of a step.

    A scope is closed by giving it up, which works on every thread. A level that is left closes those inside it first.
    """

    def __init__(self, inside: Phases | None = None) -> None:
        self._open: Scope | None = None
        self._inside = inside
        self.name = ""  # of what is open

    def switch(self, name: str, tag: str | None = None) -> None:
        """Closes what is open, and opens another."""
        self.close()
        scope = Scope(name, tag)
        scope.__enter__()
        self._open, self.name = scope, name

    def close(self, name: str = "") -> None:
        """Closes what is open; with a name, only that."""
        if name and name != self.name:
            return
        if self._inside is not None:
            self._inside.close()
        self._open, self.name = None, ""

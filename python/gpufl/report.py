"""The report as text: what the command `gpufl report` prints.

    from gpufl.report import generate_report
    print(generate_report("logs"))
"""
from __future__ import annotations

import functools
import os
import sys
from typing import Any

from gpufl import _analysis

__all__ = ["TextReport", "generate_report"]


class TextReport:
    """The report of a GpuFlightSession, or of a folder, with all its sections; top_n rows in a table, 0: all."""

    def __init__(self, session: Any, top_n: int = 10) -> None:
        if isinstance(top_n, bool) or not isinstance(top_n, int):
            raise TypeError(f"TextReport(): top_n must be an int, not {top_n!r}")
        if top_n < 0:
            raise ValueError(f"TextReport(): top_n must be 0 or more, not {top_n}")
        self._report = session._report if hasattr(session, "_report") else functools.partial(_analysis.report, os.fspath(session))
        self._top = top_n

    def generate(self) -> str:
        """The text. Raises FileNotFoundError if there is no session, ValueError if nothing in it can be read."""
        return self._report(top=self._top, full=True)

    def print(self) -> None:
        """Writes the text to sys.stdout."""
        sys.stdout.write(self.generate())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the text to a file, as UTF-8."""
        text = self.generate()
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)


def generate_report(
    log_dir: str | os.PathLike[str],
    log_prefix: str | None = None,
    top_n: int = 10,
    output_path: str | os.PathLike[str] | None = None,
    session_id: str | None = None,
) -> str:
    """The report of the session that GpuFlightSession(log_dir, log_prefix, session_id) reads; also to output_path."""
    from gpufl.analyzer import GpuFlightSession

    report = TextReport(GpuFlightSession(log_dir, log_prefix, session_id), top_n)
    if output_path is not None:
        report.save(output_path)
    return report.generate()

"""Lines of Python: where a function begins, and which line called. A walk over the stack costs a lookup for each frame:
the module remembers by code object whether code belongs to a library, and the texts of lines.
"""
from __future__ import annotations

import contextlib
import functools
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST = 4096  # lines and code objects that are remembered; when there are more, they are forgotten


class Lines:
    """The callers of a library: frames of its folders, of this package, of Python's wrappers and of generated code
    are skipped."""

    def __init__(self, *modules: Any) -> None:
        folders = [os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in modules]
        self._folders = (_OWN, contextlib.__file__, functools.__file__, "<", *folders)
        # By id: equal code objects of two files are different. The code is kept, so that no other object gets its id.
        self._known: dict[int, tuple[bool, CodeType]] = {}
        self._texts: dict[tuple[int, int], str] = {}

    def _learn(self, code: CodeType) -> tuple[bool, CodeType]:
        if len(self._known) >= _MOST:
            self._known.clear()
            self._texts.clear()
        known = self._known[id(code)] = (code.co_filename.startswith(self._folders), code)
        return known

    def caller(self) -> str:
        """The line that called the library, "train.py:12"; "" if there is none."""
        frame, known = sys._getframe(1), self._known
        while frame is not None:
            code = frame.f_code
            inside = known.get(id(code)) or self._learn(code)
            if not inside[0]:
                key = (id(code), frame.f_lasti)
                text = self._texts.get(key)
                if text is None:
                    if len(self._texts) >= _MOST:
                        self._texts.clear()
                    text = self._texts[key] = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
                return text
            frame = frame.f_back
        return ""


def beginning(function: Any) -> str:
    """The line on which a Python function begins, "train.py:12"; "" if the function is not one of Python's."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code is not None else ""

"""Says where the native gpufl is, and how the package runs it."""
from __future__ import annotations

import os
import shutil


def command() -> str:
    """The path of the native gpufl: what GPUFL_CLI names, else the one in the package, else the one in PATH."""
    named = os.environ.get("GPUFL_CLI")
    if named:
        return named
    packaged = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "gpufl")
    if os.access(packaged, os.X_OK):
        return packaged
    found = shutil.which("gpufl")
    if not found:
        raise FileNotFoundError("the native gpufl is neither in the package nor in PATH; GPUFL_CLI may name it")
    return found

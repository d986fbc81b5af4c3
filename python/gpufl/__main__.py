"""python -m gpufl trace|report|…: replaces this process with the native gpufl."""
from __future__ import annotations

import os
import sys

from gpufl._native import command


def main() -> None:
    try:
        path = command()
    except FileNotFoundError as error:
        sys.exit(f"gpufl: {error}")
    sys.stdout.flush()
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"gpufl: {path}: {error.strerror}")


if __name__ == "__main__":
    main()

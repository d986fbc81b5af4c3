#!/usr/bin/env python3
"""Runs a notebook from top to bottom, and prints the forms in which a notebook could show the last values of its cells.

    run_notebook.py FILE.ipynb

A line `SHOWN text/html …` for each such value. The first cell that fails ends the run. Exit 77: a requirement is missing.
"""
import importlib.util
import json
import pathlib
import sys

# The table says what each notebook needs besides IPython, matplotlib and pandas.
NEEDS = {"read_a_session": (), "torch_loop": ("torch",), "jax_loop": ("jax",), "cupy_kernels": ("cupy",), "numba_kernels": ("numba",),
         "triton_kernels": ("triton",), "lightning_loop": ("pytorch_lightning",), "transformers_loop": ("transformers",)}


def missing(name):
    return [module for module in ("IPython", "matplotlib", "pandas", *NEEDS[name]) if importlib.util.find_spec(module) is None]


def main():
    path = pathlib.Path(sys.argv[1])
    if lacks := missing(path.stem):
        print(f"no {', '.join(lacks)}")
        sys.exit(77)
    from IPython.core.interactiveshell import InteractiveShell
    if path.stem == "numba_kernels":
        import numpy
        numpy.row_stack = numpy.vstack  # older releases of numba need it

    sys.path.insert(0, "")  # as in Jupyter, a notebook can import modules of its folder
    shell = InteractiveShell.instance()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            done = shell.run_cell("".join(cell["source"]), store_history=True)
            done.raise_error()
            if done.result is not None:
                print("SHOWN", *sorted(shell.display_formatter.format(done.result)[0]))


if __name__ == "__main__":
    main()

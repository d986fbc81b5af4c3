"""The programs and notebooks of examples/python, from top to bottom; those of frameworks that are not here are skipped."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PATIENCE, Log

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/python"
NEEDS = {"read_a_session": ("matplotlib",), "torch_loop": ("torch",), "jax_loop": ("jax",), "cupy_kernels": ("cupy",),
         "numba_kernels": ("numba",), "triton_kernels": ("triton",), "lightning_loop": ("pytorch_lightning",),
         "transformers_loop": ("transformers",)}
GPU = {"cupy_kernels", "triton_kernels"}

# Each cell as a notebook runs it; says which forms of its last value a notebook could show.
NOTEBOOK = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        done = shell.run_cell("".join(cell["source"]), store_history=True)
        done.raise_error()
        if done.result is not None:
            print("SHOWN", *sorted(shell.display_formatter.format(done.result)[0]))
"""


def here(name):
    """Skips what cannot run on this machine."""
    for module in NEEDS[name]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module}: tests/device/python.sh runs it on a GPU machine")
    if name in GPU and not os.path.exists("/dev/nvidiactl"):
        pytest.skip("no GPU")


def start(tmp_path, *words):
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", NUMBA_ENABLE_CUDASIM="1", IPYTHONDIR=str(tmp_path / "ipython"), MPLBACKEND="agg")
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, env=env, cwd=EXAMPLES,
                          timeout=3 * PATIENCE, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(set(NEEDS) - {"read_a_session", "torch_loop"}))  # the PyTorch loop: test_torch.py
def test_a_program(name, tmp_path):
    here(name)
    more = ["--steps", "3", "--size", "256"] if name == "numba_kernels" else []
    out = start(tmp_path, EXAMPLES / f"{name}.py", "--logs", tmp_path / "logs", *more)
    assert name in out and "train_step" in out
    names = {row["name"] for row in Log(tmp_path / "logs").scopes()}
    assert "train_step" in names and (name != "numba_kernels" or {"scale"} <= names)


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_a_notebook(name, tmp_path):
    pytest.importorskip("IPython")
    pytest.importorskip("matplotlib")
    here(name)
    shown = [line.split()[1:] for line in start(tmp_path, "-c", NOTEBOOK, EXAMPLES / f"{name}.ipynb").splitlines()
             if line.startswith("SHOWN")]
    assert any("image/png" in forms for forms in shown) and any("text/html" in forms for forms in shown), shown


def test_every_program_and_notebook_is_here():
    names = {path.stem for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    assert names == set(NEEDS)
    for path in EXAMPLES.glob("*.ipynb"):
        book = json.loads(path.read_text(encoding="utf-8"))
        assert book["nbformat"] == 4 and len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
        assert not any(cell.get("outputs") for cell in book["cells"])  # what it shows is made where it runs

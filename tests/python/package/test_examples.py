"""The programs and notebooks of examples/python, from top to bottom; those of frameworks that are not installed are skipped."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PATIENCE, Log

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from run_notebook import NEEDS  # noqa: E402

RUNNER = pathlib.Path(__file__).resolve().parents[1] / "run_notebook.py"
EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/python"
GPU = {"cupy_kernels", "triton_kernels"}


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
    shown = [line.split()[1:] for line in start(tmp_path, RUNNER, EXAMPLES / f"{name}.ipynb").splitlines()
             if line.startswith("SHOWN")]
    assert any("image/png" in forms for forms in shown) and any("text/html" in forms for forms in shown), shown


def test_every_program_and_notebook_is_here():
    names = {path.stem for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    assert names == set(NEEDS)
    for path in EXAMPLES.glob("*.ipynb"):
        book = json.loads(path.read_text(encoding="utf-8"))
        assert book["nbformat"] == 4 and len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
        assert not any(cell.get("outputs") for cell in book["cells"])  # what it shows is made where it runs

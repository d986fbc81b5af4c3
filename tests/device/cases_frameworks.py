"""PyTorch, JAX, CuPy and Numba programs."""
import json
import os
import subprocess

from lab import HERE, case, expect, ledger_closes


TORCH = """
import torch
x = torch.randn(1024, 1024, device="cuda")
for _ in range(200):
    x = torch.relu(x @ x) * 1e-3
torch.cuda.synchronize()
"""


@case
def pytorch_training(lab):
    _, _, report = lab.trace("python3", HERE.parent.parent / "bench/overhead/pytorch_step.py", "bare",
                             "--rounds", 3)
    ledger_closes(report)


@case
def torch_profiler_in_the_same_program(lab):
    program = TORCH + """
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CUDA]) as p:
    y = x @ x
    torch.cuda.synchronize()
print("events", sum(e.device_type == torch.autograd.DeviceType.CUDA for e in p.events()))
"""
    out, err, report = lab.trace("python3", "-c", program)
    ledger_closes(report)
    expect("torch.profiler" in json.dumps(report["messages"]), "we hold CUPTI and do not say so")
    out, err, report = lab.trace("python3", "-c", program, env={"GPUFL_YIELD_CUPTI": "1"})
    expect(int(out.split()[-1]) > 0, f"torch.profiler got nothing although we yield: {out} {err}")
    expect(report["ledger"]["kernels_written"] == 0, "kernels although we yield")


@case
def dataloader_workers(lab):
    program = TORCH + """
from torch.utils.data import DataLoader, TensorDataset
data = DataLoader(TensorDataset(torch.randn(512, 64)), batch_size=32, num_workers=2)
print(sum(float((b[0].cuda() ** 2).sum()) for b in data) > 0)
"""
    out, _, report = lab.trace("python3", "-c", program)
    expect("True" in out, out)
    ledger_closes(report)


@case
def torch_compile_and_cuda_graphs(lab):
    program = """
import torch
x = torch.randn(512, 512, device="cuda")
s = torch.cuda.Stream()
with torch.cuda.stream(s):
    for _ in range(3):
        y = torch.relu(x @ x).sum(0)
torch.cuda.current_stream().wait_stream(s)
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = torch.relu(x @ x).sum(0)
for _ in range(500):
    g.replay()
torch.cuda.synchronize()
"""
    _, _, report = lab.trace("python3", "-c", program)
    ledger_closes(report)


FRAMEWORKS = {
    "jax": """
import jax.numpy as n
x = n.ones((512, 512))
for _ in range(50):
    x = (x @ x) * 1e-3
x.block_until_ready()
""",
    "cupy": """
import cupy as n
x = n.ones((512, 512))
for _ in range(50):
    x = (x @ x) * 1e-3
    n.cuda.get_current_stream().synchronize()  # waits
""",
    # numba of that machine asks numpy for a name that numpy has given up
    "numba": """
import numpy as n
n.row_stack = n.vstack
from numba import cuda
@cuda.jit
def k(a):
    i = cuda.grid(1)
    a[i] += 1
a = cuda.to_device(n.zeros(1024))
for _ in range(50):
    k[4, 256](a)
    cuda.synchronize()  # waits
""",
}


def waits_stand_at_their_line(report, program, text):
    """The program's 50 waits are found at the line that its text marks."""
    marked = next(i for i, line in enumerate(text.splitlines(), 1) if line.endswith("# waits"))
    lines = report["synchronization_lines"]["lines"]
    at = [l for l in lines if l["file"] == str(program) and l["line"] == marked]
    expect(len(at) == 1 and at[0]["calls"] >= 50,
           f"{program.name}:{marked} is not named: {[(l['place'], l['calls']) for l in lines]}")


@case
def jax_cupy_numba(lab):
    quiet = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    for name, text in FRAMEWORKS.items():
        program = lab.work / f"with_{name}.py"
        program.write_text(text)
        if subprocess.run(["python3", program], capture_output=True, env={**os.environ, **quiet}).returncode:
            # not installed, or not for this driver
            print(f"      {name}: skipped, it does not run here without us either", flush=True)
            continue
        _, err, report = lab.trace("python3", program, env=quiet)
        expect(report is not None, f"{name}: no session: {err[-500:]}")
        expect(report["kernels"]["count"] >= 50, f"{name}: {report['kernels']['count']} kernels")
        ledger_closes(report)
        if "# waits" in text:
            waits_stand_at_their_line(report, program, text)

"""PyTorch, JAX, CuPy, Numba and Triton programs."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import stalls
from lab import HERE, NO_NVDISASM, Skipped, case, expect, ledger_closes, nobody_takes_code_apart


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
    bare = subprocess.run(["python3", "-c", program], capture_output=True, text=True, check=True).stdout
    out, err, report = lab.trace("python3", "-c", program)
    expect(out == bare, f"torch.profiler has other events than alone: {out}, {bare}")
    expect("cupti.handed_over" in json.dumps(report["messages"]), "CUPTI was given up, and no message says so")
    expect(report["ledger"]["kernels_written"] >= 400, f"before the profiler began: {report['ledger']}")
    out, err, report = lab.trace("python3", "-c", program, options=["--keep-cupti"])
    ledger_closes(report)
    expect("events 0" in out, f"we keep CUPTI, and torch.profiler has events: {out}")
    out, err, report = lab.trace("python3", "-c", program, env={"GPUFL_YIELD_CUPTI": "1"})
    expect(int(out.split()[-1]) > 0, f"torch.profiler got nothing although we yield: {out} {err}")
    expect(report["ledger"]["kernels_written"] is None, "kernels although we yield")


@case
def torch_profiler_three_times(lab):
    """Each profile of a program has the events that it has alone, also the second and the third profile (ADR 18)."""
    program = TORCH + """
from torch.profiler import profile, ProfilerActivity
for _ in range(3):
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for _ in range(20):
            y = x @ x
        torch.cuda.synchronize()
    print(sum(e.device_type == torch.autograd.DeviceType.CUDA for e in p.events()))
"""
    bare = subprocess.run(["python3", "-c", program], capture_output=True, text=True, check=True).stdout
    expect(all(int(n) >= 20 for n in bare.split()), f"alone: {bare.split()}")
    windows = ["-e", "PcSampling", "--option", "pc_kernel_collect=windows"]
    engines = ("Monitor", "Sync", "Trace", "PcSampling", "Deep", "SassMetrics", "PmSampling", "RangeProfiler")
    for way in (*(["-e", engine] for engine in engines), windows, ["--yield-cupti"]):
        out, _, report = lab.trace("python3", "-c", program, options=way)
        expect(out == bare, f"{way}: {out.split()} events, alone {bare.split()}")
        expect("Monitor" in way or "--yield-cupti" in way or "cupti.handed_over" in json.dumps(report["messages"]),
               f"{way}: no message says who has CUPTI: {report['messages']}")


@case
def torch_profiler_while_threads_launch(lab):
    """The program begins a profile while three other threads launch and wait: the program goes on, and either CUPTI is
    given to the program, and the profile has as many events as the main thread launches kernels, or more (the other
    threads' are in it, too), or the session says why not."""
    program = TORCH + """
import threading
from torch.profiler import profile, ProfilerActivity
over = False
def work():
    a = torch.randn(256, 256, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        while not over:
            for _ in range(50):
                b = a @ a
            torch.cuda.current_stream().synchronize()
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for _ in range(20000):
    y = x @ x
with profile(activities=[ProfilerActivity.CUDA]) as p:
    for _ in range(20):
        y = x @ x
    torch.cuda.synchronize()
over = True
for t in threads: t.join()
print(sum(e.device_type == torch.autograd.DeviceType.CUDA for e in p.events()))
"""
    for way in (["-e", "PcSampling"], ["-e", "Deep"], ["-e", "Trace"]):
        out, _, report = lab.trace("python3", "-c", program, options=way)
        said = json.dumps(report["messages"])
        print(f"      {way[1]}: {out.strip()} events, {'given to the program' if 'cupti.handed_over' in said else 'kept'}", flush=True)
        expect("cupti.kept" in said or ("cupti.handed_over" in said and int(out) >= 20), f"{way}: {out.strip()}: {said[:600]}")


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
def cuda_graphs_of_torch(lab):
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
    # numba of that machine asks numpy for a name that numpy has removed
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
    """Checks that the program's 50 waits are at the line that its text marks."""
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


# ---- code that is compiled while the program runs ----

TRITON = """
import torch
import triton
import triton.language as tl

@triton.jit
def weigh(x, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    for _ in range(STEPS):
        v = v * 0.9999 + 0.5  # works
    tl.store(x + at, v, mask=at < n)

x = torch.ones(1 << 20, device="cuda")
for _ in range(200):
    weigh[(1024,)](x, x.numel(), STEPS=20000, BLOCK=1024)
torch.cuda.synchronize()
print(float(x.double().sum()))
"""

# Each element is computed by itself: however the compiler divides the work, the result is the same.
COMPILED = """
import torch

@torch.compile(mode=MODE)
def weigh(x):
    return torch.relu(torch.sin(x) * 1.5 + x)

x = torch.linspace(-3, 3, 1 << 24, device="cuda")
for _ in range(500):
    y = weigh(x)
torch.cuda.synchronize()
print(float(y.double().sum()))
"""

NUMBA = """
import numpy as n
n.row_stack = n.vstack
from numba import cuda
@cuda.jit(lineinfo=True)
def weigh(a, steps):
    i = cuda.grid(1)
    v = a[i]
    for _ in range(steps):  # its 64-bit counter takes more instructions than one step
        v = (((v * 0.9999 + 0.5) * 0.9999 + 0.5) * 0.9999 + 0.5) * 0.9999 + 0.5  # works
    a[i] = v
a = cuda.to_device(n.ones(1024 * 256))
for _ in range(50):
    weigh[1024, 256](a, 20000)
cuda.synchronize()
print(a.copy_to_host().sum())
"""


def caches(lab, name):
    """Empty caches of the compilers."""
    return {"TRITON_CACHE_DIR": str(lab.work / name / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(lab.work / name / "inductor")}


def traced_like_bare(lab, name, text, options=()):
    """Runs the program by itself, then traced, and compiled again each time: it prints the same. Its path, and the
    report."""
    program = lab.work / name
    program.write_text(text)
    bare = subprocess.run(["python3", program], capture_output=True, text=True, cwd=lab.work, timeout=300,
                          env={**os.environ, **caches(lab, "bare")})
    if bare.returncode:
        raise Skipped(f"{name} does not run here without us either: {bare.stderr[-300:]}")
    out, _, report = lab.trace("python3", program, options=options, env=caches(lab, "traced"))
    expect(out == bare.stdout, f"it printed {out!r}, by itself {bare.stdout!r}")
    ledger_closes(report)
    return program, report


def kernels_named(report, name):
    return sum(k["count"] for k in report["kernels"]["by_name"] if name in k["symbol"])


def sampled_compiled(lab, name, text, kernel, launched):
    """Checks that the kernel has samples under its name, of no fewer launches than the program made."""
    with nobody_takes_code_apart():
        program, report = traced_like_bare(lab, name, text, ("-e", "PcSampling"))
    ran = stalls.settings(report)
    if ran.get("ran_as") != "PcSampling":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    found = sum(group["samples"] for group in report["samples"]["kernels"] if kernel in (group["symbol"] or ""))
    kernels = kernels_named(report, kernel)
    print(f"      {name}: {found} samples of {report['samples']['samples']} in {kernels} launches")
    expect(kernels >= launched, f"{kernels} launches of {kernel}, the program made {launched}")
    expect(found > 100, f"{found} samples of {kernel}")
    expect(report["ledger"]["samples_lost"] == 0, f"samples were lost: {report['ledger']}")
    return program, report


def nvdisasm():
    """Names the nvdisasm that Triton has, if there is no other."""
    triton = importlib.util.find_spec("triton")
    if shutil.which("nvdisasm") or not triton:
        return {}
    path = pathlib.Path(triton.origin).parent / "backends/nvidia/bin/nvdisasm"
    return {"GPUFL_NVDISASM": str(path)} if path.exists() else {}


def lines_of(lab, kernel, env):
    """Samples by file and line, and whether instructions have text."""
    done = subprocess.run([lab.gpufl, "report", "--json", "--kernel", kernel, lab.work / "out"], capture_output=True,
                          text=True, check=True, env={**os.environ, **env})
    code, lines = [i for function in json.loads(done.stdout)["code"] for i in function["instructions"]], {}
    for i in code:
        if i["file"] and i["line"]:
            at = pathlib.Path(i["file"]).name, i["line"]
            lines[at] = lines.get(at, 0) + i["samples"]
    return lines, any(i["text"] for i in code)


def sampled_lines(lab, kernel):
    """Samples by file and line. The code's own table and nvdisasm, if it is there, give the same."""
    ours, text = lines_of(lab, kernel, NO_NVDISASM)
    expect(not text, "the session has instructions that nobody took apart")
    theirs, text = lines_of(lab, kernel, nvdisasm())
    print(f"      {len(ours)} lines by the code's own table" + (", the same by nvdisasm" if text else ""), flush=True)
    expect(not text or ours == theirs, f"lines by the table {ours}, by nvdisasm {theirs}")
    return ours


def samples_stand_at_the_marked_line(lab, program, kernel):
    """Checks that more than a tenth of the samples are at the line that does the work."""
    lines = sampled_lines(lab, kernel)
    marked = next(i for i, line in enumerate(program.read_text().splitlines(), 1) if line.endswith("# works"))
    at = lines.get((program.name, marked), 0)
    print(f"      {at} samples of {sum(lines.values())} at {program.name}:{marked}")
    expect(at > 0.1 * sum(lines.values()) > 0, f"{program.name}:{marked} is not named: {lines}")


@case
def samples_of_a_triton_kernel(lab):
    program, report = sampled_compiled(lab, "with_triton.py", TRITON, "weigh", 200)
    expect(kernels_named(report, "weigh") == 200, "launches that the program did not make")
    samples_stand_at_the_marked_line(lab, program, "weigh")


@case
def samples_of_torch_compile(lab):
    """The kernels of torch.compile are Triton's, with the lines of the file that the compiler wrote."""
    sampled_compiled(lab, "with_compile.py", COMPILED.replace("MODE", "None"), "triton_", 500)
    lines = sampled_lines(lab, "triton_")
    expect(any(file.endswith(".py") and n > 0 for (file, _), n in lines.items()), f"no line of its code: {lines}")


@case
def torch_compile_with_cuda_graphs(lab):
    """reduce-overhead: the compiled code runs in graphs."""
    _, report = traced_like_bare(lab, "with_graphs.py", COMPILED.replace("MODE", '"reduce-overhead"'))
    kernels, launches = kernels_named(report, "triton_"), report["ledger"]["graph_launches"]
    print(f"      {kernels} kernels of compiled code, {launches} graph launches")
    expect(kernels >= 500, f"{kernels} kernels of the compiled code, which was called 500 times")
    expect(launches > 400, f"{launches} graph launches")


# Programs that share one primary context, release it or unload code in it. Each ends traced as it does alone.
NUMBA_KERNEL = """
import numpy
numpy.row_stack = numpy.vstack
from numba import cuda
@cuda.jit
def k(a): a[0] = 1
k[1, 1](cuda.to_device(numpy.zeros(2)))
"""
CUPY_KERNEL = "import cupy\n(cupy.arange(10) + 1).get()\n"
SHARED_CONTEXT = {
    "numba, then cupy": NUMBA_KERNEL + CUPY_KERNEL,
    "cupy, then numba": CUPY_KERNEL + NUMBA_KERNEL,
    "numba, modules unloaded, cupy": NUMBA_KERNEL + CUPY_KERNEL + "cuda.current_context().reset()\n" + CUPY_KERNEL,
}

# Not under SassMetrics and Deep: with CUDA 13.0 the program ends with a fault there (ADR 11).
RESET_CONTEXT = {
    "numba, reset, numba": NUMBA_KERNEL + "cuda.close()\n" + NUMBA_KERNEL,
    "numba, cupy, reset": NUMBA_KERNEL + CUPY_KERNEL + "cuda.close()\n",
}


@case
def a_context_that_is_shared_or_reset(lab):
    for name, text in {**SHARED_CONTEXT, **RESET_CONTEXT}.items():
        program = lab.work / "shared.py"
        program.write_text(text)
        alone = subprocess.run([sys.executable, program], capture_output=True, text=True)
        for engine in ("SassMetrics", "Deep", "PcSampling", "RangeProfiler", "PmSampling", "Trace", "Sync", "Monitor"):
            if name in RESET_CONTEXT and engine in ("SassMetrics", "Deep"):
                continue
            out = lab.work / "out"
            shutil.rmtree(out, ignore_errors=True)
            traced = subprocess.run([lab.gpufl, "trace", "-q", "--no-report", "-o", out, "-e", engine, "--", sys.executable,
                                     program], capture_output=True, text=True)
            expect(traced.returncode == alone.returncode,
                   f"{name}, {engine}: exit {traced.returncode}, alone {alone.returncode}: {traced.stderr[-500:]}")
            report = lab.report(out)
            counted = report["kernels"]["count"] if engine == "Trace" else \
                len({row["kernel"] for row in report["instructions"]["kernels"]}) if engine == "SassMetrics" else None
            expect(counted is None or counted > 0, f"{name}, {engine}: no kernel")
            print(f"      {name}, {engine}: exit {traced.returncode}, {counted} kernels", flush=True)


@case
def samples_of_a_numba_kernel(lab):
    program, report = sampled_compiled(lab, "with_numba.py", NUMBA, "weigh", 50)
    expect(kernels_named(report, "weigh") == 50, "launches that the program did not make")
    samples_stand_at_the_marked_line(lab, program, "weigh")

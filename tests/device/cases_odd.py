"""Situations in which other profilers were reported to lose kernels or times: each kernel is recorded once, none
before the program launched it, and no device is busy for longer than it ran."""
import gzip
import json
import os
import shutil
import subprocess

from lab import HERE, Skipped, case, expect, ledger_closes


def named_kernels_of(lab):
    """(name, start, end, stream), in ns since the epoch, of every kernel of the last trace."""
    out = lab.work / "peer"
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([lab.gpufl, "export", "--format", "gpuflight", lab.work / "out", "-o", out],
                          capture_output=True, text=True)
    expect(done.returncode == 0, f"export: {done.stderr}")
    found, names = [], {}
    for part in sorted(out.glob("*/device.*")):
        opened = gzip.open(part, "rt") if part.suffix == ".gz" else part.open()
        columns, base = None, 0
        for line in opened:
            row = json.loads(line)
            names.update(row.get("kernel_dict", {}))
            if row.get("type") != "kernel_event_batch":
                continue
            columns, base = row["columns"], row.get("base_time_ns", 0)
            start, length = columns.index("dt_ns"), columns.index("duration_ns")
            name = columns.index("kernel_id")
            stream = columns.index("stream_id") if "stream_id" in columns else None
            for cells in row["rows"]:
                begin = base + cells[start]
                found.append((names[str(cells[name])], begin, begin + cells[length],
                              cells[stream] if stream is not None else 0))
    return found


def kernels_of(lab):
    """(start, end, stream) in ns since the epoch of every kernel of the last trace."""
    return [kernel[1:] for kernel in named_kernels_of(lab)]


def in_time(lab, said, slack=100_000):
    """Checks that no kernel is before the program's first launch or after its last wait, and that no device is busy for
    longer than that."""
    kernels = kernels_of(lab)
    expect(len(kernels) == said["kernels"], f"{len(kernels)} kernels exported, {said['kernels']} launched")
    early = [k for k in kernels if k[0] < said["begin"] - slack]
    late = [k for k in kernels if k[1] > said["end"] + slack]
    expect(not early and not late, f"{len(early)} kernels before their launch, {len(late)} after the program's wait")
    expect(all(end >= start for start, end, _ in kernels), "a kernel ends before it starts")
    return kernels


def busy_at_most_all(report):
    for device in report["devices"]:
        for kind in ("compute", "any"):
            work = device[kind]
            if not work or work["busy_ns"] is None or work["first_ns"] is None:
                continue
            span = work["last_ns"] - work["first_ns"]
            expect(0 <= work["busy_ns"] <= span, f"busy {work['busy_ns']} ns of {span}")
            expect(work["idle_ns"] == span - work["busy_ns"], f"busy and idle are not the whole: {work}")
            expect(all(gap["total_ns"] >= 0 for gap in work["gaps"]), f"negative gaps: {work['gaps']}")


def overlap(lab, *arguments):
    out, _, report = lab.trace(lab.bin / "device_overlap", *arguments)
    said = json.loads(out)
    ledger_closes(report, said["kernels"])
    busy_at_most_all(report)
    return in_time(lab, said), report


def skip_where_missing(lab, *arguments):
    done = subprocess.run([lab.bin / "device_overlap", *map(str, arguments)], capture_output=True)
    if done.returncode == 7:
        raise Skipped("this device or driver has no such launches")


@case
def dependent_launches_overlap(lab):
    skip_where_missing(lab, "dependent", 1)
    kernels, _ = overlap(lab, "dependent", 2000)
    ordered = sorted(kernels)
    overlaps = sum(b[0] < a[1] for a, b in zip(ordered, ordered[1:]))
    expect(overlaps > 100, f"only {overlaps} of 2000 pairs overlap: the case shows nothing")


@case
def kernels_after_idling(lab):
    overlap(lab, "idle", 15, 5000)


@case
def windows_after_idling(lab):
    """A window that opens after 15 s without a launch has all of the launches that follow."""
    out, _, report = lab.trace(lab.bin / "device_overlap", "idle", 15, 5000, options=["--after", "10s"])
    ledger_closes(report, 5000)


@case
def green_contexts(lab):
    skip_where_missing(lab, "green", 1)
    overlap(lab, "green", 2000)


GRAPH_BEFORE = """
import json, time, torch
x = torch.randn(256, 256, device="cuda")
s = torch.cuda.Stream()
with torch.cuda.stream(s):
    for _ in range(3):
        y = torch.relu(x @ x)
torch.cuda.current_stream().wait_stream(s)
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    for _ in range(10):
        y = torch.relu(x) + 1.0
for _ in range(5):
    g.replay()
torch.cuda.synchronize()
time.sleep(4)
begin = time.time_ns()
for _ in range(200):
    g.replay()
torch.cuda.synchronize()
print(json.dumps({"kernels": 200 * 20, "begin": begin, "end": time.time_ns()}))
"""


@case
def graph_captured_before_we_begin(lab):
    """The kernels of the graph are recorded although gpufl did not see the graph made: the window opens long after."""
    out, err, report = lab.trace("python3", "-c", GRAPH_BEFORE, options=["--after", "3s"])
    said = json.loads(out)
    written = report["ledger"]["kernels_written"]
    expect(written == said["kernels"], f"{written} kernels of {said['kernels']}: {report['ledger']} {err[-600:]}")
    in_time(lab, said)


JAX = """
import json, time
import jax, jax.numpy as jnp
@jax.jit
def step(x):
    for _ in range(8):
        x = jnp.sin(x @ x) * 0.5
    return x
x = step(jnp.ones((256, 256))).block_until_ready()
begin = time.time_ns()
for _ in range(100):
    x = step(x)
x.block_until_ready()
print(json.dumps({"begin": begin, "end": time.time_ns()}))
"""


@case
def jax_with_and_without_command_buffers(lab):
    quiet = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if subprocess.run(["python3", "-c", JAX], capture_output=True, env={**os.environ, **quiet}).returncode:
        raise Skipped("JAX does not run here without us either")
    counts = {}
    for name, flags in (("with", ""), ("without", "--xla_gpu_enable_command_buffer=")):
        out, _, report = lab.trace("python3", "-c", JAX, env={**quiet, "XLA_FLAGS": flags})
        said = json.loads(out)
        ledger_closes(report)
        busy_at_most_all(report)
        counts[name] = sum(said["begin"] - 100_000 <= k[0] and k[1] <= said["end"] + 100_000 for k in kernels_of(lab))
    expect(counts["with"] == counts["without"] >= 800, f"kernels with and without command buffers: {counts}")


@case
def optax_of_jax(lab):
    """XLA puts a gradient with products of cuBLAS and copies into one graph: five runs end as alone."""
    program = HERE.parent / "answers/programs/optax_eager.py"
    flags = {"XLA_FLAGS": "--xla_gpu_enable_triton_gemm=false"}
    if subprocess.run(["python3", program], capture_output=True, env={**os.environ, **flags}).returncode:
        raise Skipped("JAX or optax does not run here without us either")
    for _ in range(5):
        _, _, report = lab.trace("python3", program, env=flags)
        ledger_closes(report)


TRITON = """
import json, time, importlib.util, pathlib, sys, torch
text = "import triton\\nimport triton.language as tl\\n" + "".join(f'''
@triton.jit
def kernel_{i}(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n, other=0.0) + {i}.0, mask=at < n)
''' for i in range(300))
path = pathlib.Path("many_kernels.py")
path.write_text(text)
spec = importlib.util.spec_from_file_location("many_kernels", path)
many = importlib.util.module_from_spec(spec)
sys.modules["many_kernels"] = many
spec.loader.exec_module(many)
x = torch.zeros(4096, device="cuda")
launched = {}
for i in range(300):
    for _ in range(4):
        launched.setdefault(f"kernel_{i}", []).append(time.time_ns())
        getattr(many, f"kernel_{i}")[(16,)](x, x.numel(), BLOCK=256)
torch.cuda.synchronize()
print(json.dumps({"sum": float(x[0]), "launched": launched, "end": time.time_ns()}))
"""


@case
def three_hundred_triton_kernels(lab):
    if subprocess.run(["python3", "-c", "import triton, torch"], capture_output=True).returncode:
        raise Skipped("Triton is not here")
    env = {"TRITON_CACHE_DIR": str(lab.work / "triton")}
    out, _, report = lab.trace("python3", "-c", TRITON, env=env)
    said = json.loads(out)
    expect(said["sum"] == 4 * sum(range(300)), f"another result: {said['sum']}")
    ledger_closes(report)
    mine = {r["name"]: r["count"] for r in report["kernels"]["by_name"] if r["name"].startswith("kernel_")}
    expect(len(mine) == 300 and set(mine.values()) == {4}, f"{len(mine)} kernels, counts {sorted(set(mine.values()))}")
    begun = {name: [] for name in said["launched"]}
    for name, start, end, _ in named_kernels_of(lab):
        if name in begun:
            begun[name].append(start)
            expect(end <= said["end"] + 100_000, f"{name} ends after the program's wait")
    for name, launches in said["launched"].items():
        starts = sorted(begun[name])
        early = [launch - start for launch, start in zip(launches, starts) if start < launch - 100_000]
        expect(len(starts) == len(launches) and not early, f"{name}: {len(starts)} starts, ns before their launch: {early}")


ADD_SCALED = """
import torch, triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def add_scaled(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = at < n
    tl.store(out + at, tl.load(x + at, m) + 2 * tl.load(y + at, m), m)

def gelu_of(a, b):
    return torch.nn.functional.gelu(a * 2 + b).sum(dim=1)

x = torch.randn(1 << 24, device="cuda")
out = torch.empty_like(x)
compiled = torch.compile(gelu_of)
for i in range(200):
    add_scaled[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x, out, x.numel())
    compiled(x.view(4096, 4096), out.view(4096, 4096))
torch.cuda.synchronize()
"""


@case
def triton_kernels_have_their_lines(lab):
    if subprocess.run(["python3", "-c", "import triton, torch"], capture_output=True).returncode:
        raise Skipped("Triton is not here")
    program = lab.work / "add_scaled.py"
    program.write_text(ADD_SCALED)
    env = {"TRITON_CACHE_DIR": str(lab.work / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(lab.work / "torchinductor_x")}
    _, _, report = lab.trace("python3", program, env=env)
    ledger_closes(report)
    lines = ADD_SCALED.split("\n")
    places = {r["name"]: r["defined"] for r in report["kernels"]["by_name"]}
    at = places.get("add_scaled")
    expect(at and at["file"] == str(program), f"add_scaled is defined at {at}")
    expect(lines[at["line"] - 1].startswith("def add_scaled("), f"line {at['line']} is not its function")
    compiled = {name: at for name, at in places.items() if name.startswith("triton_")}
    expect(compiled and all(compiled.values()), f"kernels of torch.compile are defined at {compiled}")
    for name, at in compiled.items():
        text = open(at["file"]).read().split("\n")[at["line"] - 1]
        expect(text.startswith(f"def {name}("), f"{name} is not at {at}: {text[:80]}")

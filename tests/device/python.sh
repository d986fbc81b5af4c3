#!/bin/bash
# python.sh BUILD [WHEEL-FOLDER]: the Python package on a real GPU. BUILD has bin/ and lib/. PASS, FAIL, SKIP and FIGURE lines; rc 1 if any FAIL.
build=$(realpath "$1"); here=$(cd "$(dirname "$0")" && pwd)
wheel=
for folder in "$2" "$here" "$here/.gpu-python" ./.gpu-python "$build" "$build/.." "$build/../.gpu-python"; do
    for file in "$folder"/gpufl-*.whl; do [ -f "$file" ] && [ -z "$wheel" ] && wheel=$(realpath "$file"); done
done
[ -n "$wheel" ] || { echo "FAIL no wheel found"; exit 1; }
work=$(mktemp -d); export OUTDIR=${OUT:-$work/out}; mkdir -p "$OUTDIR" "$work/site"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
begin=$SECONDS
python3 -m pip install -q --no-index --no-deps --no-compile --disable-pip-version-check --target "$work/site" "$wheel" 2>"$work/pip.err" \
  && echo "PASS pip install --no-index $(basename "$wheel")" || { echo "FAIL pip install"; cat "$work/pip.err"; exit 1; }
export PYTHONPATH=$work/site PYTHONUNBUFFERED=1 XLA_PYTHON_CLIENT_PREALLOCATE=false HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
cat > common.py <<'PY'
import collections, os, sys, traceback
import numpy
import gpufl
from gpufl.analyzer import GpuFlightSession
LOGS = sys.argv[1]
def check(name, good, more=""):
    print(("PASS" if good else "FAIL"), name, more, flush=True)
def column(session, table, name):
    c = session._session.column(table, name)
    cells = numpy.asarray(c).tolist()
    return [None if i < 0 else c.texts[i] for i in cells] if c.kind == "text" else cells
def scopes(session):
    return collections.Counter(column(session, "scope_events", "name"))
def start(name, **more):
    import torch
    backend = gpufl.BackendKind.Auto if torch.cuda.is_available() else gpufl.BackendKind.Sim
    return gpufl.session(app_name=name, log_path=LOGS, backend=backend, profiling_engine=gpufl.ProfilingEngine.Trace, upload=False, **more)
def device():
    import torch
    return "cuda" if torch.cuda.is_available() else "cpu"
PY
cat > loop.py <<'PY'
from common import *
import torch, gpufl.torch
from torch import nn
dev = device()
with start("torch_loop") as s:
    check("session begins", s.active, s.dir)
    model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(inplace=True), nn.Linear(2048, 64)).to(dev)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.utils.data.DataLoader(torch.randn(40 * 64, 1024), batch_size=64, num_workers=2)
    with gpufl.torch.instrument(model, optimizer):
        for x in gpufl.torch.steps(data):
            x = x.to(dev)
            with gpufl.Scope("loss"):
                loss = model(x).square().mean()
            loss.backward(); optimizer.step(); optimizer.zero_grad()
            loss.item()
session = GpuFlightSession(LOGS)
n = scopes(session)
check("scopes of 40 steps", all(n[k] == 40 for k in ("train_step", "forward", "loss", "backward", "optimizer")), dict(n))
check("modules forward and backward", n["0"] == n["2"] == 80, (n["0"], n["2"]))
tags = {t for k, t in zip(column(session, "scope_events", "name"), column(session, "scope_events", "tag")) if k == "2"}
check("backward names the line that called the module", any(t and t.startswith("container.py:") or t and "loop.py:" in t for t in tags), tags)
where = collections.Counter(column(session, "kernels", "user_scope"))
print("kernels by scope:", dict(where.most_common(12)))
gpu = dev == "cuda"
check("kernels of the GPU", len(session._session.column("kernels", "start_ns")) > 400 or not gpu, sum(where.values()))
check("optimizer's kernels are in its scope", where["optimizer"] > 0 or not gpu)
check("backward's kernels are in modules of the backward pass", where["backward"] + where["0"] + where["2"] > where["forward"] or not gpu)
steps = session.answer["steps"]
check("report: steps by scope", steps["by"] == "scope" and steps["count"] in (39, 40) or not gpu, (steps["by"], steps["count"], steps["why"]))
text = gpufl.report.generate_report(LOGS)
open(os.path.join(os.environ["OUTDIR"], "report.txt"), "w").write(text)
check("generate_report", "torch_loop" in text)
print("\n".join(text.splitlines()[:14]))
try:
    import pandas
except ImportError:
    print("SKIP frames: no pandas")
else:
    k = session.kernels
    check("frame of kernels", len(k) == sum(where.values()) and str(k.duration_ns.dtype) == "int64" and (k.end_ns >= k.start_ns).all(), k.shape)
    print(k.groupby("user_scope", observed=True).duration_ns.sum().sort_values(ascending=False).head(8).to_string())
    idle = getattr(session, "idle", None)
    if idle is not None:
        print(idle.head(8).to_string())
try:
    import pyarrow
except ImportError:
    print("SKIP arrow: no pyarrow")
else:
    check("pyarrow takes the stream", pyarrow.table(session.arrow("kernels")).num_rows == sum(where.values()))
if len(sys.argv) > 2: print(open("/dev/null").read(), end="")
PY
cat > compiled.py <<'PY'
from common import *
import torch, gpufl.torch
from torch import nn
if not hasattr(torch, "compiler"):
    print("SKIP compile: PyTorch 1"); sys.exit()
dev = device()
with start("compiled"):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).to(dev)
    x = torch.randn(8, 64, device=dev)
    bare = model(x).sum().item()
    with gpufl.torch.instrument(model):
        from torch._dynamo.utils import counters
        fast = torch.compile(model, backend="aot_eager")
        for _ in range(5):
            out = fast(x).sum()
            out.backward()
        check("torch.compile: same result", abs(out.item() - bare) < 1e-4, (out.item(), bare))
        check("torch.compile: no graph break", not counters["graph_break"], dict(counters["graph_break"]))
    if dev == "cuda":
        with gpufl.torch.instrument(model), torch.no_grad():
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    model(x)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = model(x)
            for _ in range(10):
                graph.replay()
            torch.cuda.synchronize()
            check("CUDA graph: same result", abs(y.sum().item() - bare) < 1e-3)
session = GpuFlightSession(LOGS)
check("compiled and captured: the session reads", len(session._session.column("scope_events", "name")) > 0, dict(scopes(session)))
PY
cat > operators.py <<'PY'
from common import *
import torch, gpufl.torch
dev = device()
with start("operators"):
    a = torch.randn(512, 512, device=dev, requires_grad=True)
    if dev == "cuda":
        with gpufl.torch.operators():
            for _ in range(5):
                (a @ a).relu().sum().backward()
            torch.cuda.synchronize()
session = GpuFlightSession(LOGS)
where = collections.Counter(column(session, "kernels", "user_scope"))
names = [k for k in where if k and "aten::" in k]
check("operators: kernels are named by PyTorch's operators", bool(names) or dev == "cpu", dict(where.most_common(8)))
PY
cat > pl.py <<'PY'
from common import *
import logging, warnings
warnings.filterwarnings("ignore")
try:
    import pytorch_lightning as lightning
except ImportError as error:
    print("SKIP Lightning:", error); sys.exit()
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
import torch, gpufl.lightning
class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__(); self.net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    def training_step(self, batch, index): return self.net(batch[0]).square().mean()
    def validation_step(self, batch, index): self.net(batch[0])
    def configure_optimizers(self): return torch.optim.Adam(self.parameters())
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16 * 32, 256)), batch_size=32)
with start("lightning") as s:
    trainer = lightning.Trainer(max_epochs=2, accelerator="gpu" if device() == "cuda" else "cpu", devices=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=1, callbacks=[gpufl.lightning.GpuFlightCallback()])
    trainer.fit(Net(), data, data)
session = GpuFlightSession(LOGS)
n = scopes(session)
check("Lightning: 32 steps with their phases", all(n[k] == 32 for k in ("train_step", "forward", "backward", "optimizer")), dict(n))
check("Lightning: epochs, data, validation", n["epoch"] == 2 and n["data"] >= 32 and n["validation"] >= 2)
steps = session.answer["steps"]
check("Lightning: report's steps by scope", steps["by"] == "scope" and steps["count"] in (31, 32) or device() == "cpu", (steps["by"], steps["count"], steps["why"]))
where = collections.Counter(column(session, "kernels", "user_scope")); print("kernels by scope:", dict(where.most_common(8)))
PY
cat > hf.py <<'PY'
from common import *
import warnings
warnings.filterwarnings("ignore")
try:
    import transformers
    from transformers import Trainer, TrainingArguments
except ImportError as error:
    print("SKIP Hugging Face:", error); sys.exit()
import torch, gpufl.transformers
transformers.logging.set_verbosity_error()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    def forward(self, x=None, labels=None):
        y = self.net(x)
        return {"loss": (y.squeeze(-1) - labels).square().mean(), "logits": y}
data = [{"x": torch.randn(256), "labels": torch.tensor(1.0)} for _ in range(160)]
with start("hf") as s:
    args = TrainingArguments(output_dir="hf-out", max_steps=20, per_device_train_batch_size=8, report_to=[], save_strategy="no", logging_steps=5,
                             eval_strategy="steps", eval_steps=10, disable_tqdm=True)
    Trainer(model=Net(), args=args, train_dataset=data, eval_dataset=data[:16], callbacks=[gpufl.transformers.GpuFlightCallback()]).train()
session = GpuFlightSession(LOGS)
n = scopes(session)
check("Hugging Face: 20 steps with their phases", all(n[k] == 20 for k in ("train_step", "backward", "optimizer")) and n["forward"] >= 20, dict(n))
check("Hugging Face: data, logging, evaluation, epoch", n["data"] >= 19 and n["logging"] == 4 and n["evaluation"] == 2 and n["epoch"] >= 1)
steps = session.answer["steps"]
check("Hugging Face: report's steps by scope", steps["by"] == "scope" and steps["count"] in (19, 20) or device() == "cpu", (steps["by"], steps["count"], steps["why"]))
where = collections.Counter(column(session, "kernels", "user_scope")); print("kernels by scope:", dict(where.most_common(8)))
PY
cat > jaxed.py <<'PY'
import sys
import gpufl
from common import *
try:
    import jax, jax.numpy as jnp
except ImportError as error:
    print("SKIP JAX:", error); sys.exit()
with gpufl.session(app_name="jax", log_path=LOGS, profiling_engine=gpufl.ProfilingEngine.Trace, upload=False) as s:
    @jax.jit
    def my_step(x): return jnp.sin(x @ x).sum()
    x = jnp.ones((512, 512))
    with gpufl.Scope("jax_loop"):
        for _ in range(10): my_step(x).block_until_ready()
session = GpuFlightSession(LOGS)
count = len(session._session.column("kernels", "start_ns"))
where = collections.Counter(column(session, "kernels", "user_scope"))
check("JAX: kernels in the scope", count >= 10 and where["jax_loop"] >= 10, (count, dict(where)))
PY
cat > jaxfn.py <<'PY'
from common import *
try:
    import jax, jax.numpy as jnp
except ImportError as error:
    print("SKIP JAX:", error); sys.exit()
import gpufl.jax
@gpufl.jax.jit
def scoped_step(x): return jnp.sin(x @ x).sum()
with gpufl.session(app_name="jaxfn", log_path=LOGS, profiling_engine=gpufl.ProfilingEngine.Trace, upload=False):
    for x in gpufl.jax.steps([jnp.ones((512, 512))] * 9 + [jnp.ones((256, 256))]):
        scoped_step(x).block_until_ready()
session = GpuFlightSession(LOGS)
n = scopes(session)
check("gpufl.jax: a scope for each call, two traces", n["scoped_step"] == 10 and n["trace scoped_step"] == 2, dict(n))
where = collections.Counter(column(session, "kernels", "user_scope"))
check("gpufl.jax: kernels are in the function's scope", where["scoped_step"] >= 10, dict(where))
tags = {t for k, t in zip(column(session, "scope_events", "name"), column(session, "scope_events", "tag")) if k == "scoped_step"}
check("gpufl.jax: the line that called", len(tags) == 1 and all(t.startswith("jaxfn.py:") for t in tags), tags)
PY
cat > cupied.py <<'PY'
from common import *
try:
    import cupy
except ImportError as error:
    print("SKIP CuPy:", error); sys.exit()
import gpufl.cupy
square = gpufl.cupy.scoped(cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square"))
with gpufl.session(app_name="cupied", log_path=LOGS, profiling_engine=gpufl.ProfilingEngine.Trace, upload=False), gpufl.cupy.instrument():
    for _ in range(20):
        y = square(cupy.ones(1 << 20, dtype=cupy.float32))
    cupy.cuda.Device().synchronize()
session = GpuFlightSession(LOGS)
n = scopes(session)
check("CuPy: a scope for each call, and the pool's allocations", n["square"] == 20 and n["cupy_alloc"] >= 1, dict(n))
where = collections.Counter(column(session, "kernels", "user_scope"))
check("CuPy: kernels are in the scope", where["square"] >= 20, dict(where))
PY
cat > numbaed.py <<'PY'
from common import *
numpy.row_stack = numpy.vstack  # what older releases of numba ask of numpy
try:
    import numba
    from numba import cuda
except ImportError as error:
    print("SKIP Numba:", error); sys.exit()
import gpufl.numba
@gpufl.numba.scoped
@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size: x[i] *= factor
with gpufl.session(app_name="numbaed", log_path=LOGS, profiling_engine=gpufl.ProfilingEngine.Trace, upload=False), gpufl.numba.instrument():
    x = cuda.to_device(numpy.ones(1 << 16, numpy.float32))
    for _ in range(10): scale[512, 128](x, 0.5)
    scale.forall(1 << 16)(x, 2.0)
    check("Numba: same result", x.copy_to_host()[0] == 0.5 ** 9)
session = GpuFlightSession(LOGS)
n = scopes(session)
check("Numba: a scope for each launch, and compiling", n["scale"] == 11 and n["numba_compile"] >= 1, dict(n))
where = collections.Counter(column(session, "kernels", "user_scope"))
check("Numba: kernels are in the scope", where["scale"] == 11, dict(where))
PY
cat > tritoned.py <<'PY'
from common import *
try:
    import torch, triton, triton.language as tl
except ImportError as error:
    print("SKIP Triton:", error); sys.exit()
if not torch.cuda.is_available(): print("SKIP Triton: no GPU"); sys.exit()
import gpufl.triton
@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < count) + tl.load(y + at, mask=at < count), mask=at < count)
with start("tritoned"), gpufl.triton.instrument() as block:
    x = torch.ones(1 << 16, device="cuda")
    for _ in range(10): add[(64,)](x, x, x, x.numel(), BLOCK=1024)
    torch.cuda.synchronize()
    block.remove()
    add[(64,)](x, x, x, x.numel(), BLOCK=1024)
session = GpuFlightSession(LOGS)
n = scopes(session)
check("Triton: a scope for each launch until the hooks are off", n["add"] == 10, dict(n))
tags = {t for k, t in zip(column(session, "scope_events", "name"), column(session, "scope_events", "tag")) if k == "add"}
check("Triton: file and line of the function", all(t and t.startswith("tritoned.py:") for t in tags), tags)
where = collections.Counter(column(session, "kernels", "user_scope"))
check("Triton: kernels are in the scope", where["add"] == 10, dict(where))
PY
cat > roofed.py <<'PY'
from common import *
import torch
if device() != "cuda": print("SKIP roofline: no GPU"); sys.exit()
with gpufl.session(app_name="roofed", log_path=LOGS, profiling_engine=gpufl.ProfilingEngine.RangeProfiler, range_mode="kernels",
                   counter_metrics="roofline", upload=False):
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.float64)
    (a @ a).relu().sum().item()
session = GpuFlightSession(LOGS)
try:
    import duckdb
except ImportError:
    print("SKIP sql: no duckdb")
else:
    check("session.sql counts kernels", session.sql("select count(*) as n from counters where kernel is not null").n[0] > 0)
try:
    import matplotlib, pandas
except ImportError as error:
    print("SKIP roofline:", error); sys.exit()
import gpufl.viz
points = gpufl.viz.roofline_points(session)
check("roofline: kernels with arithmetic and traffic", (points.flops > 0).any() and (points.bytes > 0).any(), points.head(3).to_dict("records"))
gpufl.viz.roofline(session).savefig(os.path.join(os.environ["OUTDIR"], "roofline.png"))
PY
cat > toggle.py <<'PY'
from common import *
import statistics, time, torch, gpufl.torch
from torch import nn
dev = device()
block = lambda: nn.Sequential(nn.LayerNorm(512), nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))
with start("toggle"):
    model = nn.Sequential(*[block() for _ in range(6)]).to(dev)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(256, 512, device=dev)
    sync = torch.cuda.synchronize if dev == "cuda" else (lambda: None)
    def turn(count=20):
        sync(); begin = time.perf_counter()
        for _ in range(count):
            model(x).square().mean().backward(); optimizer.step(); optimizer.zero_grad()
        sync(); return (time.perf_counter() - begin) / count
    turn(); turn()
    off, on = [], []
    for _ in range(int(os.environ.get("ROUNDS", "31"))):
        off.append(turn())
        with gpufl.torch.instrument(model, optimizer):
            on.append(turn())
    ratios = sorted(b / a for a, b in zip(off, on))
print("FIGURE instrument: step %.3f ms without, %.3f ms with (medians of %d turns of 20 steps, in turn); ratio %.4f [%.4f, %.4f]" % (
    1e3 * statistics.median(off), 1e3 * statistics.median(on), len(off), statistics.median(ratios), ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]))
PY
NAMES="loop compiled operators pl hf jaxed jaxfn cupied numbaed tritoned roofed"
for name in $NAMES; do ( timeout 70 python3 $name.py "$work/logs-$name" >$name.out 2>$name.err; echo $? >$name.rc ) & done; wait
for name in $NAMES; do
    echo "== $name"; cat $name.out
    [ "$(cat $name.rc)" = 0 ] || { echo "FAIL $name ended with $(cat $name.rc)"; tail -15 $name.err; }
done >all.txt
examples=$here/../../examples/python
for book in "$examples"/*.ipynb; do
    name=$(basename "$book" .ipynb)
    (cd "$examples" && IPYTHONDIR=$work/ipython-$name MPLBACKEND=agg timeout 200 python3 "$here/../python/run_notebook.py" "$book" \
        >"$work/$name.book.out" 2>"$work/$name.book.err"; echo $? >"$work/$name.book.rc") &
done; wait
for book in "$examples"/*.ipynb; do
    name=$(basename "$book" .ipynb); rc=$(cat "$name.book.rc"); echo "== notebook $name"
    if [ "$rc" = 77 ]; then echo "SKIP notebook $name: $(cat "$name.book.out")"
    elif [ "$rc" = 0 ] && grep -q "^SHOWN.*image/png" "$name.book.out" && grep -q "^SHOWN.*text/html" "$name.book.out"; then echo "PASS notebook $name, from top to bottom"
    else echo "FAIL notebook $name ended with $rc"; tail -n 8 "$name.book.out" "$name.book.err"; fi
done >>all.txt
( echo "== toggle"; timeout 30 python3 toggle.py "$work/logs-toggle" 2>toggle.err || { echo "FAIL toggle"; tail -8 toggle.err; } ) >>all.txt
"$work/site/gpufl/bin/gpufl" report "$work/logs-loop" >cli.out 2>&1 && grep -q torch_loop cli.out && echo "PASS the wheel's own gpufl reports" >>all.txt || echo "FAIL the wheel's gpufl" >>all.txt
"$build/bin/gpufl" report "$work/logs-loop" 2>/dev/null | cmp -s - cli.out && echo "PASS the build's gpufl says the same" >>all.txt || echo "NOTE the build has another report text than the wheel" >>all.txt
cat all.txt; cp all.txt "$OUTDIR/python-device.txt"
echo "took $((SECONDS - begin)) s: $(grep -c ^PASS all.txt) passed, $(grep -c ^FAIL all.txt) failed, $(grep -c ^SKIP all.txt) skipped"
! grep -q ^FAIL all.txt

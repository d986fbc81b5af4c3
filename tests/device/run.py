#!/usr/bin/env python3
"""Tests on a machine with a GPU: real programs under `gpufl trace`, the session
compared with what the program says it did.

    tests/device/run.py [--build DIR] [--only NAME,...] [--keep DIR]

Each case is a function; it returns nothing, raises Failed, or raises Skipped.
Closes with "N passed, N failed, N skipped". Exit 1 when one failed.
"""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import counters
import counts
import stalls

HERE = pathlib.Path(__file__).resolve().parent
cases = []


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def case(function):
    cases.append(function)
    return function


def expect(condition, text):
    if not condition:
        raise Failed(text)


class Lab:
    """Where the binaries are, and one temporary directory a case."""

    def __init__(self, build, work):
        self.bin = build / "bin"
        self.gpufl = self.bin / "gpufl"
        self.programs = self.bin / "device_programs"
        self.context = self.bin / "device_context"
        self.work = work

    def trace(self, *command, options=(), code=0, env=None, prefix=()):
        """Runs a command traced; returns (stdout, stderr, report or None)."""
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([*map(str, prefix), str(self.gpufl), "trace", "-o", str(out), *map(str, options), "--",
                               *map(str, command)], capture_output=True, text=True, cwd=self.work,
                              env={**os.environ, **(env or {})}, timeout=300)
        expect(done.returncode == code, f"exit code {done.returncode}, expected {code}: {done.stderr[-1500:]}")
        return done.stdout, done.stderr, self.report(out)

    def report(self, path):
        done = subprocess.run([str(self.gpufl), "report", "--json", str(path)], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None


def ledger_closes(report, kernels=None):
    l = report["ledger"]
    launched = l["launches"] + l["graph_kernels"]
    expect(l["graph_unknown"] == 0, f"graph launches of unknown size: {l['graph_unknown']}")
    expect(launched == l["kernels_recorded"] == l["kernels_written"],
           f"launched {launched}, recorded {l['kernels_recorded']}, written {l['kernels_written']}: {l}")
    if kernels is not None:
        expect(l["kernels_written"] == kernels, f"{l['kernels_written']} kernels written, the program ran {kernels}")
    for loss in ("lost_driver", "lost_pool", "lost_time", "lost_spool", "lost_memory", "joins_lost", "scopes_lost"):
        expect(l[loss] == 0, f"{loss} = {l[loss]}")


# -- correctness -------------------------------------------------------------------------


@case
def occupancy_equals_the_runtime(lab):
    done = subprocess.run([lab.bin / "device_occupancy"], capture_output=True, text=True)
    expect(done.returncode == 0, done.stdout)


@case
def every_launch_of_8_threads(lab):
    out, _, report = lab.trace(lab.programs, "threads", 8, 20000)
    ledger_closes(report, json.loads(out)["kernels"])


@case
def copies_by_kind_to_the_byte(lab):
    out, _, report = lab.trace(lab.programs, "copies")
    want = json.loads(out)
    got = {kind: row["bytes"] for kind, row in report["copies"]["by_kind"].items()}
    got["fill"] = report["fills"]["bytes"]
    for kind, name in (("HtoD", "htod"), ("DtoH", "dtoh"), ("DtoD", "dtod"), ("fill", "memset")):
        expect(got.get(kind, 0) == want[name], f"{kind}: {got.get(kind)} bytes, the program moved {want[name]}")


@case
def graphs_are_counted_by_node(lab):
    out, _, report = lab.trace(lab.programs, "graphs")
    want = json.loads(out)
    ledger_closes(report, want["kernels"])
    expect(report["ledger"]["graph_launches"] == want["graph_launches"], "graph launches differ")


@case
def contexts_and_streams(lab):
    out, _, report = lab.trace(lab.programs, "many")
    ledger_closes(report, json.loads(out)["kernels"])


@case
def static_and_shared_cudart_alike(lab):
    for name in ("train_loop", "train_loop_shared"):
        _, _, report = lab.trace(lab.bin / name, "--steps", 200)
        ledger_closes(report)
        expect(report["ledger"]["kernels_written"] == 200 * 10, f"{name}: {report['ledger']['kernels_written']} kernels")
        scopes = json.dumps(report["scopes"])
        for scope in ("training", "train_step", "forward", "backward", "optimizer_step"):
            expect(scope in scopes, f"{name}: no scope {scope}")


# -- unkind endings ----------------------------------------------------------------------


@case
def a_faulting_program_keeps_its_error_and_exit_code(lab):
    out, _, report = lab.trace(lab.programs, "fault", code=3)
    expect("illegal" in json.loads(out)["error"], out)
    ledger = report["ledger"]
    expect(ledger["kernels_written"] >= 100, "the kernels before the fault are missing")
    # CUPTI cannot read the times of what was under way from a context that is gone.
    expect(ledger["kernels_written"] + ledger["lost_time"] == ledger["launches"], f"the ledger: {ledger}")


@case
def underscore_exit(lab):
    _, _, report = lab.trace(lab.programs, "exit", code=5)
    expect(report is not None, "no session")


@case
def abort_is_passed_through(lab):
    lab.trace(lab.programs, "abort", code=128 + signal.SIGABRT)


@case
def exit_while_threads_launch(lab):
    """Launching while the runtime is being torn down may crash a program by itself: no more often with us."""
    bare = {subprocess.run([lab.programs, "late"], capture_output=True).returncode for _ in range(10)}
    for _ in range(10):
        out = lab.work / "late"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([lab.gpufl, "trace", "--no-report", "-o", out, "--", lab.programs, "late"],
                              capture_output=True)
        code = 128 - min(bare) if done.returncode == 128 - min(bare) else 0
        expect(done.returncode in (0, code), f"exit code {done.returncode}; bare it ends with {sorted(bare)}")
        expect(lab.report(out)["ledger"]["kernels_written"] > 0, "nothing written")


@case
def fork_gives_a_session_each(lab):
    out, _, report = lab.trace(lab.programs, "fork")
    want = json.loads(out)
    expect(want["child_status"] == 0, f"the child failed: {want}")
    expect(len(report["sessions"]) == 2, f"{len(report['sessions'])} sessions")
    expect(report["kernels"]["count"] == want["kernels"], f"{report['kernels']['count']} kernels of {want['kernels']}")


@case
def sigkill_loses_half_a_second_at_most(lab):
    out = lab.work / "killed"
    child = subprocess.Popen([lab.gpufl, "trace", "-o", out, "--no-report", "--", lab.programs, "steady"],
                             stdout=subprocess.PIPE, text=True, cwd=lab.work)
    progress, begin = [], time.monotonic()
    for line in child.stdout:
        progress.append(tuple(map(int, line.split())))
        if time.monotonic() - begin > 3:
            break
    pids = subprocess.run(["pgrep", "-f", "device_programs steady"], capture_output=True, text=True).stdout.split()
    killed = time.monotonic_ns()
    for pid in pids:
        if "gpufl" not in pathlib.Path(f"/proc/{pid}/comm").read_text():
            os.kill(int(pid), signal.SIGKILL)
    for line in child.stdout:
        if len(line.split()) == 2 and line.endswith("\n"):
            progress.append(tuple(map(int, line.split())))
    expect(child.wait() == 128 + signal.SIGKILL, f"exit code {child.returncode}")
    report = lab.report(out)
    completed = max(n for n, when in progress if when <= killed - 500_000_000)
    written = report["kernels"]["count"]
    expect(written >= completed, f"{written} kernels on disk, {completed} had completed 500 ms before the kill")
    expect(report["ledger"]["launches"] >= completed, "the heartbeat did not persist the launches")


# -- Python --------------------------------------------------------------------------------

# -- context: ranges, operation ids, windows ---------------------------------------------


def scopes_of(report):
    return {scope["name"]: scope for scope in report["scopes"]}


def capability(report, feature):
    return next((c for c in report["capabilities"] if c["feature"] == feature), {"status": "", "reason": ""})


@case
def nvtx_ranges_of_nvidias_client(lab):
    out, _, report = lab.trace(lab.context, "ranges")
    want, got = json.loads(out), scopes_of(report)
    for name, own in (("step", want["step"]), ("batch", want["batch"]), ("gr\u00f6\u00dfe", want["wide"]),
                      ("range", want["range"])):
        expect(name in got, f"no scope {name}: {sorted(got)}")
        expect(got[name]["calls"] == 1 and got[name]["self_kernels"] == own, f"{name}: {got[name]}")
    expect(got["batch"]["tag"] == "loader" and got["step"]["tag"] == "nvtx", "domains are not the tags")
    ledger_closes(report)


@case
def pytorch_operations_by_emit_nvtx(lab):
    out, _, report = lab.trace("python3", HERE / "emit_nvtx.py")
    want, got = json.loads(out.splitlines()[-1]), scopes_of(report)
    calls = {name: sum(s["calls"] for s in report["scopes"] if s["name"] == name) for name in got}
    kernels = {name: sum(s["kernels"] or 0 for s in report["scopes"] if s["name"] == name) for name in got}
    expect(calls.get("forward") == want["steps"], f"forward: {calls.get('forward')}: {sorted(calls)[:40]}")
    expect(calls.get("aten::addmm", 0) == want["steps"] * want["layers"], f"aten::addmm: {calls.get('aten::addmm')}")
    expect(kernels["aten::addmm"] >= want["steps"] * want["layers"], f"aten::addmm has {kernels['aten::addmm']} kernels")
    expect(not any("seq =" in name for name in got), "operations are not added up")
    ledger_closes(report)


@case
def operation_ids_that_a_program_pushes(lab):
    out, _, report = lab.trace(lab.context, "pushed")
    want, got = json.loads(out), report["external_correlation"]
    expect(got["kernels"] == want["with_id"] and got["ids"] == want["ids"], f"{got['kernels']} kernels, {got['ids']} ids")
    inner = next(i for i in got["by_id"] if i["id"] == str(2**64 - 1))
    expect(inner["kind"] == "custom0" and inner["kernels"] == 100, str(inner))


def windows(lab, count, kind):
    out, _, report = lab.trace(lab.context, "windows", count, kind,
                               options=("--windows", "--option", "flush_interval_ms=10"))
    want = json.loads(out)
    print(f"     {kind}: {out.strip()} | {capability(report, 'windows')['reason']}")
    by_name = {n: sum(k["count"] for k in report["kernels"]["by_name"] if n in k["symbol"]) for n in ("marked", "node")}
    expect(want["cycles"] == count, f"{want['cycles']} of {count} windows in the time")
    expect(by_name.get("marked") == want["marked"], f"{by_name} for {want['marked']} launches in windows")
    expect(by_name.get("node") == want["nodes"], f"{by_name} for {want['nodes']} nodes in windows")
    expect(report["windows"]["opened"] == count + 1, str(report["windows"]))
    return want


# -- graphs as a whole, managed memory, several devices ------------------------------------


@case
def graphs_as_a_whole(lab):
    """A record a launch instead of one a kernel: both add up to the same."""
    took = {}
    for mode in ("nodes", "launches"):
        out, _, report = lab.trace(lab.programs, "graphs", options=("--option", f"cuda_graph_activity={mode}"))
        want, graphs, ledger = json.loads(out), report["graphs"], report["ledger"]
        expect(graphs["activity"] == mode, f"asked for {mode}: {graphs['activity']}: "
               f"{capability(report, 'graph_runs')}")
        expect(graphs["runs"] == want["graph_launches"], f"{mode}: {graphs['runs']} runs of {want['graph_launches']}")
        expect(ledger["verdict"] == "complete", f"{mode}: {ledger['verdict']}: {ledger['missing']}")
        took[mode] = graphs["gpu_ns"] / graphs["runs"]
        if mode == "launches":
            expect(ledger["graphs_recorded"] == ledger["graphs_written"] == want["graph_launches"], str(ledger))
            expect(report["kernels"]["count"] == want["launches"], f"{report['kernels']['count']} kernels")
    print(f"      mean of a launch: {took['nodes'] / 1e3:.1f} us by node, {took['launches'] / 1e3:.1f} us as a whole")


@case
def managed_memory_that_moves(lab):
    mib = 64
    out, err, report = lab.trace(lab.programs, "managed", mib, options=("--option", "managed_memory=true"))
    want, got = json.loads(out), report["managed_memory"]
    state = capability(report, "managed_memory")
    if state["status"] == "unavailable":
        raise Skipped(state["reason"])
    print("      " + ", ".join(f"{k}: {v['count']} rows, {v['bytes']} B, {v['faults']} faults, {v['total_ns']} ns"
                              for k, v in got.items() if v["count"]))
    expect(got["to_device"]["bytes"] >= want["bytes"], f"{got['to_device']['bytes']} bytes to the device")
    expect(got["to_host"]["bytes"] >= want["bytes"], f"{got['to_host']['bytes']} bytes to the host")
    expect(got["device_faults"]["faults"] > 0 and got["host_faults"]["faults"] > 0, f"faults: {got}")
    ledger_closes(report, want["kernels"])


def two_devices(lab):
    if subprocess.run([lab.programs, "peers"], capture_output=True).returncode == 7:
        raise Skipped("one GPU")


def peers_of(log):
    """How many rows of direct copies there are by the ids of their stream's device and of the other one."""
    device, peers = {}, {}
    for part in sorted(log.glob("*/device*.log*")):
        with (gzip.open if part.suffix == ".gz" else open)(part, "rt") as lines:
            for row in map(json.loads, lines):
                cells = lambda name: row[name] if isinstance(row[name], list) else [row[name]] * row["rows"]
                if row["type"] == "stream":
                    device.update(zip(cells("id"), cells("device")))
                elif row["type"] == "memcpy":
                    for stream, peer in zip(cells("stream"), cells("peer")):
                        if peer:
                            peers[device[stream], peer] = peers.get((device[stream], peer), 0) + 1
    return peers


@case
def peer_copies_and_kernels_of_two_devices(lab):
    two_devices(lab)
    out, _, report = lab.trace(lab.programs, "peers")
    want = json.loads(out)
    ledger_closes(report, want["kernels"])
    for kind in ("PtoP", "HtoD", "DtoH"):  # directly, and by way of the host
        got = report["copies"]["by_kind"].get(kind, {"count": 0, "bytes": 0})
        expect((got["count"], got["bytes"]) == (want["copies"], want["bytes"]), f"{kind}: {got} of {want}")
    expect(peers_of(lab.work / "out") == {(1, 2): 5, (2, 1): 3}, f"devices of the copies: {peers_of(lab.work / 'out')}")
    busy = {d["index"]: d["kernels"] for d in report["devices"]}
    expect([busy.get(0), busy.get(1)] == want["devices"], f"kernels by device: {busy}")


@case
def torchrun_two_processes(lab):
    """torch.distributed over NCCL, a process a device: a session each, nothing lost, the same result as bare."""
    two_devices(lab)
    program = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
               HERE / "distributed.py"]
    bare = subprocess.run(program, capture_output=True, text=True, timeout=200)
    if bare.returncode:
        raise Skipped(f"does not run here without us either: {bare.stderr[-300:]}")
    out, err, report = lab.trace(*program)
    result = lambda text: sorted(line for line in text.splitlines() if line.startswith("rank"))
    expect(result(out) == result(bare.stdout) and len(result(out)) == 2, f"{result(out)} for {result(bare.stdout)}")
    print(f"      {len(report['sessions'])} sessions, {report['kernels']['count']} kernels, "
          f"{report['ledger']['verdict']}: {report['ledger']['missing']}")
    expect(len(report["sessions"]) >= 2, f"{len(report['sessions'])} sessions")
    ledger_closes(report)
    expect(any("nccl" in k["symbol"].lower() for k in report["kernels"]["by_name"]), "no kernel of NCCL")
    expect(sum(d["kernels"] > 0 for d in report["devices"]) == 2, "kernels on one device only")


@case
def windows_attach_and_finalize(lab):
    windows(lab, 100, "plain")


@case
def windows_beside_threads_that_launch(lab):
    windows(lab, 100, "threads")


@case
def windows_1000_with_graphs_threads_and_two_contexts(lab):
    windows(lab, 1000, "all")


@case
def windows_by_scope_count_and_clock(lab):
    _, _, report = lab.trace(lab.bin / "device_context", "ranges", options=("--in-scope", "batch"))
    expect(report["kernels"]["count"] == 3, f"{report['kernels']['count']} kernels in the range, 3 launched")
    _, _, report = lab.trace(lab.context, "pushed", options=("--after-launches", 50, "--launches", 20), code=0)
    expect(report["kernels"]["count"] == 20, f"{report['kernels']['count']} kernels recorded, 20 asked for")


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


# -- samples ---------------------------------------------------------------------------------


def sampled(lab, collect, prefix=()):
    out, err, report = lab.trace(lab.bin / "device_stalls", "--ms", 300, prefix=prefix,
                                 options=("-e", "PcSampling", "--option", f"pc_kernel_collect={collect}"))
    ran = stalls.settings(report)
    if ran.get("ran_as") != "PcSampling":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    return json.loads(out), report


@case
def samples_name_what_holds_a_kernel_up(lab):
    for collect in ("none", "all"):
        program, report = sampled(lab, collect)
        stalls.check(program, report)
        ledger, launched = report["ledger"], stalls.launched(program)
        expect(ledger["launches"] == launched, f"{ledger['launches']} launches counted of {launched}")
        expect(ledger["kernels_written"] == (launched if collect == "all" else None), f"kernels: {ledger}")
        expect(ledger["samples_lost"] == 0 and ledger["samples_overflows"] == 0, f"samples were lost: {ledger}")


@case
def samples_stand_at_their_line(lab):
    program, _ = sampled(lab, "none")
    done = subprocess.run([lab.gpufl, "report", "--kernel", "memory_latency", lab.work / "out"],
                          capture_output=True, text=True, check=True)
    if "LDG" not in done.stdout:
        raise Skipped("no instructions: nvdisasm is not there")
    lines = [line for line in done.stdout.splitlines() if "> stalls.cu:" in line]
    top = max(lines, key=lambda line: int(line.split()[0].replace(",", "").replace("-", "0")))
    source = (HERE / "stalls.cu").read_text().splitlines()
    where = next(i for i, line in enumerate(source, 1) if "at = next[at];" in line)
    expect(f"stalls.cu:{where}" in top.split() and "long_scoreboard" in top, top)


def sampled_counters(lab, *arguments, options=(), prefix=()):
    out, err, report = lab.trace(lab.bin / "device_counters", *arguments, prefix=prefix,
                                 options=("-e", "PmSampling", *options))
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "PmSampling"}
    if ran.get("ran_as") != "PmSampling":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    return json.loads(out), report, ran


@case
def counters_tell_phases_apart(lab):
    for options in ((), ("--pc-kernels", "none")):
        program, report, ran = sampled_counters(lab, options=options)
        counters.check(report, counts=(240, 330))
        expect(int(ran["clock_error_us"]) < 3000, f"the device's clock is known to {ran['clock_error_us']} us")
        expect(report["ledger"]["samples_overflows"] == 0, "the buffer was full")
        if not options:
            ledger_closes(report)


@case
def counters_of_every_set_and_interval(lab):
    for name in ("memory", "compute", "roofline"):
        _, report, ran = sampled_counters(lab, "--ms", 100, options=("--metrics", name))
        expect(len(counters.means(report)) >= 3 * 4, f"{name}: {counters.names(report)}")
    for interval, least in (("100us", 900), ("10us", 1000), ("20ms", 3)):
        _, report, ran = sampled_counters(lab, "--ms", 100, options=("--interval", interval))
        values = max((c["values"] for c in report["counters"] if c["scope"] == "copy"), default=0)
        print(f"      {interval}: {values} samples in 100 ms, overflows {report['ledger']['samples_overflows']}")
        expect(values >= least, f"{interval}: {values} samples")


@case
def counters_begin_and_end_beside_launches(lab):
    done = subprocess.run([lab.bin / "device_counters", "--threads", "3"], capture_output=True, text=True,
                          timeout=60, cwd=lab.work, env={**os.environ, "GPUFL_LOG_PATH": str(lab.work / "out")})
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-500:]}")


@case
def counters_of_scopes(lab):
    out, err, report = lab.trace(lab.bin / "device_counters", options=("-e", "RangeProfiler"))
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "RangeProfiler"}
    if ran.get("ran_as") != "RangeProfiler":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    counters.check(report, counts=(1, 1), source="range")
    ledger_closes(report)


@case
def counters_of_repeated_scopes(lab):
    _, err, report = lab.trace(lab.bin / "device_counters", "--bench", 1, options=("-e", "RangeProfiler"))
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "RangeProfiler"}
    if ran.get("ran_as") != "RangeProfiler":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    print(f"      {ran.get('passes_of_repeated')} passes, own kernels of the profiler: {ran.get('profiler_kernels', 0)}")
    found = counters.means(report, "range")
    for (metric, scope), c in sorted(found.items()):
        print(f"      {metric} {scope} {c['values']} {c['least']:.4g} {c['most']:.4g}")
    hits, dram = "lts__t_sector_hit_rate.pct", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    expect((hits, "bench") in found and (hits, "once") not in found, "what takes a second pass")
    expect(40 < found[hits, "bench"]["mean"] < 60, f"a copy misses every read: {found[hits, 'bench']}")
    for scope in ("once", "bench"):
        expect(found[dram, scope]["values"] == 2 and found[dram, scope]["least"] > 20, f"{scope}: {found[dram, scope]}")
    ledger_closes(report)


@case
def counters_of_kernels(lab):
    out, err, report = lab.trace(lab.bin / "device_counters", options=("-e", "RangeProfiler", "--ranges", "kernels"))
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "RangeProfiler"}
    if ran.get("ran_as") != "RangeProfiler":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    print(f"      {ran['passes']} passes, own kernels of the profiler: {ran.get('profiler_kernels', 0)}")
    counters.check(report, counts=(1, 3), source="kernel")  # the first copy takes as long as its phase
    ledger_closes(report)


@case
def counted_kernels_change_nothing(lab):
    out, err, report = lab.trace(lab.bin / "device_counters", "--mixed", 1, "--ms", 4000,
                                 options=("-e", "RangeProfiler", "--ranges", "kernels", "--option", "range_kernel_launches=30"))
    did = json.loads(out)
    print(f"      {did}")
    counted = {c["values"] for c in report["counters"] if c["source"] == "kernel"}
    if not counted:
        raise Skipped("no kernels were counted")
    expect(counted == {30}, f"launches counted: {counted}")
    expect(did["kernels"][0] == did["kernels"][1], f"kernels launched and run: {did['kernels']}")
    expect(did["graphs"][0] == did["graphs"][1], f"graphs launched and run: {did['graphs']}")
    expect(did["copies"] > 100 and not did["copies_lost"], f"{did['copies_lost']} of {did['copies']} copies are lost")
    ledger_closes(report)


@case
def counters_for_an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    _, report, _ = sampled_counters(lab, prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    counters.check(report, show=lambda text: None)


@case
def samples_for_an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    program, report = sampled(lab, "none", prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    stalls.check(program, report, show=lambda text: None)


@case
def sampling_beside_a_fault_and_contexts(lab):
    options = ("-e", "PcSampling")
    out, _, report = lab.trace(lab.programs, "fault", code=3, options=options)
    expect("illegal" in json.loads(out)["error"], out)
    expect(report["ledger"]["kernels_written"] >= 100, "the kernels before the fault are missing")
    out, _, report = lab.trace(lab.programs, "many", options=options)
    ledger_closes(report, json.loads(out)["kernels"])


@case
def sampling_ends_as_the_program_does(lab):
    """Programs that exit while threads launch, abort, _exit, or fork: as often to their own end as without us."""
    bare = {subprocess.run([lab.programs, "late"], capture_output=True).returncode for _ in range(10)}
    for collect in ("none", "all"):
        options = ("-e", "PcSampling", "--option", f"pc_kernel_collect={collect}")
        lab.trace(lab.programs, "churn", options=options)
        for _ in range(10):
            done = subprocess.run([lab.gpufl, "trace", "--no-report", *options, "-o", lab.work / "late", "--",
                                   lab.programs, "late"], capture_output=True, timeout=60)
            code = 128 - min(bare) if done.returncode == 128 - min(bare) else 0
            expect(done.returncode in (0, code), f"{collect}: exit code {done.returncode}; bare {sorted(bare)}")
        lab.trace(lab.programs, "abort", code=128 + signal.SIGABRT, options=options)
        out, _, report = lab.trace(lab.programs, "fork", options=options)
        expect(json.loads(out)["child_status"] == 0, f"{collect}: the child failed: {out}")
        expect(len(report["sessions"]) == 2, f"{collect}: {len(report['sessions'])} sessions")
        launches = report["ledger"]["launches"]  # both are heard, though only one of them is sampled
        expect(launches == json.loads(out)["kernels"], f"{collect}: {launches} launches of {out}")
        if collect == "all":
            ledger_closes(report, json.loads(out)["kernels"])


# -- counted instructions ---------------------------------------------------------------------


def instructions_counted(lab, *command, code=0, prefix=(), options=()):
    out, err, report = lab.trace(*command, options=("-e", "SassMetrics", *options), code=code, prefix=prefix)
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "SassMetrics"}
    if ran.get("ran_as") != "SassMetrics":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    ledger = report["ledger"]
    expect(ledger["metrics_lost"] == 0 and ledger["profile_recorded"] == ledger["profile_written"],
           f"counts were lost: {ledger}")
    return json.loads(out), report


@case
def counts_name_divergence_sectors_conflicts_and_spills(lab):
    program, report = instructions_counted(lab, lab.bin / "device_stalls", "--ms", 20)
    counts.check(program, report)
    launched = stalls.launched(program)
    expect(report["ledger"]["launches"] == launched, f"{report['ledger']['launches']} launches counted of {launched}")
    expect(report["ledger"]["kernels_recorded"] is None, "kernels have records beside instrumented ones")


@case
def counts_stand_at_their_line(lab):
    instructions_counted(lab, lab.bin / "device_stalls", "--ms", 20, "uncoalesced")
    if not shutil.which("nvdisasm") and not list(pathlib.Path("/usr/local").glob("cuda*/bin/nvdisasm")):
        raise Skipped("no instructions: nvdisasm is not there")
    done = subprocess.run([lab.gpufl, "report", "--kernel", "uncoalesced", lab.work / "out"],
                          capture_output=True, text=True, check=True)
    source = (HERE / "stalls.cu").read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "sum += in[" in text)
    expect("LDG" in done.stdout and f"stalls.cu:{line}" in done.stdout, done.stdout)  # its text where it was built


def counted_of(report, kernel, metric):
    return sum(group.get(metric) or 0 for group in report["instructions"]["kernels"]
               if group["scope"] is None and kernel in (group["kernel"] or ""))


@case
def counts_of_code_that_was_unloaded(lab):
    program, report = instructions_counted(lab, lab.programs, "unload")
    sectors = counted_of(report, "stored", counts.SECTORS)
    expect(sectors == program["sectors"], f"{sectors} sectors counted, the program wrote {program['sectors']}")


@case
def counts_in_windows_only(lab):
    """By scope, of a name and any, and by windows that the program opens, also beside threads that launch."""
    _, report = instructions_counted(lab, lab.context, "ranges")
    each, rest = divmod(counted_of(report, "marked", counts.INST), 6)
    expect(each > 0 and rest == 0, f"{each} instructions and {rest} of 6 launches")
    for scope, launched in (("batch", 3), ("*", 6), ("no such scope", 0)):
        _, report = instructions_counted(lab, lab.context, "ranges", options=("--in-scope", scope))
        found = counted_of(report, "marked", counts.INST)
        expect(found == each * launched, f"{scope}: {found} instructions of {launched} launches of {each}")
    for kind in ("plain", "threads", "all"):
        program, report = instructions_counted(lab, lab.context, "windows", 50, kind, options=("--windows",))
        found = counted_of(report, "marked", counts.INST)
        print(f"     {kind}: {program}", flush=True)
        expect(found == each * program["marked"], f"{kind}: {found} instructions of {program['marked']} launches of {each}")


@case
def counts_end_beside_threads_that_launch(lab):
    """The program's own end stays what it is bare."""
    bare = {subprocess.run([lab.programs, "late"], capture_output=True).returncode for _ in range(5)}
    for _ in range(5):
        out = lab.work / "late"
        shutil.rmtree(out, ignore_errors=True)
        done = subprocess.run([lab.gpufl, "trace", "--no-report", "-e", "SassMetrics", "-o", out, "--", lab.programs,
                               "late"], capture_output=True, timeout=60)
        code = 128 - min(bare) if done.returncode == 128 - min(bare) else 0
        expect(done.returncode in (0, code), f"exit code {done.returncode}; bare it ends with {sorted(bare)}")
    lab.trace(lab.programs, "churn", options=("-e", "SassMetrics"))


@case
def counts_of_threads_contexts_and_graphs(lab):
    for mode, arguments in (("threads", (4, 2000)), ("many", ()), ("graphs", ())):
        program, report = instructions_counted(lab, lab.programs, mode, *arguments)
        expect(report["instructions"]["rows"] > 0, f"{mode}: nothing was counted")
        launched = report["ledger"]["launches"] + report["ledger"]["graph_kernels"]
        expect(launched == program["kernels"], f"{mode}: {launched} launches of {program['kernels']}")


@case
def counts_beside_a_fault(lab):
    out, _, report = lab.trace(lab.programs, "fault", code=3, options=("-e", "SassMetrics"))
    expect("illegal" in json.loads(out)["error"], out)
    expect(report["session"]["end_reason"] == "exit", f"the end: {report['session']}")


@case
def counts_for_an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    program, report = instructions_counted(lab, lab.bin / "device_stalls", "--ms", 20,
                              prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    counts.check(program, report, show=lambda text: None)


@case
def deep_samples_and_counts_the_same_kernels(lab):
    """Both of each kernel in one session, each as the engine by itself has it."""
    out, _, report = lab.trace(lab.bin / "device_stalls", "--ms", 60, "--rounds", 3,
                               options=("-e", "Deep", "--option", "deep_sample_ms=700"))
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "Deep"}
    if ran.get("ran_as") != "Deep":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    print(f"      sampled for {ran['sampled_ms']} ms, switched in {ran['switch_us']} us")
    program, found, counted = json.loads(out), stalls.samples_of(report), counts.counts_of(report)
    for kernel, (reasons, _) in stalls.EXPECTED.items():
        expect(kernel in found, f"{kernel} has no samples")
        stalled = {reason: n for reason, n in found[kernel][0].items() if reason not in stalls.RUNNING}
        expect(max(stalled, key=stalled.get) in reasons, f"{kernel}: {stalled}")
        expect(counted.get(kernel, {}).get(counts.INST, 0) > 0, f"{kernel} has no counts")
    # What was counted are launches of the last rounds, whole ones.
    one = program["uncoalesced"]["warps"] * (32 * program["uncoalesced"]["steps"] + 4)
    sectors = counted["uncoalesced"][counts.SECTORS]
    expect(sectors % one == 0 and 0 < sectors // one < program["uncoalesced"]["launches"],
           f"{sectors} sectors of uncoalesced, of {one} a launch")
    expect(report["ledger"]["launches"] == stalls.launched(program), f"{report['ledger']['launches']} launches")
    expect(report["ledger"]["metrics_lost"] == 0, f"counts were lost: {report['ledger']}")


# -- findings --------------------------------------------------------------------------------


@case
def planted_faults_are_found_and_nothing_else(lab):
    """tests/planted: programs x rules, every finding at its line."""
    done = subprocess.run([sys.executable, HERE.parent / "planted/run.py", "--build", lab.bin.parent],
                          capture_output=True, text=True)
    print(done.stdout, end="", flush=True)
    expect(done.returncode == 0, done.stderr[-1500:] or "see above")


# -- who and where -------------------------------------------------------------------------


@case
def an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    out, _, report = lab.trace(lab.programs, "threads", 2, 1000,
                               prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    ledger_closes(report, json.loads(out)["kernels"])


@case
def monitor_never_loads_cupti(lab):
    program = """
import torch, time
x = torch.randn(2048, 2048, device="cuda")
end = time.time() + 1.5
while time.time() < end:
    x = torch.relu(x @ x) * 1e-3
    torch.cuda.synchronize()
maps = open("/proc/self/maps").read()
print("libnvidia-ml" in maps)
"""
    out, _, report = lab.trace("python3", "-c", program, options=("--engine", "Monitor"))
    bare = subprocess.run([lab.gpufl, "trace", "--engine", "Monitor", "-o", lab.work / "m", "--no-report", "--",
                           lab.bin / "train_loop", "--steps", "1"], capture_output=True)
    expect(bare.returncode == 0, "train_loop failed under Monitor")
    expect("True" in out, "NVML is not loaded")
    device = report["devices"][0]
    expect(device["metrics"]["gpu_util"]["max"] > 0, f"no utilisation: {device}")
    expect(report["ledger"]["kernels_written"] == 0, "kernels under Monitor")


@case
def duration_ends_the_capture_not_the_program(lab):
    begin = time.monotonic()
    program = TORCH + "import time\ntime.sleep(4)\nprint('done')"
    out, err, report = lab.trace("python3", "-c", program, options=("--duration", "3s"))
    expect("done" in out, "the program did not run to its end")
    expect(report is not None, f"no report: {err}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the sessions of failed cases here")
    args = parser.parse_args()
    chosen = [c for c in cases if not args.only or c.__name__ in args.only.split(",")]
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode if shutil.which("nvidia-smi") else True:
        print(f"no NVIDIA GPU on this machine\n0 passed, 0 failed, {len(chosen)} skipped")
        return 0
    passed = failed = skipped = 0
    for c in chosen:
        work = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-device-"))
        begin = time.monotonic()
        try:
            c(Lab(args.build.resolve(), work))
            passed += 1
            print(f"ok    {c.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Skipped as reason:
            skipped += 1
            print(f"skip  {c.__name__}: {reason}", flush=True)
        except Exception as error:  # a case that breaks is a failed case
            failed += 1
            print(f"FAIL  {c.__name__}: {type(error).__name__}: {error}", flush=True)
            if args.keep:
                shutil.copytree(work, args.keep / c.__name__, dirs_exist_ok=True)
        shutil.rmtree(work, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

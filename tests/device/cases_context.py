"""Ranges, operation ids, graphs as a whole, managed memory, allocations, several devices, windows."""
import gzip
import json
import os
import re
import subprocess
import sys

import stalls
from lab import HERE, Skipped, case, expect, ledger_closes


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


MARKS = """
import torch
x = torch.ones(64, 64, device="cuda")
for k in range(20):
    torch.cuda.nvtx.mark("step begins")
    x = x @ x / 64
    if k % 5 == 4:
        torch.cuda.nvtx.mark(f"batch {k // 5}")
torch.cuda.synchronize()
"""


@case
def marks_of_nvtx(lab):
    """Each mark is there once, by its name, in the order of the program."""
    _, _, report = lab.trace("python3", "-c", MARKS)
    rows = {row["name"]: row for row in report["marks"]["by_name"]}
    want = {"step begins": 20, **{f"batch {k}": 1 for k in range(4)}}
    expect({name: row["count"] for name, row in rows.items()} == want, str(report["marks"]))
    firsts = [rows[name]["first_ns"] for name in want]
    expect(firsts == sorted(firsts) and rows["step begins"]["last_ns"] < rows["batch 3"]["first_ns"], str(rows))
    expect(report["ledger"]["marks_lost"] == 0, str(report["ledger"]))
    ledger_closes(report)


@case
def operation_ids_that_a_program_pushes(lab):
    out, _, report = lab.trace(lab.context, "pushed")
    want, got = json.loads(out), report["external_correlation"]
    expect(got["kernels"] == want["with_id"] and got["ids"] == want["ids"], f"{got['kernels']} kernels, {got['ids']} ids")
    inner = next(i for i in got["by_id"] if i["id"] == str(2**64 - 1))
    expect(inner["kind"] == "custom0" and inner["kernels"] == 100, str(inner))


DETACH = ("--option", "window_detach=true")


def windows(lab, count, kind, detach=DETACH):
    """The program makes what it needs, which takes a second or so, and is then quiet for ten times as long: after that
    CUPTI is detached."""
    out, _, report = lab.trace(lab.context, "windows", count, kind, 25, 8,
                               options=("--windows", "--option", "flush_interval_ms=10",
                                        "--option", "window_rest_ms=1", *detach))
    want = json.loads(out)
    print(f"     {kind}: {out.strip()} | {capability(report, 'windows')['reason']}")
    by_name = {n: sum(k["count"] for k in report["kernels"]["by_name"] if n in k["symbol"]) for n in ("marked", "node")}
    expect(want["cycles"] == count, f"{want['cycles']} of {count} windows in the time")
    expect(by_name.get("marked") == want["marked"], f"{by_name} for {want['marked']} launches in windows")
    expect(by_name.get("node") == want["nodes"], f"{by_name} for {want['nodes']} nodes in windows")
    expect(report["windows"]["opened"] == count + 1, str(report["windows"]))
    reason = capability(report, "windows")["reason"]
    gone = re.search(r"was detached (\d+) times", reason)
    if kind == "churn" or not detach:
        expect(not gone, reason)
        said = any(m["code"] == "windows.not_quiet" for m in report["messages"])
        expect(said == bool(detach), str(report["messages"]))
    else:
        expect(gone and int(gone.group(1)) > 0.9 * count, reason)
    return want


@case
def graphs_as_a_whole(lab):
    """With a record for each launch instead of each kernel: both add up to the same."""
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


@case
def allocations_and_frees(lab):
    """Allocations of cudaMalloc, and of cudaMallocAsync in the order of a stream: as many, and as much, as the program
    says."""
    out, _, report = lab.trace(lab.programs, "allocations", options=("--option", "enable_memory_tracking=true"))
    want, got = json.loads(out), dict(report["memory"])
    state = capability(report, "memory")
    expect(state["status"] == "collected", f"{state}")
    host = got.pop("host")
    expect(not any(host.values()), f"pinned memory that the program never asked for: {host}")
    expect(got == want, f"the report has {got}, the program did {want}")
    _, _, report = lab.trace(lab.programs, "allocations")
    expect(report["memory"]["allocations"] is None, f"allocations that nobody asked for: {report['memory']}")


def two_devices(lab):
    if subprocess.run([lab.programs, "peers"], capture_output=True).returncode == 7:
        raise Skipped("one GPU")


def peers_of(log):
    """The number of rows of direct copies, by the ids of their stream's device and of the other device."""
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
    out, _, report = lab.trace(lab.programs, "peers", options=("--option", "peer_copies=true"))
    want = json.loads(out)
    ledger_closes(report, want["kernels"])
    for kind in ("PtoP", "HtoD", "DtoH"):  # directly, and through the host
        got = report["copies"]["by_kind"].get(kind, {"count": 0, "bytes": 0})
        expect((got["count"], got["bytes"]) == (want["copies"], want["bytes"]), f"{kind}: {got} of {want}")
    busy = {d["index"]: d["kernels"] for d in report["devices"] if d["kernels"]}
    expect([busy[i] for i in sorted(busy)] == want["devices"], f"kernels by device: {busy}")
    first, second = (i + 1 for i in sorted(busy))  # a column's 0 is "none"
    expect(peers_of(lab.work / "out") == {(first, second): 5, (second, first): 3},
           f"devices of the copies: {peers_of(lab.work / 'out')}")


def torchrun(lab, *options, env=None):
    """Runs two processes under torchrun, bare and traced: a session each, and the same result."""
    program = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
               HERE / "distributed.py"]
    bare = subprocess.run(program, capture_output=True, text=True, timeout=200, env={**os.environ, **(env or {})})
    if bare.returncode:
        raise Skipped(f"does not run here without us either: {bare.stderr[-300:]}")
    out, err, report = lab.trace(*program, options=options, env=env)
    result = lambda text: sorted(line for line in text.splitlines() if line.startswith("rank"))
    expect(result(out) == result(bare.stdout) and len(result(out)) == 2, f"{result(out)} for {result(bare.stdout)}")
    print(f"      {' '.join(options)} {len(report['sessions'])} sessions, {report['kernels']['count']} kernels, "
          f"{report['ledger']['verdict']}: {report['ledger']['missing']}")
    expect(len(report["sessions"]) >= 2, f"{len(report['sessions'])} sessions")
    return report


@case
def torchrun_two_processes(lab):
    """torch.distributed over NCCL, a process a device: a session each, nothing lost, the same result as bare."""
    two_devices(lab)
    report = torchrun(lab)
    ledger_closes(report)
    expect(any("nccl" in k["symbol"].lower() for k in report["kernels"]["by_name"]), "no kernel of NCCL")
    expect(sum(d["kernels"] > 0 for d in report["devices"]) == 2, "kernels on one device only")
    report = torchrun(lab, "-e", "PcSampling", "--pc-kernels", "none")
    ran = [s["value"] for s in report["settings"] if s["name"] == "ran_as"]
    expect(ran == ["PcSampling"], f"ran as {ran}, which is reported once if it is the same for all")
    expect(report["samples"]["samples"] > 0, "no samples")


@case
def torchrun_two_processes_on_one_device(lab):
    """torch.distributed over gloo, both processes on the first device; with engine PcSampling one of them is sampled
    (ADR 10)."""
    first = {"CUDA_VISIBLE_DEVICES": "0"}
    ledger_closes(torchrun(lab, env=first))
    report = torchrun(lab, "-e", "PcSampling", env=first)
    ledger_closes(report)
    ran = sorted(s["value"] for s in report["settings"] if s["name"] == "ran_as")
    expect(ran == ["PcSampling", "Trace"], f"ran as {ran}")


@case
def windows_attach_and_finalize(lab):
    windows(lab, 100, "plain")


@case
def windows_while_threads_launch(lab):
    windows(lab, 100, "threads")


@case
def windows_keep_cupti_by_default(lab):
    windows(lab, 50, "threads", detach=())


@case
def windows_while_a_kernel_runs(lab):
    """By default no part of the program waits for the kernel: CUPTI stays attached."""
    for kind in ("same", "own"):
        out, _, report = lab.trace(lab.context, "running", 6, kind, 4,
                                   options=("--windows", "--option", "flush_interval_ms=10",
                                            "--option", "window_rest_ms=1"))
        want = json.loads(out)
        print(f"     {kind}: {out.strip()} | {capability(report, 'windows')['reason']}")
        expect(max(want[m] for m in ("settling_ms", "open_ms", "inside_ms", "close_ms", "outside_ms")) < 300, out)
        found = sum(k["count"] for k in report["kernels"]["by_name"] if "marked" in k["symbol"])
        expect(found == want["marked"], f"{found} of {want['marked']} launches in windows")


@case
def windows_1000_with_graphs_threads_and_two_contexts(lab):
    windows(lab, 1000, "all")


@case
def windows_while_contexts_and_graphs_change(lab):
    """CUPTI stays attached: a context or graph that ends while CUPTI is detached or attached would crash it."""
    windows(lab, 400, "churn")


@case
def windows_by_scope_count_and_clock(lab):
    _, _, report = lab.trace(lab.bin / "device_context", "ranges", options=("--in-scope", "batch"))
    expect(report["kernels"]["count"] == 3, f"{report['kernels']['count']} kernels in the range, 3 launched")
    _, _, report = lab.trace(lab.context, "pushed", options=("--after-launches", 50, "--launches", 20), code=0)
    expect(report["kernels"]["count"] == 20, f"{report['kernels']['count']} kernels recorded, 20 asked for")
    for options, least, most in (((), 1.4, 2.0), (("--after", "1s"), 0.45, 0.9)):
        window_by_the_clock(lab, options, least, most)


def window_by_the_clock(lab, after, least_s, most_s):
    """The program works for 3.4 s, after what it takes to begin. The window is open for 1.5 s from the first use of the
    device on, or for half a second after a delay."""
    lasts = "500ms" if after else "1500ms"
    out, _, report = lab.trace(lab.bin / "device_stalls", "--ms", 60, "--rounds", 8, options=(*after, "--for", lasts))
    recorded_s, whole_s = report["windows"]["recorded_ns"] / 1e9, report["session"]["duration_ns"] / 1e9
    kernels, launched = report["kernels"]["count"], stalls.launched(json.loads(out))
    print(f"     {' '.join(after)} --for {lasts}: {recorded_s:.2f} s of {whole_s:.2f}, {kernels} kernels of {launched}")
    expect(report["windows"]["opened"] == 1 and not report["windows"]["still_open"], f"{report['windows']}")
    expect(least_s <= recorded_s <= most_s, f"recorded for {recorded_s} s")
    expect(whole_s > recorded_s + 1, f"the session ended with its window: {whole_s} s")
    expect(0 < kernels < launched, f"{kernels} kernels recorded of {launched} launched")
    expect(report["ledger"]["verdict"] == "complete", f"{report['ledger']['missing']}")


@case
def windows_come_again(lab):
    """Windows of 0.3 s in every 2 s: CUPTI stays attached, or is detached in between. Kernels take 60 ms, with a wait
    after each."""
    for engine, option in (("Trace", "false"), ("Trace", "true"), ("PcSampling", "true")):
        out, _, report = lab.trace(lab.bin / "device_stalls", "--ms", 60, "--rounds", 24, options=(
            "-e", engine, "--for", "300ms", "--every", "2s", "--option", f"window_detach={option}", "--option",
            "window_rest_ms=200", "--option", "flush_interval_ms=50"))
        recorded_s, whole_s = report["windows"]["recorded_ns"] / 1e9, report["session"]["duration_ns"] / 1e9
        opened, launched = report["windows"]["opened"], stalls.launched(json.loads(out))
        print(f"     {engine}, window_detach={option}: {opened} windows, {recorded_s:.2f} s of {whole_s:.2f} | "
              f"{capability(report, 'windows')['reason']}")
        expect(whole_s // 2 <= opened <= whole_s // 2 + 1, f"{opened} windows in {whole_s} s")
        expect(0.25 * opened <= recorded_s <= 0.6 * opened, f"{opened} windows of {recorded_s} s together")
        if engine == "Trace":
            expect(0 < report["kernels"]["count"] < launched / 2, f"{report['kernels']['count']} of {launched} kernels")
            expect(report["ledger"]["verdict"] == "complete", f"{report['ledger']['missing']}")
        else:
            expect(report["samples"]["samples"] > 10000 * opened, f"{report['samples']['samples']} samples")
        went = re.search(r"was detached (\d+) times", capability(report, "windows")["reason"] or "")
        expect(bool(went) == (option == "true") and (not went or int(went[1]) >= 2), "CUPTI did not go, or should not have")

"""The engines beyond Trace: samples, counted instructions, both; cases_counters.py has the hardware counters."""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import counters
import counts
import stalls
from lab import HERE, Skipped, case, expect, ledger_closes

# A second of work that waits every few milliseconds, since windows open and close while a program waits.
TORCH_THAT_WAITS = """
import time
import torch
x = torch.randn(1024, 1024, device="cuda")
end = time.monotonic() + 2
while time.monotonic() < end:
    for _ in range(100):
        x = torch.relu(x @ x) * 1e-3
    torch.cuda.synchronize()
"""


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
def samples_and_kernels_take_turns(lab):
    """pc_kernel_collect=windows: all kernels in windows, and samples of the time in between."""
    options = ("-e", "PcSampling", "--pc-kernels", "windows", "--option", "pc_window_every_ms=300")
    out, _, report = lab.trace(lab.bin / "device_stalls", "--ms", 60, "--rounds", 8, options=options)
    windows, ledger, found = report["windows"], report["ledger"], stalls.samples_of(report)
    print(f"      {windows['kernels_opened']} windows, {windows['kernels_recorded_ns'] / 1e6:.0f} ms of "
          f"{report['session']['duration_ns'] / 1e6:.0f}, {ledger['kernels_recorded']} of "
          f"{stalls.launched(json.loads(out))} kernels, switched in {stalls.settings(report)['kernel_windows_switch_us']} us")
    expect(windows["kernels_opened"] >= 3, f"{windows}")
    expect(ledger["verdict"] == "complete", f"{ledger['missing']}")
    expect(0 < ledger["launches"] == ledger["kernels_recorded"] < stalls.launched(json.loads(out)), f"{ledger}")
    for kernel, (reasons, _) in stalls.EXPECTED.items():
        expect(kernel in found, f"{kernel} has no samples")
        stalled = {reason: n for reason, n in found[kernel][0].items() if reason not in stalls.RUNNING}
        expect(max(stalled, key=stalled.get) in reasons, f"{kernel}: {stalled}")
    short = (*options[:-1], "pc_window_every_ms=100", "--option", "pc_window_for_ms=30")
    for program, code in ((("threads", 8, 50000), 0), (("churn",), 0), (("graphs",), 0), (("many",), 0),
                          (("abort",), 128 + signal.SIGABRT), (("fault",), 3), (("fork",), 0)):
        _, _, report = lab.trace(lab.programs, *program, code=code, options=short)
        print(f"      {program[0]}: {report['windows']['kernels_opened']} windows")
    _, _, report = lab.trace(sys.executable, "-c", TORCH_THAT_WAITS, options=short)
    expect(report["samples"]["samples"] > 0 and report["windows"]["kernels_opened"] > 0, f"{report['windows']}")
    expect(report["ledger"]["verdict"] == "complete", f"{report['ledger']['missing']}")


@case
def samples_of_a_scope_alone(lab):
    """A window has the samples of its own time, also those that the driver had not delivered at its edges."""
    out, _, report = lab.trace(lab.bin / "device_counters", options=("-e", "PcSampling", "--in-scope", "arithmetic"))
    begin, end = json.loads(out)["arithmetic"]
    found = {}
    for group in report["samples"]["kernels"]:
        kernel = next((k for k in ("copy", "arithmetic", "tensor") if k in (group["symbol"] or "")), "other")
        found[kernel] = found.get(kernel, 0) + group["samples"]
    a_second = found["arithmetic"] / (end - begin) * 1e9
    print(f"      {found}: {a_second:.0f} a second")
    expect(200_000 < a_second < 270_000, f"{a_second} samples a second")
    expect(sum(found.values()) - found["arithmetic"] <= found["arithmetic"] * 0.01, f"of other scopes: {found}")


@case
def samples_stand_at_their_line(lab):
    program, _ = sampled(lab, "none")
    done = subprocess.run([lab.gpufl, "report", "--kernel", "memory_latency", lab.work / "out"],
                          capture_output=True, text=True, check=True)
    if "LDG" not in done.stdout:
        raise Skipped("no instructions: nvdisasm is not there")
    lines = done.stdout.splitlines()
    top = lines[next(i for i, line in enumerate(lines) if line.split() == ["samples", "share", "stall", "line"]) + 1]
    source = (HERE / "stalls.cu").read_text().splitlines()
    where = next(i for i, line in enumerate(source, 1) if "at = next[at];" in line)
    print("     ", top)
    expect(f"stalls.cu:{where}" in top.split() and "long_scoreboard" in top, top)
    of_line = [line.split()[0] for line in lines if f"> stalls.cu:{where} " in line]
    expect(top.split()[0] in of_line, f"{top}; the instructions of the line: {of_line}")


def on_two_devices(lab, engine, *options, ms=60):
    """Runs device_stalls on two devices concurrently: what it printed, and the report."""
    out, err, report = lab.trace("sh", "-c", '"$@"; rc=$?; [ $rc = 7 ] || exit $rc', "sh",
                                 lab.bin / "device_stalls", "--ms", ms, "--devices", 2, options=("-e", engine, *options))
    if not out:
        raise Skipped("one GPU")
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == engine}
    expect(ran.get("ran_as") == engine, f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    return json.loads(out), report


@case
def samples_of_two_devices(lab):
    for collect in ("none", "all"):
        program, report = on_two_devices(lab, "PcSampling", "--pc-kernels", collect, ms=300)
        stalls.check(program, report)
        launched = stalls.launched(program, devices=2)
        expect(report["ledger"]["launches"] == launched, f"{report['ledger']['launches']} launches of {launched}")
        if collect == "all":
            ledger_closes(report, launched)
            busy = {d["index"]: d["kernels"] for d in report["devices"]}
            print(f"      kernels by device: {busy}")
            expect(sum(kernels > 0 for kernels in busy.values()) == 2, "kernels on one device only")


@case
def counts_of_two_devices(lab):
    program, report = on_two_devices(lab, "SassMetrics", ms=20)
    counts.check(program, report)
    launched = stalls.launched(program, devices=2)
    expect(report["ledger"]["launches"] == launched, f"{report['ledger']['launches']} launches of {launched}")
    expect(report["ledger"]["metrics_lost"] == 0, f"{report['ledger']}")


@case
def samples_for_an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    program, report = sampled(lab, "none", prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    stalls.check(program, report, show=lambda text: None)


@case
def the_other_engines_for_an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    deep = (lab.bin / "device_stalls", "--ms", 60, "--rounds", 3)
    for engine, gave, command, options in (
            ("RangeProfiler", "range_counters", (lab.bin / "device_counters", "--ms", 100), ()),
            ("Deep", "pc_sampling", deep, ("--option", "deep_sample_ms=700"))):
        _, _, report = lab.trace(*command, options=("-e", engine, *options),
                                 prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == engine}
        status = {c["feature"]: c["status"] for c in report["capabilities"]}
        expect(ran.get("ran_as") == engine and status.get(gave) == "collected", f"{engine}: {ran}, {status}")


@case
def sync_and_monitor_for_an_unprivileged_user(lab):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    os.chmod(lab.work, 0o777)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    for engine in ("Sync", "Monitor"):
        out, _, report = lab.trace(lab.bin / "device_stalls", "--ms", 300, options=("-e", engine), prefix=nobody)
        ledger, lines = report["ledger"], report["synchronization_lines"]
        status = {c["feature"]: c["status"] for c in report["capabilities"]}
        loads = [(d["metrics"] or {}).get("gpu_util") or {} for d in report["devices"]]
        busiest = max((load.get("max") or 0 for load in loads), default=0)
        print(f"      {engine}: {lines['calls']} calls wait for {lines['blocked_ns'] / 1e6:.0f} ms, busy to {busiest} %; {status}",
              flush=True)
        expect(set(json.loads(out)) == set(stalls.EXPECTED), out)
        expect(report["session"]["engine"] == engine, f"{engine}: ran as {report['session']['engine']}")
        expect(busiest > 0, f"{engine}: no utilisation of the device: {report['devices']}")
        expect(ledger["kernels_written"] in (0, None), f"{engine}: kernels: {ledger}")
        at_least_ms = sum(kind["ms"] for kind in json.loads(out).values()) / 2
        waited = lines["blocked_ns"] / 1e6
        expect(waited >= at_least_ms if engine == "Sync" else not lines["calls"], f"{engine}: waited {waited} ms")


@case
def samples_of_scopes_while_it_runs(lab):
    """A scope has the samples of the rounds that it covers (a quarter of a second each, and samples that are read
    late): a scope of a second has at least 35 % of the samples of its one kernel."""
    options = ("-e", "PcSampling", "--option", "pc_kernel_collect=all")
    out, _, report = lab.trace(lab.bin / "device_counters", "--ms", 1000, options=options)
    ran = stalls.settings(report)
    if ran.get("ran_as") != "PcSampling":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    took, of_kernels, of_scopes = json.loads(out), {}, {}
    for group in report["samples"]["kernels"]:
        kernel = next((k for k in counters.PHASES if k in (group["symbol"] or "")), "other")
        of_kernels[kernel] = of_kernels.get(kernel, 0) + group["samples"]
    for group in report["samples"]["scopes"]:
        of_scopes[group["scope"]] = of_scopes.get(group["scope"], 0) + group["samples"]
    for phase in counters.PHASES:
        begin, end = took[phase]
        print(f"      {phase}: {(end - begin) / 1e6:.0f} ms, {of_kernels.get(phase, 0)} samples, {of_scopes.get(phase, 0)} "
              f"of them in its scope", flush=True)
    print(f"      scopes {of_scopes}, other code {of_kernels.get('other', 0)}", flush=True)
    for phase in counters.PHASES:
        of_kernel, of_scope = of_kernels.get(phase, 0), of_scopes.get(phase, 0)
        expect(0.35 * of_kernel <= of_scope <= 1.01 * of_kernel, f"{phase}: {of_scope} samples in its scope of {of_kernel}")
    expect(of_scopes.get("idle", 0) <= 0.01 * sum(of_scopes.values()), f"samples of a scope without kernels: {of_scopes}")
    expect(report["ledger"]["samples_lost"] == 0, f"samples were lost: {report['ledger']}")
    ledger_closes(report)


@case
def sampling_and_a_fault_and_contexts(lab):
    options = ("-e", "PcSampling")
    out, _, report = lab.trace(lab.programs, "fault", code=3, options=options)
    expect("illegal" in json.loads(out)["error"], out)
    expect(report["ledger"]["kernels_written"] >= 100, "the kernels before the fault are missing")
    out, _, report = lab.trace(lab.programs, "many", options=options)
    ledger_closes(report, json.loads(out)["kernels"])


@case
def samples_of_code_that_was_unloaded(lab):
    out, _, report = lab.trace(lab.programs, "unload", 1000000, options=("-e", "PcSampling"))
    ran = stalls.settings(report)
    if ran.get("ran_as") != "PcSampling":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    found = sum(group["samples"] for group in report["samples"]["kernels"] if "stored" in (group["symbol"] or ""))
    print(f"      {found} samples of {report['samples']['samples']}")
    expect(found > 0, "no samples of the code that was unloaded")
    expect(report["ledger"]["samples_lost"] == 0, f"samples were lost: {report['ledger']}")
    ledger_closes(report, json.loads(out)["kernels"])


class Ncu:
    """ncu, which counts launch after launch of device_stalls, each many times over, until it is stopped."""

    def __init__(self, lab):
        self.terminal, theirs = pty.openpty()  # on a terminal it prints at once what it does
        self.process = subprocess.Popen(["ncu", "--set", "full", "--clock-control", "none", lab.bin / "device_stalls",
                                         "--ms", "1000", "--rounds", "1000", "memory_latency"], cwd=lab.work,
                                        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.said, self.started = b"", threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Reads all that ncu prints, so that it does not wait for a reader."""
        try:
            while data := os.read(self.terminal, 4096):
                self.said += data
                if b"==PROF== Profiling" in self.said:
                    self.started.set()
        except OSError:  # nobody writes any more
            pass
        self.started.set()

    def counts(self):
        """Waits until ncu counts a launch."""
        self.started.wait(120)
        return b"==PROF== Profiling" in self.said and self.process.poll() is None

    def end(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        self.reader.join(20)
        os.close(self.terminal)


BROUGHT = {"PcSampling": "pc_sampling", "SassMetrics": "sass_metrics", "PmSampling": "pm_sampling",
           "RangeProfiler": "range_counters"}


def ran_or_said_why_not(report, engine):
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == engine}
    state = next((c for c in report["capabilities"] if c["feature"] == BROUGHT[engine]), {"status": "", "reason": ""})
    why = ran.get("why") or state["reason"]
    print(f"      {engine}: ran as {ran.get('ran_as')}, {state['status']}; {why}", flush=True)
    expect(ran.get("ran_as"), f"{engine}: nothing says what it ran as")
    if ran["ran_as"] == engine and state["status"] in ("collected", "partial"):
        return
    expect(why, f"{engine} gave nothing, and nothing says why: {ran}, {state}, {report['messages']}")


@case
def counters_that_another_tool_holds(lab):
    """The program runs to its own end while ncu counts; the engine runs, or the session says why it did not."""
    if not shutil.which("ncu"):
        raise Skipped("ncu is not there")
    for engine in BROUGHT:
        ncu = Ncu(lab)
        try:
            if not ncu.counts():
                raise Skipped(f"ncu does not count here: {ncu.said[-500:]}")
            ranges = ("--ranges", "kernels") if engine == "RangeProfiler" else ()
            out, _, report = lab.trace(lab.bin / "device_stalls", "--ms", 20, options=("-e", engine, *ranges), timeout=120)
            ended = ncu.process.poll() is not None
        finally:
            ncu.end()
        kinds = json.loads(out)
        expect(set(kinds) == set(stalls.EXPECTED), f"{engine}: {out}")
        ran_or_said_why_not(report, engine)
        launched = 1 + sum(k["launches"] + k["clock_reads"] for k in kinds.values())
        cupti_ended, ledger = any(m["code"] == "cupti.ended" for m in report["messages"]), report["ledger"]
        print(f"        {ledger['launches']} launches of {launched}{', then CUPTI ended itself' * cupti_ended}", flush=True)
        expect(cupti_ended or ledger["launches"] == launched, f"{engine}: {ledger['launches']} launches, {launched} made")
        expect(not cupti_ended or ledger["verdict"] == "incomplete", f"{engine}: {ledger['verdict']}, and CUPTI had ended itself")
        print(f"        ncu {'gave up: ' + ncu.said.decode(errors='replace')[-300:] if ended else 'goes on'}", flush=True)


@case
def sampling_ends_as_the_program_does(lab):
    """Programs that exit while threads launch, abort, _exit, or fork reach their own end as often as without gpufl."""
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
        launches = report["ledger"]["launches"]  # launches of both are counted, though only one is sampled
        expect(launches == json.loads(out)["kernels"], f"{collect}: {launches} launches of {out}")
        if collect == "all":
            ledger_closes(report, json.loads(out)["kernels"])


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
    expect(report["ledger"]["kernels_recorded"] is None, "kernels have records while instrumented ones run")


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
    """Counts in windows: by scope, of one name and of any, and by windows that the program opens, also while other
    threads launch."""
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


# The engine frees its resources soon after a window, and CUPTI is detached, before the next window opens.
RESTING = ("--option", "flush_interval_ms=10", "--option", "window_rest_ms=5", "--option", "window_detach=true")


def times_detached(report):
    reason = next(c["reason"] for c in report["capabilities"] if c["feature"] == "windows")
    found = re.search(r"was detached (\d+) times", reason)
    return int(found.group(1)) if found else 0


@case
def engines_give_back_between_windows(lab):
    """After that the engines begin again: launches are as fast again as before, and counts stay exact."""
    _, report = instructions_counted(lab, lab.context, "ranges")
    each = counted_of(report, "marked", counts.INST) // 6
    for engine in ("SassMetrics", "PcSampling", "RangeProfiler", "PmSampling"):
        # With PM sampling records of kernels come late, and CUPTI waits for them: 2 s at most.
        count, pause, least = (4, 2600, 4) if engine == "PmSampling" else (20, 60, 10)
        for kind in ("plain", "threads", "all", "own"):
            # If threads never pause, it is chance when a detach is possible: 9 to 21 times in 20 cycles.
            often = least if kind == "plain" or engine == "PmSampling" else least // 2
            out, _, report = lab.trace(lab.context, "windows", count, kind, pause, 8,
                                       options=("-e", engine, "--windows", *RESTING))
            program = json.loads(out)
            print(f"     {engine} {kind}: detached {times_detached(report)} times, {program}", flush=True)
            expect(program["cycles"] == count and report["windows"]["opened"] == count + 1, f"{report['windows']}")
            expect(times_detached(report) >= often, f"detached {times_detached(report)} times")
            if engine != "SassMetrics":
                continue
            for kernel in ("marked", "late"):  # the latter ran for the first time while nothing was counted
                found = counted_of(report, kernel, counts.INST)
                expect(found == each * program[kernel],
                       f"{kind}: {found} instructions of {program[kernel]} launches of {kernel}, of {each}")
            if kind in ("all", "own"):  # launched in contexts of their own, and in windows by chance
                expect(counted_of(report, "theirs", counts.INST) > 0, f"{kind}: nothing was counted in another context")


@case
def samples_of_windows_by_hand(lab):
    """`gpufl ctl` opens and closes windows; in between the engine frees its resources."""
    out = lab.work / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [lab.gpufl, "trace", "--no-report", "-o", out, "-e", "PcSampling", "--windows", *RESTING, "--", "sh", "-c",
               'echo $$; exec "$@"', "sh", lab.bin / "device_stalls", "--ms", "60", "--rounds", "36"]
    program = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    pid = program.stdout.readline().strip()
    time.sleep(9)  # the program makes what it needs, and is quiet for ten times as long
    for what in ("open", "close") * 3:
        done = subprocess.run([lab.gpufl, "ctl", pid, "window", what], capture_output=True, text=True, timeout=30)
        expect(done.returncode == 0, f"{what}: {done.stdout}{done.stderr}")
        time.sleep(0.7)
    program.communicate(timeout=120)
    report = lab.report(out)
    print(f"     detached {times_detached(report)} times, {report['samples']['samples']} samples, {report['windows']}")
    expect(program.returncode == 0, f"exit code {program.returncode}")
    expect(report["windows"]["opened"] == 3 and times_detached(report) >= 3, "windows did not open and close, or the library was not attached and detached")
    sampled = report["samples"]["sampled_ns"]
    expect(0 < sampled <= report["windows"]["recorded_ns"] * 1.2, f"sampled for {sampled} ns")
    expect(report["samples"]["samples"] > 100000, "few samples in 2 s")


@case
def counts_end_while_threads_launch(lab):
    """The program ends as it does bare."""
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
def counts_and_a_fault(lab):
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
    """One session has samples and counts of each kernel, each as the engine by itself has them."""
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
    # The launches that were counted belong to the last rounds, and these are whole.
    one = program["uncoalesced"]["warps"] * (32 * program["uncoalesced"]["steps"] + 4)
    sectors = counted["uncoalesced"][counts.SECTORS]
    expect(sectors % one == 0 and 0 < sectors // one < program["uncoalesced"]["launches"],
           f"{sectors} sectors of uncoalesced, of {one} a launch")
    expect(report["ledger"]["launches"] == stalls.launched(program), f"{report['ledger']['launches']} launches")
    expect(report["ledger"]["metrics_lost"] == 0, f"counts were lost: {report['ledger']}")

"""Hardware counters: sampled over time (PmSampling), and of scopes and kernels (RangeProfiler)."""
import json
import os
import re
import shutil
import subprocess

import counters
import stalls
from cases_engines import on_two_devices
from lab import HERE, Skipped, case, expect, ledger_closes


def sampled_counters(lab, *arguments, options=(), prefix=()):
    out, err, report = lab.trace(lab.bin / "device_counters", *arguments, prefix=prefix,
                                 options=("-e", "PmSampling", *options))
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "PmSampling"}
    if ran.get("ran_as") != "PmSampling":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    return json.loads(out), report, ran


@case
def counters_distinguish_phases(lab):
    for options in ((), ("--pc-kernels", "none")):
        program, report, ran = sampled_counters(lab, options=options)
        counters.check(report, counts=(270, 345))
        expect(int(ran["clock_error_us"]) < 25000, f"the device's clock is known to {ran['clock_error_us']} us")
        expect(report["ledger"]["samples_overflows"] == 0, "the buffer was full")
        print(f"      {report['ledger']['samples_lost']} samples lost, the clock known to {ran['clock_error_us']} us")
        if not options:
            ledger_closes(report)


@case
def counters_of_every_set_and_interval(lab):
    for name in ("memory", "compute", "roofline"):
        _, report, ran = sampled_counters(lab, "--ms", 100, options=("--metrics", name))
        expect(len(counters.means(report)) >= 3 * 4, f"{name}: {counters.names(report)}")
    light = ("--metrics", "gr__cycles_active.avg.pct_of_peak_sustained_elapsed,"
             "dram__read_throughput.avg.pct_of_peak_sustained_elapsed")  # metrics that are decoded as fast as they come
    _, report, ran = sampled_counters(lab, "--ms", 100, options=("--interval", "20ms"))
    values = max((c["values"] for c in report["counters"] if c["scope"] == "copy"), default=0)
    print(f"      20ms: {values} samples in 100 ms, overflows {report['ledger']['samples_overflows']}")
    expect(values >= 3, f"20ms: {values} samples")
    every_sample_is_read_or_counted(lab, 100, (), 1000)
    every_sample_is_read_or_counted(lab, 10, light, 1000)


def every_sample_is_read_or_counted(lab, interval_us, options, least):
    """At 10 us the decoder is too slow (ADR 12), on a busy machine at 100, too, and it is chance which phase is
    affected: samples that are not read are counted."""
    _, report, ran = sampled_counters(lab, "--ms", 100, options=("--interval", f"{interval_us}us", *options))
    metric = report["counters"][0]["metric"]
    values = {c["scope"]: c["values"] for c in report["counters"] if c["metric"] == metric}
    lost = report["ledger"]["samples_lost"]
    late = [m["text"] for m in report["messages"] if m["code"] == "pm_sampling.late"]
    sampled_ms = (int(late[0].split("for the last ")[1].split()[0]) if late
                  else report["session"]["duration_ns"] / 1e6 - int(ran["enable_us"]) / 1000)
    print(f"      {interval_us}us: {values} read, {lost} lost, of {sampled_ms} ms")
    expect(sum(values.get(phase, 0) for phase in ("idle", *counters.PHASES)) >= least, f"{interval_us}us: {values} samples")
    there = (sum(values.values()) + lost) * interval_us / 1000
    expect(0.95 * sampled_ms <= there <= 1.05 * sampled_ms, f"{there:.0f} ms read and counted of {sampled_ms}")
    if not late:  # if the decoder is late, sampling ends some tenths of a second after the program
        expect(values.get(None, 0) <= 0.1 * sum(values.values()), f"of no scope that is known: {values}")


def values_by_device(report):
    values = {}
    for c in report["counters"]:
        values[c["device"]] = values.get(c["device"], 0) + c["values"]
    return values


@case
def counters_of_two_devices(lab):
    """PmSampling samples both; RangeProfiler counts one context, and says that there was another (ADR 12)."""
    program, report = on_two_devices(lab, "PmSampling", ms=400)  # one device is set up after the other
    values = values_by_device(report)
    print(f"      PmSampling: values by device {values}")
    expect(len(values) == 2 and min(values.values()) > 0.5 * max(values.values()), f"counters of {values}")
    ledger_closes(report, stalls.launched(program, devices=2))
    program, report = on_two_devices(lab, "RangeProfiler", "--ranges", "kernels", ms=100)
    values, said = values_by_device(report), [m["text"] for m in report["messages"] if m["code"] == "range_profiler.uncounted"]
    print(f"      RangeProfiler: values by device {values}; {said}")
    expect(len(values) == 1 and said and "of another context" in said[0], f"counters of {values}, {said}")
    ledger_closes(report, stalls.launched(program, devices=2))


@case
def counters_begin_and_end_during_launches(lab):
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
    for scope, of in (("once", "most"), ("bench", "least")):  # the first kernel waits for its code
        expect(found[dram, scope]["values"] == 2 and found[dram, scope][of] > 20, f"{scope}: {found[dram, scope]}")
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


def metrics_of_kernels():
    """The metrics of each named set that are counted of kernels, by the engine's own table."""
    sets, table = {}, HERE.parent.parent / "src/backend/nvidia/library/metric_sets.def"
    for line in table.read_text().splitlines():
        begins, metric = re.match(r"SET\((\w+),", line), re.match(r'METRIC\("([^"]+)", (.*)\)', line)
        if begins:
            of = sets.setdefault(begins.group(1), [])
        elif metric and "RANGED" in metric.group(2):
            of.append(metric.group(1))
    return sets


FLOATS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_second"


# For each set what shows that it was counted: metric, phase, the least of its mean.
EVIDENCE = {
    "overview": ("sm__pipe_tensor_cycles_active" + counters.PCT, "tensor", 30),
    "memory": ("dram__bytes_read.sum.per_second", "copy", 5e11),
    "compute": ("sm__pipe_fma_cycles_active" + counters.PCT, "arithmetic", 20),
    "roofline": (FLOATS.format("ffma"), "arithmetic", 1e12),
}


def counters_of_a_set(lab, name, metrics):
    """Each metric has values in each phase; in a phase that has nothing to divide by, a rate has none."""
    _, _, report = lab.trace(lab.bin / "device_counters", "--ms", 100,
                             options=("-e", "RangeProfiler", "--ranges", "kernels", "--metrics", name))
    ran = {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "RangeProfiler"}
    if ran.get("ran_as") != "RangeProfiler":
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    found = counters.means(report, "kernel")
    unknown = {s["value"] for s in report["settings"] if s["name"] == "skipped_metric"}
    print(f"      {name}: {len(metrics)} metrics in {ran.get('passes')} passes, this device does not know {sorted(unknown)}")
    for metric in set(metrics) - unknown:
        for phase in counters.PHASES if "_rate" not in metric else ("copy",):
            expect((metric, phase) in found, f"{name}: {metric} has no values in {phase}")
    metric, phase, least = EVIDENCE[name]
    expect(metric not in unknown and found[metric, phase]["mean"] >= least, f"{metric} in {phase}: {found.get((metric, phase))}")
    ledger_closes(report)
    return found


@case
def counters_of_kernels_of_every_set(lab):
    sets = metrics_of_kernels()
    expect(set(sets) == set(EVIDENCE), f"sets of the table: {sorted(sets)}")
    found = {name: counters_of_a_set(lab, name, metrics) for name, metrics in sets.items()}["roofline"]
    operations = ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma")
    without = [op for op in operations if (FLOATS.format(op), "arithmetic") not in found]
    expect(not without, f"the roofline has no {without}")
    floats = {op: found[FLOATS.format(op), "arithmetic"]["mean"] for op in operations}
    print(f"      arithmetic, operations a second: {floats}")
    expect(sum(floats[op] for op in ("dadd", "dmul", "dfma")) == 0, f"double precision, which it does not use: {floats}")
    expect(found[FLOATS.format("ffma"), "copy"]["mean"] < 0.01 * floats["ffma"], "a copy that multiplies and adds")


def ranged(lab, *arguments, name):
    """Runs device_counters with a set that is counted by scopes: the report, and the settings of the engine."""
    _, _, report = lab.trace(lab.bin / "device_counters", *arguments,
                             options=("-e", "RangeProfiler", "--ranges", "scopes", "--metrics", name))
    ran = {}
    for s in report["settings"]:
        if s["engine"] == "RangeProfiler":
            ran.setdefault(s["name"], []).append(s["value"])
    if ran.get("ran_as") != ["RangeProfiler"]:
        raise Skipped(f"ran as {ran.get('ran_as')}: {ran.get('why')}")
    return report, ran


def of_what_is_there(metric, scopes):
    """The scopes in which a metric has a value: a rate has none if there is nothing to divide by, and only a copy
    surely reads through the caches."""
    return [scope for scope in scopes if "_rate" not in metric or scope in ("copy", "once", "bench")]


def counted_and_left(name, metrics, report, ran):
    """Checks that each metric of the set is counted in the one pass of a scope, or reported as left out; how many of
    each."""
    counted, left = set(ran.get("metric", ())), set(ran.get("skipped_metric", ()))
    expect(ran.get("passes") == ["1"], f"{name}: passes of a scope: {ran.get('passes')}")
    expect(ran.get("counts") == ["outermost scopes"] and ran.get("preset") == [name], f"{name}: {ran}")
    expect(counted and counted | left == set(metrics) and not counted & left,
           f"{name}: counted {sorted(counted)}, left out {sorted(left)}, of {sorted(metrics)}")
    reported = [m["text"] for m in report["messages"] if m["code"] == "range_profiler.passes"]
    expect(bool(left) == bool(reported) and (not left or any(metric in reported[0] for metric in left)), f"{name}: left out {left}, reported {reported}")
    values = {c["metric"] for c in report["counters"] if c["source"] == "range"}
    expect(not values & (left - set(",".join(ran.get("metrics_of_repeated", ())).split(","))), f"{name}: values of {left}")
    return counted, left


@case
def counters_of_scopes_of_every_set(lab):
    """Scopes are counted in one pass, since the program does not say that they can be repeated."""
    for name, metrics in metrics_of_kernels().items():
        report, ran = ranged(lab, "--ms", 100, name=name)
        counted, left = counted_and_left(name, metrics, report, ran)
        found = counters.means(report, "range")
        print(f"      {name}: {len(counted)} metrics in one pass, without {sorted(left)}", flush=True)
        expect("passes_of_repeated" not in ran, f"{name}: repeated what is not: {ran}")
        for metric in counted:
            for scope in of_what_is_there(metric, counters.PHASES):
                c = found.get((metric, scope))
                expect(c and c["values"] == 1, f"{name}: {metric} in {scope}: {c}")
        metric, scope, least = EVIDENCE[name]
        expect(metric in left or found[metric, scope]["mean"] >= least, f"{metric} in {scope}: {found.get((metric, scope))}")
        ledger_closes(report)


@case
def counters_of_repeated_scopes_of_every_set(lab):
    """Metrics that take more passes are counted if the scope is repeated, and only then."""
    for name, metrics in metrics_of_kernels().items():
        report, ran = ranged(lab, "--bench", 1, name=name)
        counted, left = counted_and_left(name, metrics, report, ran)
        found = counters.means(report, "range")
        more = set(",".join(ran.get("metrics_of_repeated", ())).split(",")) - {""}
        passes = int(ran.get("passes_of_repeated", ["1"])[0])
        print(f"      {name}: once {len(counted)} metrics, repeated {len(more)} in {passes} passes, which adds "
              f"{sorted(more - counted)}; never {sorted(left - more)}", flush=True)
        expect(not more or (1 < passes <= 5 and counted <= more <= counted | left), f"{name}: repeated {sorted(more)}")
        expect(bool(more) == any(m["code"] == "range_profiler.repeated" for m in report["messages"]), f"{name}: not reported")
        expect(name != "overview" or "lts__t_sector_hit_rate.pct" in more, f"{name}: nothing takes a second pass: {ran}")
        for metric in counted | more:
            for scope, has in (("once", metric in counted), ("bench", metric in (more or counted))):
                values = found.get((metric, scope), {"values": 0})["values"]
                expect(values == 2 * has or "_rate" in metric and values <= 2 * has,
                       f"{name}: {metric} in {scope}: {values} values, {2 * has} expected")
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
def counters_and_a_fault(lab):
    """Counters over time, of scopes, and of kernels, which are repeated: the program's error and its end do not
    change."""
    for engine, *options in (("PmSampling",), ("RangeProfiler",), ("RangeProfiler", "--ranges", "kernels")):
        out, _, report = lab.trace(lab.programs, "fault", code=3, options=("-e", engine, *options))
        ledger = report["ledger"]
        print(f"      {engine} {' '.join(options)}: {ledger['launches']} launches, {ledger['kernels_written']} written, "
              f"{ledger['verdict']}: {ledger['missing']}")
        expect("illegal" in json.loads(out)["error"], out)
        expect(report["session"]["end_reason"] == "exit", f"{engine}: the end: {report['session']}")
        expect(ledger["launches"] >= 100, f"{engine}: {ledger['launches']} launches")
        complete = ledger["kernels_written"] == ledger["launches"]
        expect(complete or ledger["missing"], f"{engine}: kernels are missing, and nothing says so: {ledger}")
        if engine != "PmSampling":  # with it records come late
            expect(ledger["kernels_written"] >= 100, f"{engine}: the kernels before the fault are missing")

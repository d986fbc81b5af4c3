#!/usr/bin/env python3
"""Runs the overhead benchmarks on a machine with a GPU; prints a table, writes JSON.

    bench/overhead/run.py [--build DIR] [--json FILE] [--only launch,pytorch,...] [--quick]
    bench/overhead/run.py --table FILE...

Every comparison interleaves its two sides: rounds inside one process where the
state can be switched there, else alternating processes. The script prints the median and the 95 % interval of the
difference (bootstrap over paired rounds). --table runs nothing: it prints the tables of docs/benchmarks.md from files
of --json.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import table

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 300  # seconds a program may take
# pc_window_every_ms, from the end of a window to the next one: the value here, and the default; pc_window_for_ms.
WINDOW_EVERY_MS, WINDOW_DEFAULT_MS, WINDOW_FOR_MS = 1500, 30000, 100


def interval(samples, resamples=4000):
    """Median of the samples and the 95 % bootstrap interval of that median."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(samples, k=len(samples))) for _ in range(resamples))
    return statistics.median(samples), medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def versus(ours, base):
    """Statistics of paired rounds: ours minus base, and ours over base."""
    difference = interval([a - b for a, b in zip(ours, base)])
    ratio = interval([a / b for a, b in zip(ours, base)])
    return {"base": statistics.median(base), "ours": statistics.median(ours), "rounds": len(base),
            "difference": difference, "ratio": ratio}


def unpaired(ours, base, of, resamples=2000):
    """The statistics of series without pairs: a figure (`of`) of ours compared with that of base, each side resampled
    separately. Chunks of one block are similar, so the interval is narrower than one over blocks would be."""
    rng = random.Random(1)
    pairs = [(of(rng.choices(ours, k=len(ours))), of(rng.choices(base, k=len(base)))) for _ in range(resamples)]

    def with_interval(compare):
        values = sorted(compare(a, b) for a, b in pairs)
        return compare(of(ours), of(base)), values[int(0.025 * resamples)], values[int(0.975 * resamples)]
    return {"base": of(base), "ours": of(ours), "rounds": len(base), "difference": with_interval(lambda a, b: a - b),
            "ratio": with_interval(lambda a, b: a / b)}


def around(block, steps, begin, end):
    """Returns how many seconds longer the rounds take that end within [begin, end] s of a block; block has ms a step of each
    round."""
    at, near, other = 0, [], []
    for ms in block:
        at += ms * steps / 1e3
        (near if begin <= at <= end else other).append(ms)
    return (sum(near) - len(near) * statistics.mean(other)) * steps / 1e3


def aimed(row, of, most, upper_end=False):
    """A row with its target of docs/benchmarks.md, for the figure or for the upper end of its interval."""
    value = row[of][2 if upper_end else 0] if isinstance(row[of], tuple) else row[of]
    return {**row, "target": {"of": of, "most": most, "upper_end": upper_end, "met": value <= most}}


# Targets of rows whose measurement sets none: the value of the row, its maximum, whether the interval's upper end
# counts.
TARGETS = {
    "disabled over bare, ns": ("ratio", 1.02, True),
    "monitor over bare, ns": ("ratio", 1.02, True),
    "trace over floor, ns": ("difference", 150),
    "trace over floor, ms a step": ("ratio", 1.03),
    "trace over torch.profiler, ms a step": ("ratio", 1.0),
    "Sync over bare, ms a step": ("ratio", 1.03),
    "Trace+launch over Trace, ms a step": ("ratio", 1.20),
    "scope on, ns": ("ours", 100),
    "scope off, ns": ("ours", 3),
    "trace over floor, ms a process": ("difference", 150),
    "trace over floor, MiB resident": ("difference", 40),
    "log of a kernel, plain, bytes": ("ours", 30),
    "log of a kernel, compressed, bytes": ("ours", 8),
}


class Bench:
    def __init__(self, args):
        self.bin = pathlib.Path(args.build).resolve() / "bin"
        self.quick = args.quick
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-bench-"))
        self.environment = dict(os.environ)

    def run(self, command, patience=PATIENCE, **extra):
        """Runs a command; returns the last line of its stdout as JSON."""
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=patience,
                              env={**self.environment, **extra}, cwd=self.work)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])

    def traced(self, name, command, *options):
        """Runs a command under `gpufl trace`; also returns the report as JSON."""
        out = self.work / name
        shutil.rmtree(out, ignore_errors=True)
        result = self.run([self.bin / "gpufl", "trace", "--no-report", "-o", out, *options, "--", *command])
        return result, self.report(out)

    def report(self, path):
        done = subprocess.run([self.bin / "gpufl", "report", "--json", path], capture_output=True, text=True,
                              check=True)
        return json.loads(done.stdout)

    # -- the measurements --------------------------------------------------------------

    def launch(self):
        """Empty launch: Trace over the floor, inside one process."""
        rounds, launches = (10, 20000) if self.quick else (60, 50000)
        r = self.run([self.bin / "bench_launch", "trace", "--rounds", rounds, "--launches", launches])
        return {"trace over floor, ns": versus(r["trace"], r["floor"]),
                "trace in a scope over floor, ns": versus(r["trace_in_scope"], r["floor"]),
                "bare, same process before attaching, ns": {"ours": statistics.median(r["bare_before"])}}

    def pairs(self):
        """Empty launch: disabled and Monitor over bare, inside one process."""
        rounds, launches = (10, 20000) if self.quick else (60, 50000)
        r = self.run([self.bin / "bench_launch", "pairs", "--rounds", rounds, "--launches", launches])
        return {"disabled over bare, ns": versus(r["disabled"], r["bare"]),
                "monitor over bare, ns": versus(r["monitor"], r["bare"])}

    def pytorch(self):
        """Training step: Trace over the floor, in one process."""
        step = HERE / "pytorch_step.py"
        rounds = 8 if self.quick else 250
        r, report = self.traced("pytorch", ["python3", step, "floor", "--rounds", rounds, "--steps", 5])
        return {"trace over floor, ms a step": versus(r["trace"], r["floor"]),
                "kernels of a step": {"ours": self.run(["python3", step, "count"])["kernels"]}}

    def profiler(self):
        """The training step under Trace, under torch.profiler (CUDA activity) and bare, in turn inside one process,
        because processes of one program differed by 20 % on a virtual machine. Several processes are measured.

        Comparable: both consume CUPTI's record of every kernel of the same steps, and the result has the numbers of
        kernels that they recorded. Ours also records waits with their stacks and writes its log meanwhile; Kineto also
        takes CUPTI's record of every runtime call, and keeps all in memory. The beginning and the end of a session, at
        which Kineto assembles its events, are not compared."""
        rounds, processes = (4, 1) if self.quick else (20, 3)
        log, of = self.work / "turns", {"before": [], "bare": [], "Trace": [], "profiler": [], "kernels": []}
        ratios = []
        for _ in range(processes):
            r = self.run(["python3", HERE / "pytorch_step.py", "turns", "--library",
                          self.bin.parent / "lib" / "libgpufl.so", "--rounds", rounds], GPUFL_LOG_PATH=str(log))
            ratios.append(round(statistics.median(a / b for a, b in zip(r["Trace"], r["profiler"])), 3))
            for series in of:
                of[series] += r[series]
        return {"trace over torch.profiler, ms a step": versus(of["Trace"], of["profiler"]),
                "trace over bare, ms a step": versus(of["Trace"], of["bare"]),
                "torch.profiler over bare, ms a step": versus(of["profiler"], of["bare"]),
                "bare over the rounds before either, ms a step": versus(of["bare"], of["before"]),
                "torch.profiler after trace over after bare": versus(of["profiler"][0::2], of["profiler"][1::2]),
                "trace over torch.profiler by process": ratios,
                "kernels recorded": {"trace": self.report(log)["ledger"]["kernels_written"],
                                     "torch.profiler": sum(of["kernels"])},
                "rounds": of}

    def stacks(self):
        """The training step with host stacks: engine Sync over bare, stacks at every launch over stacks
        at waits; each pair alternates inside one process."""
        step, rounds = HERE / "pytorch_step.py", 8 if self.quick else 60
        result = {}
        for ours, base in (("Sync", "bare"), ("Trace+launch", "Trace")):
            log = self.work / f"stacks-{ours}"
            r = self.run(["python3", step, "states", "--library", self.bin.parent / "lib" / "libgpufl.so",
                          "--states", f"{base},{ours}", "--rounds", rounds], GPUFL_LOG_PATH=str(log))
            result[f"{ours} over {base}, ms a step"] = versus(r[ours], r[base])
            ledger = self.report(log)["ledger"]
            result[f"stacks of {ours} and {base}"] = {
                "captured": ledger["stacks_captured"], "lost": ledger["stacks_lost"],
                "mean ns": ledger["cost_stacks"] / max(1, ledger["stacks_captured"])}
        return result

    def idle(self):
        """The training step with the stacks of some launches and the samples of threads that name the line of idle
        time, over Trace without them, switched inside one session in blocks of on off off on. The ledger says how much
        time the captures took on the launching threads, and the share of a core that the sampling thread used."""
        log = self.work / "idle"
        r = self.run(["python3", HERE / "pytorch_step.py", "switched", "--library", self.bin.parent / "lib" / "libgpufl.so",
                      "--settle", 3, "--steps", 2, "--seconds", 20 if self.quick else 280], patience=2 * PATIENCE,
                     GPUFL_LOG_PATH=str(log))
        report, launches = self.report(log), {}
        for state in ("true", "false"):
            launches[state] = self.run([self.bin / "bench_launch", "trace", "--rounds", 10 if self.quick else 60,
                                        "--launches", 20000 if self.quick else 50000], GPUFL_ENABLE_STACK_TRACE="true",
                                       GPUFL_IDLE_STACKS=state, GPUFL_HOST_SAMPLES_HZ="100" if state == "true" else "0")
        ledger, seconds = report["ledger"], r["on_s"]
        return {"trace with idle's lines over floor, ns": versus(launches["true"]["trace"], launches["true"]["floor"]),
                "trace without idle's lines over floor, ns": versus(launches["false"]["trace"], launches["false"]["floor"]),
                "trace over trace without idle's lines, ms a step": versus(r["on"], r["off"]),
                "the same, processor time of the launching thread": versus(r["thread_on"], r["thread_off"]),
                "the same, median, trimmed geometric mean, half its 95 % interval, blocks": {"wall": r["ratio_wall"], "thread": r["ratio_thread"]},
                "captures and samples": {"captured": ledger["launches_captured"], "lost": ledger["captures_lost"],
                                         "samples": ledger["host_samples"], "late": ledger["host_samples_late"],
                                         "captures, % of the time": ledger["cost_stacks"] / seconds / 1e7,
                                         "sampling thread, % of a core": ledger["cost_host_samples"] / seconds / 1e7}}

    def scope(self):
        r = self.run([self.bin / "bench_scope"])
        return {"scope on, ns": {"ours": r["on_ns"]}, "scope off, ns": {"ours": r["off_ns"]}}

    def startup(self):
        """Start-up and shutdown of a program with one launch: Trace over the floor."""
        times = {"bare": [], "floor": [], "trace": []}
        for _ in range(5 if self.quick else 20):
            for state, options in (("bare", None), ("floor", ["--option", "bench_floor=true"]), ("trace", [])):
                command = [self.bin / "bench_launch", "once"]
                start = time.perf_counter()
                if options is not None:
                    out = self.work / "startup"
                    shutil.rmtree(out, ignore_errors=True)
                    command = [self.bin / "gpufl", "trace", "--no-report", "-o", out, *options, "--", *command]
                subprocess.run([str(c) for c in command], check=True, capture_output=True,
                               env=self.environment, cwd=self.work)
                times[state].append((time.perf_counter() - start) * 1e3)
        return {"trace over floor, ms a process": versus(times["trace"], times["floor"]),
                "trace over bare, ms a process": versus(times["trace"], times["bare"])}

    def memory(self):
        """Resident memory at 100 000 kernels/s: Trace over the floor, alternating processes."""
        command, seconds = self.bin / "bench_launch", 4 if self.quick else 10
        rss = {True: [], False: []}
        for _ in range(2):
            for floor in (True, False):
                r = self.run([command, "rate", "--seconds", seconds, *(["--floor"] if floor else [])])
                rss[floor].append(r["rss_kib"] / 1024)
        return {"trace over floor, MiB resident": versus(rss[False], rss[True])}

    def graph(self):
        """Graph replay at 0.9 million kernels a second for 60 s: nothing lost."""
        seconds = 5 if self.quick else 60
        r, report = self.traced("graph", [self.bin / "bench_graph", "--seconds", seconds, "--per-second", 900000])
        return {"graph replay": {**r, "ledger": report["ledger"]}}

    def graph_modes(self):
        """Graph replay as fast as it goes: by node, as a whole, and bare, in alternating processes."""
        rounds, seconds = (2, 1) if self.quick else (5, 1.5)
        us = {"bare": [], "nodes": [], "launches": []}
        verdicts = set()
        for _ in range(rounds):
            for mode in us:
                command = [self.bin / "bench_graph", "--seconds", seconds]
                if mode == "bare":
                    r = self.run(command)
                else:
                    r, report = self.traced("graph-modes", command, "--option", f"cuda_graph_activity={mode}")
                    verdicts.add((mode, report["graphs"]["activity"], report["ledger"]["verdict"]))
                us[mode].append(r["seconds"] / r["kernels"] * 1e6)
        return {"by node over bare, us a kernel": versus(us["nodes"], us["bare"]),
                "as a whole over bare, us a kernel": versus(us["launches"], us["bare"]),
                "recorded": sorted(verdicts), "rounds": us}

    def soak(self):
        """Graph replay as fast as it goes, past 30 million kernels in one process."""
        kernels = 3_000_000 if self.quick else 40_000_000
        r, report = self.traced("soak", [self.bin / "bench_graph", "--seconds", 120, "--kernels", kernels])
        return {"soak": {**r, "ledger": report["ledger"]}}

    def size(self):
        """Bytes of log per kernel on the PyTorch program, plain and compressed."""
        _, report = self.traced("size", ["python3", HERE / "pytorch_step.py", "bare", "--rounds", 20])
        kernels = report["ledger"]["kernels_written"]
        compressed = sum(f.stat().st_size for f in (self.work / "size").rglob("*.gz"))
        return {"log of a kernel, plain, bytes": {"ours": report["ledger"]["bytes_written"] / kernels, "kernels": kernels},
                "log of a kernel, compressed, bytes": {"ours": compressed / kernels, "kernels": kernels}}

    # -- the engines -------------------------------------------------------------------

    def blocks(self, base, ours, rounds, seconds, **extra):
        """Runs blocks of two states of bench_sampling in turn, inside one process."""
        return self.run([self.bin / "bench_sampling", "--states", f"{base},{ours}", "--rounds", rounds, "--seconds",
                         seconds, "--log", self.work / "sampling"], **extra)

    def launches(self, base, ours, rounds, seconds, target, figure="ratio"):
        """Empty launch: one state over another, by the means and by the medians of chunks; target holds for both."""
        r = self.blocks(base, ours, rounds, seconds)
        return {f"{ours} over {base}, {name}, ns": aimed(unpaired(r[ours]["ns"], r[base]["ns"], of), figure, target)
                for name, of in (("means", statistics.mean), ("medians", statistics.median))}, r

    def sampling(self):
        """Empty launch: PcSampling without kernel records over bare, with them over Trace."""
        rounds, seconds = (1, 1) if self.quick else (5, 5)
        result, r = self.launches("bare", "none", rounds, seconds, 300, "difference")
        # Only the first blocks are in a process that has not sampled before.
        begin = r["none"]["init_ms"][0] + r["none"]["start_ms"][0]
        more = (r["none"]["rss_kib"][0] - r["bare"]["rss_kib"][0]) / 1024
        result["none, start-up in a new process, ms"] = aimed({"ours": begin}, "ours", 400)
        result["none over bare, MiB resident"] = aimed({"ours": more}, "ours", 200)
        return {**result, **self.launches("trace", "all", rounds, seconds, 1.10)[0]}

    def counters(self):
        """Empty launch: PmSampling without kernel records over bare."""
        return self.launches("bare", "counters", *((1, 1) if self.quick else (5, 5)), 1.01)[0]

    def between(self):
        """Empty launch after a window of PcSampling, with CUPTI detached, over bare."""
        return self.launches("bare", "between:PcSampling", *((1, 4) if self.quick else (4, 8)), 1.01)[0]

    def windows(self):
        """Empty launch: PcSampling with windows of kernel records over PcSampling without; the share at the default
        interval."""
        rounds, seconds = (1, 3) if self.quick else (3, 9)
        r = self.blocks("none", "windows", rounds, seconds, GPUFL_PC_WINDOW_EVERY_MS=str(WINDOW_EVERY_MS))
        row = unpaired(r["windows"]["ns"], r["none"]["ns"], statistics.mean)
        share = (row["ratio"][0] - 1) * (WINDOW_EVERY_MS + WINDOW_FOR_MS) / (WINDOW_DEFAULT_MS + WINDOW_FOR_MS)
        return {f"windows every {WINDOW_EVERY_MS / 1000} s over none, means, ns": row,
                f"the same every {WINDOW_DEFAULT_MS / 1000:.0f} s, %": aimed({"ours": round(100 * share, 3)}, "ours", 1)}

    def pytorch_sampling(self):
        """Training step: PcSampling without kernel records over bare, each block in a process of its own."""
        rounds, seconds, ours = *((1, 2) if self.quick else (8, 5)), "PcSampling:none"
        r = self.run(["python3", HERE / "pytorch_step.py", "blocks", "--apart", "--library",
                      self.bin.parent / "lib" / "libgpufl.so", "--states", f"bare,{ours}", "--rounds", rounds,
                      "--seconds", seconds, "--steps", 5], GPUFL_LOG_PATH=str(self.work / "pytorch-sampling"))

        def over(of):
            return versus([of(block) for block in r[ours]["ms"]], [of(block) for block in r["bare"]["ms"]])
        begin = {"ours": tuple(r["over"][f"{ours} over bare"]["begin_ms"])}
        return {f"{ours} over bare, means, ms a step": aimed(over(statistics.mean), "ratio", 1.08, upper_end=True),
                f"{ours} over bare, medians, ms a step": aimed(over(statistics.median), "ratio", 1.08, upper_end=True),
                f"{ours}, context and first step over bare, ms": aimed(begin, "ours", 400),
                f"{ours} over bare, MiB resident": versus(r[ours]["rss_mib"], r["bare"]["rss_mib"])}

    def pytorch_again(self):
        """Training step: repeated windows over bare; each block is a process of its own and has one window. The cost of
        a window compares the steps around it with the others of its block, because processes differ by more than that."""
        rounds, every, lasts, settle = (1, 5, 0.3, 4) if self.quick else (9, 12, 0.5, 5)
        name, steps = "PcSampling:none", 5
        r = self.run(["python3", HERE / "pytorch_step.py", "blocks", "--apart", "--library",
                      self.bin.parent / "lib" / "libgpufl.so", "--states", f"bare,{name}", "--rounds", rounds,
                      "--seconds", every, "--settle", settle, "--steps", steps], patience=2 * PATIENCE,
                     GPUFL_LOG_PATH=str(self.work / "pytorch-again"), GPUFL_WINDOW_EVERY_MS=str(1000 * every),
                     GPUFL_WINDOW_FOR_MS=str(int(1000 * lasts)), GPUFL_WINDOW_DETACH="true", GPUFL_WINDOW_REST_MS="500")
        ours, bare, text = r[name], r["bare"], f"{name}, {lasts} s every {every} s over bare"
        cost = [around(block, steps, every - settle - 0.5, every - settle + lasts + 2.5) for block in ours["ms"]]

        def over(of):
            return aimed(versus([of(b) for b in ours["ms"]], [of(b) for b in bare["ms"]]), "ratio", 1.08, upper_end=True)
        return {f"{text}, means, ms a step": over(statistics.mean), f"{text}, medians, ms a step": over(statistics.median),
                f"{text}, means of all processes": {"ours": r["over"][f"{name} over bare"]["ratio_of_means"]},
                f"{text}, MiB resident": versus(ours["rss_mib"], bare["rss_mib"]),
                f"{name}, a window of {lasts} s takes, s": {"ours": interval(cost)}}

    def counting(self):
        """A heavy kernel: SassMetrics over CUPTI's SASS Metrics API alone, and over bare, alternating processes."""
        rounds, ms = (1, 1500) if self.quick else (4, 5500)
        of = {side: [] for side in ("bare", "cupti", "gpufl")}
        for number in range(rounds):
            for side in list(of)[number % 3:] + list(of)[:number % 3]:
                of[side].append(self.run([self.bin / "bench_counting", side, "--ms", ms, "--log",
                                          self.work / "counting"]))

        def over(base, figure):
            return versus([figure(r) for r in of["gpufl"]], [figure(r) for r in of[base]])

        def steady(middle):  # chunks of about 100 ms: the first half second is dropped
            return lambda r: middle(r["ms"][5:])
        result = {f"SassMetrics over the API alone, {name}, ms": aimed(over("cupti", steady(middle)), "ratio", 1.10)
                  for name, middle in (("means", statistics.mean), ("medians", statistics.median))}
        for figure, name in (("first_ms", "first launch"), ("begin_ms", "to begin"), ("end_ms", "to end")):
            result[f"{name}, SassMetrics over the API alone, ms"] = over("cupti", lambda r, figure=figure: r[figure])
        return {**result, "SassMetrics over bare, medians, ms": over("bare", steady(statistics.median))}


def machine():
    def output(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True).stdout.strip()
        except OSError:
            return ""
    return {"gpu": output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
            "cpu": re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text() + "\nmodel name : ?").group(1),
            "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d")}


def show_target(target):
    """The target, and whether it was met."""
    most = {"difference": "{:+g}", "ratio": "x{:g}"}.get(target["of"], "{:g}").format(target["most"])
    return f"   {'upper end' if target['upper_end'] else 'target'} <= {most}: {'met' if target['met'] else 'missed'}"


def show(name, value):
    aim = show_target(value["target"]) if "target" in value else ""
    if "difference" in value:
        d, r = value["difference"], value["ratio"]
        return (f"{name:<52} {value['base']:>10.3f} {value['ours']:>10.3f}   {d[0]:+.3f} [{d[1]:+.3f}, {d[2]:+.3f}]"
                f"   x{r[0]:.4f} [{r[1]:.4f}, {r[2]:.4f}]   {value['rounds']} rounds{aim}")
    return f"{name:<52} " + json.dumps({k: v for k, v in value.items() if k != "target"}
                                       if isinstance(value, dict) else value) + aim


def main():
    names = ["launch", "pairs", "scope", "startup", "memory", "size", "pytorch", "profiler", "stacks", "idle", "graph",
             "graph_modes", "soak", "sampling", "pytorch_sampling", "pytorch_again", "counters", "counting", "between",
             "windows"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=HERE.parent.parent / "build")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--only", help="comma-separated: " + ",".join(names))
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="print what --json wrote as the tables of docs/benchmarks.md")
    args = parser.parse_args()
    if args.table:
        print(table.markdown([json.loads(pathlib.Path(name).read_text()) for name in args.table]), end="")
        return False
    bench = Bench(args)
    results = {"machine": machine()}
    print(f"{results['machine']['gpu']}, {results['machine']['cores']} cores, {results['machine']['date']}")
    print(f"{'':<52} {'base':>10} {'ours':>10}   difference [95 %]   ratio [95 %]")
    failed = False
    for name in (args.only.split(",") if args.only else names):
        try:
            results[name] = {row: aimed(value, *TARGETS[row]) if row in TARGETS else value
                             for row, value in getattr(bench, name)().items()}
            for row, value in results[name].items():
                if row != "rounds":  # for the JSON
                    print(show(row, value), flush=True)
        except (RuntimeError, subprocess.SubprocessError, OSError, LookupError, ArithmeticError, ValueError) as error:
            failed = True
            results[name] = {"error": str(error)}
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(results, indent=1))
    shutil.rmtree(bench.work, ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The first answer of torch.profiler and Holistic Trace Analysis (HTA) for the programs of tests/answers, on a GPU.

    bench/answers/torch_profiler.py --hta FOLDER --out FILE [--shard I/N] [--budget S] [--limit S] [NAME ...]

FOLDER holds a checkout of HolisticTraceAnalysis (its folder hta). Each program runs whole under torch.profiler; then HTA
reads the trace: where the GPU's time went, why it was idle, which kernel took most. As in torch.profiler's tutorial,
the script takes the group of calls with the most host time and the one with the most device time; with --stacks the
profiler keeps Python stacks and groups calls by them. FILE gets a line of JSON for each program. Analyses run while the
next program runs. Needs torch and what HTA needs (pandas, networkx), no network.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = HERE.parents[1] / "tests/answers"


def profiled(program, trace, stacks):
    """Child: runs the program under the profiler and writes the trace; prints what key_averages says first."""
    import runpy
    import torch
    from torch.profiler import ProfilerActivity, profile
    sys.argv = [program]
    sys.path.insert(0, os.path.dirname(program))
    begin = time.perf_counter()
    # Without `verbose` the profiler keeps no stacks for key_averages (PyTorch issue 100253).
    more = {"with_stack": True, "experimental_config": torch._C._profiler._ExperimentalConfig(verbose=True)} if stacks else {}
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], **more) as session:
        try:
            runpy.run_path(program, run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
        torch.cuda.synchronize()
    ran = time.perf_counter() - begin
    session.export_chrome_trace(trace)
    groups = session.key_averages(group_by_stack_n=12 if stacks else 0)
    summary = {"ran_s": ran, "export_s": time.perf_counter() - begin - ran}
    for which, time_of in (("host", lambda g: g.self_cpu_time_total), ("device", lambda g: g.self_device_time_total)):
        first = max(groups, key=time_of, default=None)
        if first is not None:
            summary[which] = {"name": first.key, "us": time_of(first), "of_us": sum(time_of(g) for g in groups), "stack": list(first.stack)}
    print("\n" + json.dumps(summary))


def pictures_left_out():
    """Replaces plotly, with which HTA draws, if it is absent: only HTA's tables are used here."""
    class Absent(types.ModuleType):
        __path__ = []

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return Absent(name)
    try:
        import plotly  # noqa: F401
    except ImportError:
        for name in ("plotly", "plotly.express", "plotly.graph_objects", "plotly.graph_objs", "plotly.subplots"):
            sys.modules[name] = Absent(name)


def analysed(hta, trace):
    """Child: HTA's tables of the trace as one object."""
    sys.path.insert(0, hta)
    pictures_left_out()
    from hta.trace_analysis import TraceAnalysis
    begin = time.perf_counter()
    analysis = TraceAnalysis(trace_files={0: trace}, trace_dir=os.path.dirname(trace))
    tables = {}
    asked = {"time": lambda: analysis.get_temporal_breakdown(visualize=False),
             "idle": lambda: analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0],
             "kernels": lambda: analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=3)[1]}
    for name, ask in asked.items():
        try:
            tables[name] = json.loads(ask().head(12).to_json(orient="records"))
        except Exception as error:  # that HTA cannot make a table is a result, too
            tables[name] = f"{type(error).__name__}: {error}"[:300]
    tables["analysis_s"] = time.perf_counter() - begin
    print("\n" + json.dumps(tables))


def run(command, limit, cwd):
    """The last line of the program as an object, or why there is none."""
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                          start_new_session=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"failed": f"not done after {limit} s"}
    if process.returncode:
        return {"failed": f"exit {process.returncode}: {err.strip().splitlines()[-1][:300] if err.strip() else ''}"}
    lines = [line for line in out.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"failed": "said nothing"}


def one(name, args, gate, write):
    """Profiles the program while the gate is held, then has HTA read the trace."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="profiler"))
    program = folder / f"{name}.py"
    shutil.copy(next((ANSWERS / "programs").rglob(program.name)), program)
    trace = folder / "trace.json"
    with gate:
        result = run([sys.executable, __file__, "--profiled", program, trace, "stacks" if args.stacks else ""], args.limit, folder)
    row = {"program": name, "profiler": result}
    if trace.exists():
        row["trace_mb"] = round(trace.stat().st_size / 1e6, 1)
        row["hta"] = run([sys.executable, __file__, "--analysed", args.hta.resolve(), trace], args.hta_limit, folder)
    shutil.rmtree(folder, ignore_errors=True)
    write(row)


def main():
    if sys.argv[1:2] == ["--profiled"]:
        return profiled(*sys.argv[2:])
    if sys.argv[1:2] == ["--analysed"]:
        return analysed(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hta", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--shard", default="1/1", help="I/N: every N-th program, from the I-th on")
    parser.add_argument("--budget", type=float, help="no program begins after so many seconds")
    parser.add_argument("--limit", type=float, default=60, help="seconds that one program may take under the profiler")
    parser.add_argument("--hta-limit", type=float, default=120, help="seconds that HTA may take for one trace")
    parser.add_argument("--stacks", action="store_true", help="with Python stacks")
    parser.add_argument("--at-once", type=int, default=1, help="programs that share the GPU: quicker, and their times are rough")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if not (args.hta / "hta/trace_analysis.py").exists():
        parser.error(f"{args.hta} has no folder hta: give the folder of a checkout of HolisticTraceAnalysis")
    shard, shards = map(int, args.shard.split("/"))
    programs = json.loads((ANSWERS / "programs.json").read_text())
    names = (args.names or [name for name, entry in programs.items() if not entry.get("clean")])[shard - 1::shards]
    begin = time.perf_counter()

    def write(row):
        with open(args.out, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"[{time.perf_counter() - begin:4.0f} s] {row['program']}: {json.dumps(row)[:160]}", flush=True)
    left_out = []

    def begun(name):
        if args.budget and time.perf_counter() - begin > args.budget:
            left_out.append(name)
        else:
            one(name, args, gate, write)
    gate = threading.Semaphore(args.at_once)
    with concurrent.futures.ThreadPoolExecutor(args.at_once + 3) as runs:  # three for analyses
        for done in [runs.submit(begun, name) for name in names]:
            done.result()
    if left_out:
        print(f"not begun: {', '.join(left_out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

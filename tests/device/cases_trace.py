"""The session has exactly the work that ran, also after crashes and kills."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from lab import case, expect, ledger_closes


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


@case
def a_faulting_program_keeps_its_error_and_exit_code(lab):
    out, _, report = lab.trace(lab.programs, "fault", code=3)
    expect("illegal" in json.loads(out)["error"], out)
    ledger = report["ledger"]
    expect(ledger["kernels_written"] >= 100, "the kernels before the fault are missing")
    # CUPTI cannot read the times of work that was under way in a context that is gone.
    expect(ledger["kernels_written"] + ledger["lost_time"] == ledger["launches"], f"the ledger: {ledger}")


@case
def underscore_exit(lab):
    _, _, report = lab.trace(lab.programs, "exit", code=5)
    expect(report is not None, "no session")


BRIEF = """
import os, time, torch
x = torch.ones(1024, device="cuda")
torch.cuda.synchronize()
n, end = 0, time.perf_counter() + 0.05
while time.perf_counter() < end:
    x.add_(1)
    n += 1
torch.cuda.synchronize()
print(n, flush=True)
os._exit(0)
"""


@case
def a_short_process_keeps_its_kernels(lab):
    """The process works for 50 ms and runs no exit handler."""
    out, err, report = lab.trace("python3", "-c", BRIEF)
    expect("the program ended by _exit, code 0" in err, err[-600:])
    launched, written = int(out.split()[-1]), report["ledger"]["kernels_written"]
    print(f"      {written} of {launched} kernels", flush=True)
    expect(written >= launched / 2, f"{written} of {launched} kernels")


WORKERS = """
import sys, torch, torch.multiprocessing as mp
def work(rank):
    x = torch.ones(1024, device="cuda")
    for _ in range(200):
        x.add_(1)
    torch.cuda.synchronize()
    print(float(x[0]), flush=True)
if __name__ == "__main__":
    mp.start_processes(work, nprocs=2, start_method=sys.argv[1])
"""


@case
def workers_of_torch_multiprocessing(lab):
    """Forked workers end by _exit, which is reported; spawned ones run their exit handlers. Each has a session with its
    kernels."""
    program = lab.work / "workers.py"
    program.write_text(WORKERS)
    for method, least in (("spawn", 402), ("fork", 200)):
        out, err, report = lab.trace("python3", program, method)
        expect(out.split() == ["201.0"] * 2, out)
        ends = re.search(r"2 processes ended (by _exit, code 0|without exit handlers)", err)
        expect(bool(ends) == (method == "fork"), f"{method}: {err[-600:]}")
        written = report["ledger"]["kernels_written"]
        print(f"      {method}: {written} of 402 kernels", flush=True)
        expect(len(report["sessions"]) == 2 and written >= least, f"{method}: {written} of 402 kernels")
        expect("workers.py" in json.dumps(report), f"{method}: no line of the workers")


@case
def abort_is_passed_through(lab):
    lab.trace(lab.programs, "abort", code=128 + signal.SIGABRT)


@case
def exit_while_threads_launch(lab):
    """A program that launches while the runtime is torn down may crash by itself: no more often under gpufl."""
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


# cuInit on a thread, gpufl_init on another one meanwhile: engine and delay (ms) are the arguments.
INIT_DURING = """
import ctypes, os, sys, threading, time
os.environ["GPUFL_PROFILING_ENGINE"] = sys.argv[1]
cuda, gpufl = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(sys.argv[3])
other = threading.Thread(target=cuda.cuInit, args=(0,))
other.start()
time.sleep(float(sys.argv[2]) / 1000)
began = gpufl.gpufl_init(None)
was_inside = other.is_alive()
other.join()
gpufl.gpufl_shutdown()
print(began, int(was_inside), flush=True)
"""


@case
def gpufl_init_while_another_thread_is_inside_cuinit(lab):
    """No thread hangs, at any moment of cuInit; how often gpufl_init returned first is printed."""
    library, inside = lab.bin.parent / "lib" / "libgpufl.so", 0
    for engine in ("Monitor", "Sync", "Trace", "PmSampling"):
        for delay in (0, 1, 2, 5, 10, 20, 50, 100):
            done = subprocess.run(["python3", "-c", INIT_DURING, engine, str(delay), library], cwd=lab.work, text=True,
                                  capture_output=True, timeout=60, env={**os.environ, "GPUFL_LOG_PATH": str(lab.work / "logs")})
            expect(done.returncode == 0 and done.stdout.split()[:1] == ["0"], f"{engine}, {delay} ms: {done.stdout} {done.stderr[-600:]}")
            inside += int(done.stdout.split()[1])
    print(f"      32 runs, gpufl_init returned before cuInit in {inside}", flush=True)

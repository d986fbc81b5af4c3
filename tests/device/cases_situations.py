"""Situations under every engine: the program ends as it does alone, with its own results."""
import json
import shutil

from cases_cupti import ENGINES, run
from cases_odd import GRAPH_BEFORE, JAX, TRITON
from lab import HERE, Skipped, case, expect

ANSWERS = HERE.parent / "answers" / "programs"
QUIET = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
LIMIT = 120  # seconds of one run; SassMetrics instruments kernels, which then take many times as long
LOADER = """
import torch
from torch.utils.data import DataLoader, TensorDataset
data = DataLoader(TensorDataset(torch.arange(512 * 64).reshape(512, 64)), batch_size=32, num_workers=2)
print(sum(int((b[0].cuda() ** 2).sum()) for b in data))
"""
WAIT = "time.sleep(4)"  # of GRAPH_BEFORE, for the window that opens meanwhile
SAME_SUM = ["env", "XLA_FLAGS=--xla_gpu_autotune_level=0"]  # XLA's tuner chooses by time, and sums differ in the last digits
PRINT, RESULT = "print(json.dumps({", 'print(json.dumps({"result": float(%s.sum()), '

SITUATIONS = {
    "dependent_launches": ["device_overlap", "dependent", 2000],
    "idling": ["device_overlap", "idle", 3, 2000],
    "green_contexts": ["device_overlap", "green", 500],
    "eight_threads": ["device_programs", "threads", 8, 2000],
    "copies": ["device_programs", "copies"],
    "graphs": ["device_programs", "graphs"],
    "many_streams": ["device_programs", "many"],
    "code_unloaded": ["device_programs", "unload"],
    "allocations": ["device_programs", "allocations"],
    "managed_memory": ["device_programs", "managed", 64],
    "peer_copies": ["device_programs", "peers"],
    "fork": ["device_programs", "fork"],
    "fault": ["device_programs", "fault"],
    "abort": ["device_programs", "abort"],
    "underscore_exit": ["device_programs", "exit"],
    "exit_while_threads_launch": ["device_programs", "late"],
    "contexts_come_and_go": ["device_programs", "churn"],
    "graph_of_torch": ["python3", "-c", GRAPH_BEFORE.replace(WAIT, "").replace(PRINT, RESULT % "y")],
    "loader_workers": ["python3", "-c", LOADER],
    "jax": [*SAME_SUM, "python3", "-c", JAX.replace(PRINT, RESULT % "x")],
    "triton": ["python3", "-c", TRITON.replace("range(300)", "range(30)")],
    "lightning_fit": ["python3", ANSWERS / "lightning_fit.py"],
    "jax_train": ["python3", ANSWERS / "jax_train.py"],
    "optax_eager": ["python3", ANSWERS / "optax_eager.py"],
    "hf_train": ["python3", ANSWERS / "hf_train.py"],
    "hf_generate": ["python3", ANSWERS / "hf_generate.py"],
}


def results_of(lines):
    """Returns what a program prints, key by key: {"1 kernels": 2000} for the second line {"kernels": 2000}."""
    found = {}
    for number, line in enumerate(lines):
        try:
            row = json.loads(line)
        except ValueError:
            row = line
        found.update({f"{number} {key}": value for key, value in row.items()} if isinstance(row, dict) else {number: row})
    return found


def under_every_engine(lab, name):
    command = [lab.bin / word if str(word).startswith("device_") else word for word in SITUATIONS[name]]
    times = 2 if "python3" in command else 8  # how exit_while_threads_launch ends differs from run to run
    alone = [run(command, lab.work, QUIET, LIMIT) for _ in range(times)]
    alone = [(code if code == "hangs" or code >= 0 else 128 - code, lines) for code, lines in alone]  # as a shell says it
    codes = {code for code, _ in alone}
    if 7 in codes or "python3" in command and 1 in codes:
        raise Skipped("the program does not run here alone either")
    first, *others = (results_of(lines) for _, lines in alone)
    steady = {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
    wrong, row = [], []
    for engine in ENGINES:
        out = lab.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        with open(lab.work / "stderr", "w+", errors="replace") as stderr:
            code, lines = run([lab.gpufl, "trace", "-q", "--no-report", "-o", out, "-e", engine, "--", *command],
                              lab.work, QUIET, LIMIT, stderr)
            said = stderr.seek(0) or stderr.read()
        got = results_of(lines)
        other = {key: got.get(key) for key, value in steady.items() if got.get(key) != value}
        if code not in codes or other:
            wrong.append(f"{engine}: exit {code}, alone {sorted(map(str, codes))}, other results {str(other)[:300]}")
            print(f"      {name} {engine}: {said[-1500:]}", flush=True)
        row.append(f"{engine} {'differs' if code not in codes or other else 'same'}")
    print(f"      {name}: alone {', '.join(sorted(map(str, codes)))}, {len(steady)} results; {', '.join(row)}", flush=True)
    expect(not wrong, " | ".join(wrong))


for situation in SITUATIONS:
    def under(lab, name=situation):
        under_every_engine(lab, name)
    under.__name__ = f"every_engine_{situation}"
    case(under)

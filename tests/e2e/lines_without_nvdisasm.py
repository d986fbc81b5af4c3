"""lines_without_nvdisasm.py GPUFL EXAMPLES - a session whose instructions nvdisasm disassembled on the machine with the
GPU, and this session without the instructions: then its lines come from the code's own table, and equal those of
nvdisasm, instruction by instruction. The report has equal lines for both."""
import glob
import gzip
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

gpufl, examples = sys.argv[1:3]
ENVIRONMENT = {**os.environ, "GPUFL_NVDISASM": "/nowhere/nvdisasm"}


def report(path):
    done = subprocess.run([gpufl, "report", "--json", "--kernel", "*", path], capture_output=True, text=True,
                          env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_instructions(session):
    """Makes the session one of this host whose code nobody has disassembled."""
    for path in glob.glob(f"{session}/*.log.gz"):
        with gzip.open(path, "rt") as file:
            lines = [json.loads(line) for line in file]
        for line in lines:
            if line["type"] == "header":
                line["host"] = socket.gethostname()
        with gzip.open(path, "wt") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines
                            if line["type"] != "instruction")


def instructions(of):
    return {(c["symbol"], i["offset"]): i for c in of["code"] for i in c["instructions"]}


def place(i):
    return i["file"], i["line"]


with tempfile.TemporaryDirectory() as work:
    session = pathlib.Path(work, "session")
    shutil.copytree(glob.glob(f"{examples}/train_loop_engines/2-PcSampling/*/")[0], session)
    by_nvdisasm = report(session)
    without_instructions(session)
    by_table = report(session)
    again = report(session)

theirs, ours = instructions(by_nvdisasm), instructions(by_table)
sampled = {at for at, i in theirs.items() if i["samples"]}
assert len(sampled) > 100, len(sampled)
assert sampled <= set(ours), sorted(sampled - set(ours))[:3]
both = [at for at in ours if at in theirs]
wrong = [(at, place(theirs[at]), place(ours[at])) for at in both if place(theirs[at]) != place(ours[at])]
assert not wrong, wrong[:5]
assert all(i["text"] is None for i in ours.values())
assert all("/nowhere/nvdisasm cannot be run" in c["no_text"] for c in by_table["code"])
lines = [[(line["file"], line["line"], line["samples"]) for line in c["lines"]] for c in by_nvdisasm["code"]]
assert lines == [[(line["file"], line["line"], line["samples"]) for line in c["lines"]] for c in by_table["code"]]
assert instructions(again) == ours
stalls = [[(i["id"], i["place"], i["line"]) for i in r["insights"] if i["category"] == "stall"] for r in (by_nvdisasm, by_table)]
assert stalls[0] == stalls[1], stalls
print(f"{len(both)} instructions, {len(sampled)} of them sampled, at the lines that nvdisasm reported")

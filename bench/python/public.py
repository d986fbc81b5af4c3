#!/usr/bin/env python3
"""Compares gpufl.analyzer with the method of the public client's analyzer: the kernels of one session as a DataFrame.

    gpufl sim --kernels 1000000 --scopes -o OURS && gpufl export -f gpuflight -o PUBLIC OURS
    PYTHONPATH=build/python bench/python/public.py OURS PUBLIC [--rounds N]

The public analyzer's method is rebuilt here from its columns: json parses each line, pandas gets the rows of each
batch, batches are concatenated, names are looked up in the dictionary lines, and details are joined by correlation id.
Ours reads the same files, and our own log of the same session. Each round is an interpreter of its own, with the
methods in turn; figures are medians of processor time.
"""
import argparse
import statistics
import subprocess
import sys

HEAD = """
import sys, time
import pandas
begin = time.process_time()
"""
TAIL = """
print(len(kernels), int(kernels.duration_ns.sum()), time.process_time() - begin)
"""
OURS = HEAD + """
from gpufl.analyzer import GpuFlightSession
kernels = GpuFlightSession(sys.argv[1]).kernels
""" + TAIL
PANDAS = HEAD + """
import glob, gzip, json
batches, details, names = [], [], {}
for path in sorted(glob.glob(sys.argv[1] + "/**/device.*", recursive=True)):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        for line in file:
            record = json.loads(line)
            kind = record.get("type")
            if kind == "kernel_event_batch":
                frame = pandas.DataFrame(record["rows"], columns=record["columns"])
                frame["start_ns"] = frame.pop("dt_ns") + record["base_time_ns"]
                batches.append(frame)
            elif kind == "kernel_detail":
                details.append(record)
            elif kind == "dictionary_update":
                names.update(record.get("kernel_dict", {}))
kernels = pandas.concat(batches, ignore_index=True)
kernels["name"] = kernels["kernel_id"].astype(str).map(names)
kernels["end_ns"] = kernels["start_ns"] + kernels["duration_ns"]
kernels["duration_ms"] = kernels["duration_ns"] / 1e6
if details:
    details = pandas.DataFrame(details).drop_duplicates("corr_id")
    kernels = kernels.merge(details.drop(columns=[c for c in details if c in kernels and c != "corr_id"]), on="corr_id", how="left")
""" + TAIL


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours")
    parser.add_argument("public")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ways = {"pandas, public log": (PANDAS, options.public), "ours, public log": (OURS, options.public),
            "ours, own log": (OURS, options.ours)}
    times = {name: [] for name in ways}
    said = set()
    for _ in range(options.rounds):
        for name, (code, path) in ways.items():
            done = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
            rows, total, seconds = done.stdout.split()
            times[name].append(float(seconds))
            said.add((rows, total))
    assert len(said) == 1, f"the ways do not agree on kernels and their time: {said}"
    slow = statistics.median(times["pandas, public log"])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"{name}: {median:.2f} s of processor time for {rows} kernels (x{slow / median:.1f} less)")


if __name__ == "__main__":
    main()

"""Checks what engine PmSampling must find in device_counters: each phase, identified by its scope, uses its part of the
device and no other. Prints a table of the findings, with Wrong for each that is not as expected.

    tests/device/counters.py REPORT.json     of `gpufl report --json`
"""
import json
import sys

PCT = ".avg.pct_of_peak_sustained_elapsed"
# metric, phase: least and most of its mean there, in percent.
EXPECTED = {
    ("gr__cycles_active" + PCT, "idle"): (0, 10),
    ("gr__cycles_active" + PCT, "copy"): (85, 100.5),
    ("gr__cycles_active" + PCT, "arithmetic"): (85, 100.5),
    ("sm__cycles_active" + PCT, "idle"): (0, 5),
    ("sm__cycles_active" + PCT, "arithmetic"): (85, 100.5),
    ("sm__pipe_tensor_cycles_active" + PCT, "idle"): (0, 1),
    ("sm__pipe_tensor_cycles_active" + PCT, "copy"): (0, 1),
    ("sm__pipe_tensor_cycles_active" + PCT, "arithmetic"): (0, 1),
    ("sm__pipe_tensor_cycles_active" + PCT, "tensor"): (30, 100.5),
    ("dram__read_throughput" + PCT, "idle"): (0, 2),
    ("dram__read_throughput" + PCT, "copy"): (25, 60),
    ("dram__write_throughput" + PCT, "copy"): (25, 60),
    ("dram__read_throughput" + PCT, "arithmetic"): (0, 2),
}


# The expected means of engine RangeProfiler, whose ranges are scopes.
RANGES = {
    ("sm__cycles_active" + PCT, "copy"): (85, 100.5),
    ("sm__cycles_active" + PCT, "arithmetic"): (85, 100.5),
    ("sm__pipe_tensor_cycles_active" + PCT, "arithmetic"): (0, 1),
    ("sm__pipe_tensor_cycles_active" + PCT, "tensor"): (30, 100.5),
    ("dram__throughput" + PCT, "copy"): (60, 100.5),
    ("dram__throughput" + PCT, "arithmetic"): (0, 3),
}


# The expected means of single kernels, which are repeated: the key's second part is the kernel.
KERNELS = {**RANGES, ("gpu__time_duration.sum", "copy"): (4e5, 1e6)}
EXPECTATIONS = {"sampled": EXPECTED, "range": RANGES, "kernel": KERNELS}
PHASES = ("copy", "arithmetic", "tensor")
BUSY = "gr__cycles_active" + PCT


class Wrong(Exception):
    pass


def subject(counter):
    if counter["source"] != "kernel":
        return counter["scope"]
    return next((p for p in PHASES if p in counter["kernel_symbol"]), counter["kernel_symbol"])


def means(report, source="sampled"):
    return {(c["metric"], subject(c)): c for c in report["counters"] if c["source"] == source}


def names(report):
    return sorted({f"{metric} in {scope}" for metric, scope in means(report)})


def next_to_kernels(report, found):
    """Compares how busy the device was in a phase by its counters and by the records of its kernels: [what differs]."""
    wrong = []
    for scope in report["scopes"] if report["ledger"]["kernels_written"] else ():
        if scope["name"] in PHASES:
            counted, recorded = found[BUSY, scope["name"]]["mean"], 100 * scope["gpu_ns"] / scope["wall_ns"]
            if abs(counted - recorded) > 2:
                wrong.append(f"{scope['name']}: busy {counted:.2f} %, by its kernels {recorded:.2f} %")
    return wrong


def check(report, show=print, counts=None, source="sampled"):
    found, wrong = means(report, source), []
    show("| metric | scope | values | mean | least | most |")
    show("|---|---|---|---|---|---|")
    for (metric, scope), c in sorted(found.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        show(f"| {metric} | {scope or '-'} | {c['values']} | {c['mean']:.4g} | {c['least']:.4g} | {c['most']:.4g} |")
    for key, (least, most) in EXPECTATIONS[source].items():
        if key not in found:
            wrong.append(f"{key[0]} has no samples in {key[1]}")
        elif not least <= found[key]["mean"] <= most:
            wrong.append(f"{key[0]} in {key[1]}: {found[key]['mean']:.4g} is not within {least} to {most}")
        elif counts and not counts[0] <= found[key]["values"] <= counts[1]:
            wrong.append(f"{key[0]} in {key[1]}: {found[key]['values']} samples, {counts} expected")
    wrong += next_to_kernels(report, found) if source == "sampled" and not wrong else []
    if wrong:
        raise Wrong("; ".join(wrong))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        check(json.load(file))

"""Checks what engine PcSampling must find in device_stalls: which reasons hold each kernel up, and that
shares of samples are shares of cycles. Prints a table of the findings, with Wrong for each that is not as expected.

    tests/device/stalls.py PROGRAM.json REPORT.json     what the program printed, `gpufl report --json`
"""
import json
import math
import sys

# kernel: the reasons of which one must come first, and the least part of the stalled samples that it must have.
EXPECTED = {
    "memory_latency": ({"long_scoreboard"}, 0.90),
    "barrier": ({"barrier"}, 0.70),
    "divergence": ({"branch_resolving", "no_instructions", "wait"}, 0.40),
    "uncoalesced": ({"long_scoreboard", "lg_throttle"}, 0.80),
    "bank_conflicts": ({"short_scoreboard", "mio_throttle"}, 0.80),
    "spills": ({"lg_throttle", "long_scoreboard"}, 0.80),
    "tensor_pipe": ({"math_pipe_throttle"}, 0.50),
}
RUNNING = {"selected", "not_selected"}
# Kernels differ in how many multiprocessors they keep busy at their ends: beyond what chance explains.
TAILS = 0.012


class Wrong(Exception):
    pass


def samples_of(report):
    """The samples of each kernel by reason, and those without an issue."""
    found = {}
    for group in report["samples"]["kernels"]:
        name = (group["symbol"] or "")
        kernel = next((k for k in EXPECTED if f"{len(k)}{k}E" in name), None)
        if kernel:
            all_, idle = found.setdefault(kernel, ({}, {}))
            all_[group["reason"]] = all_.get(group["reason"], 0) + group["samples"]
            idle[group["reason"]] = idle.get(group["reason"], 0) + (group["not_issued"] or 0)
    return found


def settings(report):
    return {s["name"]: s["value"] for s in report["settings"] if s["engine"] == "PcSampling"}


def launched(program, devices=1):
    """The launches by the program's own count; on each device one more prepared its memory."""
    return sum(kind["launches"] + kind["clock_reads"] for kind in program.values()) + devices


def check(program, report, show=print):
    """The device takes a sample once in a period of cycles of its multiprocessors, and lowers their clock if a kernel
    takes much power: shares of samples are not shares of time."""
    found, wrong = samples_of(report), []
    total = sum(sum(of.values()) for of, _ in found.values())
    ms = sum(kind["ms"] for kind in program.values())
    cycles = sum(kind["cycles"] for kind in program.values())
    show("| kernel | of the GPU time | of the cycles | of the samples | 95 % | held up by | without an issue |")
    show("|---|---|---|---|---|---|---|")
    for kernel, (reasons, least) in EXPECTED.items():
        if kernel not in found:
            wrong.append(f"{kernel} has no samples")
            continue
        of, idle = found[kernel]
        n = sum(of.values())
        share, part_of_cycles = n / total, program[kernel]["cycles"] / cycles
        margin = 1.96 * math.sqrt(share * (1 - share) / total)
        stalled = {reason: count for reason, count in of.items() if reason not in RUNNING}
        top = sorted(stalled.items(), key=lambda item: -item[1])[:3]
        part = sum(stalled.get(reason, 0) for reason in reasons) / sum(stalled.values())
        show(f"| {kernel} | {program[kernel]['ms'] / ms:.1%} | {part_of_cycles:.1%} | {share:.1%} | +- {margin:.1%} | "
             + ", ".join(f"{reason} {count / sum(stalled.values()):.0%}" for reason, count in top)
             + f" | {sum(idle.values()) / n:.0%} |")
        if top[0][0] not in reasons or part < least:
            wrong.append(f"{kernel}: {part:.0%} of its stalled samples wait for {sorted(reasons)}, most for {top[0][0]}")
        if abs(share - part_of_cycles) > TAILS + margin:
            wrong.append(f"{kernel}: {share:.1%} of the samples, {part_of_cycles:.1%} of the cycles")
    s, ledger = settings(report), report["ledger"]
    counted = int(s["driver_by_reason"]) + int(s["driver_dropped"]) + int(s["driver_other"])
    show(f"\nThe driver's own total: {s['driver_samples']} samples, {s['driver_by_reason']} by reason, "
         f"{s['driver_dropped']} dropped, {s['driver_other']} of other code; {s['driver_not_issued']} of those by "
         f"reason without an issue ({s['not_issued']}); {ledger['samples_recorded']} in the session.")
    if counted != int(s["driver_samples"]) or s["not_issued"] != "within":
        wrong.append("a sample is not counted once by the reasons without _not_issued")
    if ledger["samples_recorded"] != int(s["driver_by_reason"]):
        wrong.append("samples are missing in the session")
    if wrong:
        raise Wrong("; ".join(wrong))


def main():
    program, report = (json.load(open(path)) for path in sys.argv[1:3])
    try:
        check(program, report)
    except Wrong as error:
        sys.exit(f"WRONG: {error}")


if __name__ == "__main__":
    main()

"""Checks what engine SassMetrics must find in device_stalls: which kernels diverge, waste sectors, meet bank
conflicts or spill, and which do not; that every count is there; and the lines that the findings
name. Prints a table of the findings, with Wrong for each that is not as expected.

    tests/device/counts.py PROGRAM.json REPORT.json     what the program printed, `gpufl report --json`
"""
import json
import pathlib
import sys

from stalls import Wrong

SOURCE = pathlib.Path(__file__).resolve().parent / "stalls.cu"
KERNELS = ("memory_latency", "barrier", "divergence", "uncoalesced", "bank_conflicts", "spills", "tensor_pipe")
# rule: the one kernel that it must name, and the statement at which the finding must be; None: any.
FINDINGS = {
    "divergence": ("divergence", "WAYS("),
    "uncoalesced": ("uncoalesced", "sum += in["),
    "bank_conflicts": ("bank_conflicts", "sum += tile["),
}
INST, THREADS = "smsp__sass_inst_executed", "smsp__sass_thread_inst_executed"
SECTORS, IDEAL = "smsp__sass_sectors_mem_global", "smsp__sass_sectors_mem_global_ideal"
WAVES = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared"
WAVES_IDEAL, LOCAL = WAVES + "_ideal", "smsp__sass_sectors_mem_local"


def kernel_of(name):
    return next((k for k in KERNELS if name and f"::{k}(" in name), None)


def counts_of(report):
    found = {}
    for group in report["instructions"]["kernels"]:
        kernel = kernel_of(group["kernel"])
        if kernel and group["scope"] is None:
            found[kernel] = {k: v for k, v in group.items() if isinstance(v, int)}
    for other in report["instructions"]["other_metrics"]:
        kernel = kernel_of(other["kernel"])
        if kernel in found:
            found[kernel][other["metric"]] = found[kernel].get(other["metric"], 0) + other["value"]
    return found


def share(a, b):
    return f"{a / b:.1%}" if b else "-"


def check_finding(report, rule, kernel, statement, wrong):
    lines = SOURCE.read_text().splitlines()
    named = [i for i in report["insights"] if i["id"] == rule]
    of = {kernel_of(i["kernel"]) for i in named}
    if kernel not in of:
        wrong.append(f"{rule} does not name {kernel}: {sorted(map(str, of))}")
        return
    at = {i["line"] for i in named if kernel_of(i["kernel"]) == kernel}
    if not any(line and statement in lines[line - 1] for line in at):
        wrong.append(f"{rule} of {kernel} stands at {sorted(map(str, at))}, not at '{statement}'")


def check(program, report, show=print):
    found, wrong = counts_of(report), []
    show("| kernel | warp instructions | threads at work | sectors needed | wavefronts needed | local sectors |")
    show("|---|---|---|---|---|---|")
    for kernel in KERNELS:
        c = found.get(kernel)
        if not c:
            wrong.append(f"{kernel} has no counts")
            continue
        show(f"| {kernel} | {c[INST]:,} | {share(c[THREADS], 32 * c[INST])} | {share(c.get(IDEAL, 0), c.get(SECTORS, 0))}"
             f" | {share(c.get(WAVES_IDEAL, 0), c.get(WAVES, 0))} | {c.get(LOCAL, 0):,} |")
        for what, bad, of in (
                ("diverges", c[THREADS] < 0.5 * 32 * c[INST], "divergence"),
                ("wastes sectors", c.get(IDEAL, 0) < 0.5 * c.get(SECTORS, 0), "uncoalesced"),
                ("has bank conflicts", c.get(WAVES, 0) > 4 * c.get(WAVES_IDEAL, 0), "bank_conflicts"),
                ("spills", c.get(LOCAL, 0) > 0, "spills")):
            # A chain of loads from any address is as uncoalesced as possible.
            expected = kernel == of or (of == "uncoalesced" and kernel == "memory_latency")
            if bad != expected:
                wrong.append(f"{kernel} {what if bad else 'does not: ' + what}")
    if "uncoalesced" in found:
        p, sectors = program["uncoalesced"], found["uncoalesced"][SECTORS]
        want = p["launches"] * p["warps"] * (32 * p["steps"] + 4)
        show(f"\nuncoalesced: {sectors:,} sectors counted, {want:,} by its source.")
        if sectors != want:
            wrong.append(f"uncoalesced: {sectors} sectors counted, {want} by its source")
    for rule, (kernel, statement) in FINDINGS.items():
        check_finding(report, rule, kernel, statement, wrong)
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

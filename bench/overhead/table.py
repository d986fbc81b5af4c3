"""Converts the JSON of run.py --json to the Markdown tables of docs/benchmarks.md: one table for each topic, one line for each row."""
import re

# Each topic, with the measurements of run.py that belong to it.
TOPICS = (
    ("A launch and a scope", ("pairs", "launch", "scope")),
    ("A PyTorch step of 931 kernels", ("pytorch", "profiler", "stacks", "idle")),
    ("Start, memory, log, graphs", ("startup", "memory", "size", "graph", "soak", "graph_modes")),
    ("Engines beyond Trace", ("sampling", "pytorch_sampling", "pytorch_again", "windows", "counters", "counting", "between")),
)
# The page's names of run.py's rows; a row that is not here keeps its name.
SAMPLED, COUNTED = "PcSampling without kernel records", "SassMetrics, a matrix product"
NAMES = {
    "disabled over bare, ns": "empty launch, disabled over bare",
    "monitor over bare, ns": "empty launch, Monitor over bare",
    "trace over floor, ns": "empty launch, Trace over the floor",
    "trace in a scope over floor, ns": "empty launch in a scope, Trace over the floor",
    "bare, same process before attaching, ns": "empty launch, bare, before CUPTI is attached",
    "scope on, ns": "a scope, on",
    "scope off, ns": "a scope, off",
    "trace over floor, ms a step": "Trace over the floor",
    "trace over bare, ms a step": "Trace over bare",
    "torch.profiler over bare, ms a step": "torch.profiler over bare",
    "trace over torch.profiler, ms a step": "Trace over torch.profiler",
    "Sync over bare, ms a step": "Sync over bare, the loss read in each step",
    "Trace+launch over Trace, ms a step": "stacks at launches over stacks at waits",
    "trace with idle's lines over floor, ns": "empty launch, Trace with idle's lines over the floor",
    "trace without idle's lines over floor, ns": "empty launch, Trace without idle's lines over the floor",
    "trace over trace without idle's lines, ms a step": "Trace over Trace without idle's lines",
    "trace over floor, ms a process": "start-up and shutdown, Trace over the floor",
    "trace over bare, ms a process": "start-up and shutdown, Trace over bare",
    "trace over floor, MiB resident": "resident memory at 100 000 kernels/s, Trace over the floor",
    "log of a kernel, plain, bytes": "log bytes a kernel of the PyTorch program, plain",
    "log of a kernel, compressed, bytes": "log bytes a kernel of the PyTorch program, compressed",
    "graph replay": "graph replay at 0.9 million kernels/s",
    "soak": "graph replay as fast as it goes",
    "by node over bare, us a kernel": "graph replay, each kernel recorded, over bare",
    "as a whole over bare, us a kernel": "graph replay as a whole (`cuda_graph_activity=launches`) over bare",
    "none over bare, means, ns": f"{SAMPLED}, empty launch over bare, means",
    "none over bare, medians, ns": f"{SAMPLED}, empty launch over bare, medians",
    "none, start-up in a new process, ms": f"{SAMPLED}, start-up of a new process",
    "none over bare, MiB resident": f"{SAMPLED}, resident memory over bare",
    "all over trace, means, ns": "PcSampling with kernel records, empty launch over Trace, means",
    "all over trace, medians, ns": "PcSampling with kernel records, empty launch over Trace, medians",
    "PcSampling:none over bare, means, ms a step": f"{SAMPLED}, PyTorch step over bare, means",
    "PcSampling:none over bare, medians, ms a step": f"{SAMPLED}, PyTorch step over bare, medians",
    "PcSampling:none over bare, MiB resident": f"{SAMPLED}, resident memory of PyTorch over bare",
    "counters over bare, means, ns": "PmSampling at 1 ms, empty launch over bare, means",
    "counters over bare, medians, ns": "PmSampling at 1 ms, empty launch over bare, medians",
    "between:PcSampling over bare, means, ns": "between windows, `window_detach`, PcSampling over bare, means",
    "between:PcSampling over bare, medians, ns": "between windows, `window_detach`, PcSampling over bare, medians",
    "SassMetrics over the API alone, means, ms": f"{COUNTED} over CUPTI alone, means",
    "SassMetrics over the API alone, medians, ms": f"{COUNTED} over CUPTI alone, medians",
    "SassMetrics over bare, medians, ms": f"{COUNTED} over bare, medians",
}
HEAD = "| what | bare or floor | ours | difference or ratio [95 %] | target | verdict | run |\n|---|---|---|---|---|---|---|\n"
UNIT = re.compile(r", (ns|us|ms|s|MiB|bytes|%)\b[^,]*(?: resident)?$")


def figure(value, unit):
    """The value with three significant digits, or as a whole number from 100 on, with the unit."""
    digits = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".strip()


def ranged(values, form):
    """A figure with its interval, as run.py's statistics have both."""
    return f"{form(values[0])} [{form(values[1])}, {form(values[2])}]"


def compared(row, unit):
    """Ours compared with the base: the difference if the target is about it, else the ratio."""
    if row.get("target", {}).get("of") == "difference":
        return ranged(row["difference"], lambda v: f"{v:+.3g}") + f" {unit}".rstrip()
    return ranged(row["ratio"], lambda v: f"x{v:.3f}")


def target(row):
    """The target and the verdict; empty texts if the row has no target."""
    aim = row.get("target")
    if not aim:
        return "", ""
    most = {"difference": "{:+g}", "ratio": "x{:g}"}.get(aim["of"], "{:g}").format(aim["most"])
    return f"{'upper end ' if aim['upper_end'] else ''}≤ {most}", "met" if aim["met"] else "missed"


def line(name, row, run):
    """One row of a table; an empty text if the value is no measurement (a list of rounds, counts for the JSON alone)."""
    unit = UNIT.search(name)
    unit = unit.group(1) if unit else ""
    if not isinstance(row, dict):
        return ""
    if "ratio" in row:
        cells = [figure(row["base"], unit), figure(row["ours"], unit), compared(row, unit)]
    elif "ledger" in row:
        ledger = row["ledger"]
        complete = ledger["verdict"] == "complete"
        return (f"| {NAMES.get(name, name)} | {row['kernels']} launched | {ledger['kernels_written']} written | | nothing lost | "
                f"{'met' if complete else 'missed: the ledger is ' + ledger['verdict']} | {run} |\n")
    elif isinstance(row.get("ours"), (int, float)):
        cells = ["", figure(row["ours"], unit), ""]
    elif isinstance(row.get("ours"), (list, tuple)):
        cells = ["", ranged(row["ours"], lambda v: f"{v:.3g}") + f" {unit}".rstrip(), ""]
    else:
        return ""
    return "| " + " | ".join([NAMES.get(name, name), *cells, *target(row), run]).replace("  ", " ") + " |\n"


def markdown(results):
    """The tables of several runs; each row names its GPU and day. A measurement that failed has a row that says so."""
    text = ""
    for topic, parts in TOPICS:
        rows = ""
        for result in results:
            machine = result["machine"]
            run = f"{machine['gpu'].split(',')[0].replace('NVIDIA ', '') or 'no GPU'}, {machine['date']}"
            for part in parts:
                for name, row in result.get(part, {}).items():
                    if name == "error":
                        rows += f"| {part} | | | | | failed: {str(row).splitlines()[0]} | {run} |\n"
                    else:
                        rows += line(name, row, run)
        if rows:
            text += f"## {topic}\n\n{HEAD}{rows}\n"
    return text

"""What run.py --json wrote, as the Markdown tables of docs/benchmarks.md: one table a topic, one line a row."""
import re

# Topic, and the measurements of run.py that belong to it.
TOPICS = (
    ("A launch and a scope", ("pairs", "launch", "scope")),
    ("A PyTorch step of 931 kernels", ("pytorch", "profiler", "stacks")),
    ("Start, memory, log, graphs", ("startup", "memory", "size", "graph", "soak", "graph_modes")),
    ("Engines beyond Trace", ("sampling", "pytorch_sampling", "pytorch_again", "windows", "counters", "counting", "between")),
)
HEAD = "| what | bare or floor | ours | difference or ratio [95 %] | target | verdict | run |\n|---|---|---|---|---|---|---|\n"
UNIT = re.compile(r", (ns|us|ms|s|MiB|bytes|%)\b[^,]*(?: resident)?$")


def figure(value, unit):
    """Three significant digits or all of the whole number, with the unit."""
    digits = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".strip()


def ranged(values, form):
    """A figure with its interval, as run.py's statistics have both."""
    return f"{form(values[0])} [{form(values[1])}, {form(values[2])}]"


def compared(row, unit):
    """What ours is over the base: the figure that the target is about, else the ratio."""
    if row.get("target", {}).get("of") == "difference":
        return ranged(row["difference"], lambda v: f"{v:+.3g}") + f" {unit}".rstrip()
    return ranged(row["ratio"], lambda v: f"x{v:.3f}")


def target(row):
    """The target and the verdict; nothing where a row has none."""
    aim = row.get("target")
    if not aim:
        return "", ""
    most = {"difference": "{:+g}", "ratio": "x{:g}"}.get(aim["of"], "{:g}").format(aim["most"])
    return f"{'upper end ' if aim['upper_end'] else ''}≤ {most}", "met" if aim["met"] else "missed"


def line(name, row, run):
    """One row of a table; nothing for what is no measurement (lists of rounds, counts for the JSON alone)."""
    unit = UNIT.search(name)
    unit = unit.group(1) if unit else ""
    if not isinstance(row, dict):
        return ""
    if "ratio" in row:
        cells = [figure(row["base"], unit), figure(row["ours"], unit), compared(row, unit)]
    elif "ledger" in row:
        ledger = row["ledger"]
        complete = ledger["verdict"] == "complete"
        return (f"| {name}, kernels | {row['kernels']} launched | {ledger['kernels_written']} written | | nothing lost | "
                f"{'met' if complete else 'missed: the ledger is ' + ledger['verdict']} | {run} |\n")
    elif isinstance(row.get("ours"), (int, float)):
        cells = ["", figure(row["ours"], unit), ""]
    elif isinstance(row.get("ours"), (list, tuple)):
        cells = ["", ranged(row["ours"], lambda v: f"{v:.3g}") + f" {unit}".rstrip(), ""]
    else:
        return ""
    return "| " + " | ".join([name, *cells, *target(row), run]).replace("  ", " ") + " |\n"


def markdown(results):
    """The tables of several runs, each row with its card and day. A part that failed is a row that says so."""
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

"""Compares what programs print, traced and alone: the same, except for times, addresses, and what differs between runs alone."""
import collections
import re

TIME = re.compile(r"\d+(\.\d+)? ?(ns|us|ms|s|sec|seconds)\b")
NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+(\.\d+)?")
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
# The pattern finds what differs from run to run in a line that a program prints each time: numbers, and the names of temporary files.
VARIABLE = re.compile(r"\S*(?:\d|\btmp\w{8}\b)\S*")
# A line of gpufl's own on stderr, also after the "... " of a test whose result is not printed yet.
OURS = re.compile(r"(?:^|(?<=\.\.\. ))gpufl(?: \w+)?: .*\n?", re.M)


def forms_of(lines):
    """The lines in any order, '#' for each number."""
    return sorted(NUMBER.sub("#", line) for line in lines)


def differences(bare, lines):
    """Returns what a run has that the runs alone do not have, except for times; "": nothing. If the runs alone have other lines
    each time (as of a program that samples), only the exit codes are compared."""
    bare, lines = [[TIME.sub("#", l) for l in run] for run in bare], [TIME.sub("#", l) for l in lines]
    form = forms_of(bare[0])
    if any(forms_of(run) != form for run in bare):
        return ""
    got = forms_of(lines)
    if got != form:
        missing, more = [l for l in form if l not in got][:3], [l for l in got if l not in form][:3]
        return f"other lines: without {missing}, with {more}"
    lost = sorted(set.intersection(*map(set, bare)) - set(lines))
    return f"values that were the same in each run alone are not: {lost[:4]}" if lost else ""


def printed_by(text, traced=False):
    """The lines of a run's output and how often each was printed, in any order: processes of one run take turns. Times and
    addresses are left out, and of a traced run gpufl's own lines."""
    text = OURS.sub("", text) if traced else text
    return collections.Counter(ADDRESS.sub("#", TIME.sub("#", line.rstrip())) for line in text.splitlines() if line.strip())


def otherwise(a, b):
    """The lines of which one run has more than the other."""
    return set((a - b) + (b - a))


def unlike(alone, traced):
    """The lines that a traced run has more or less often than the first run alone, without lines of a form that differs
    between two runs alone. alone: outputs of runs without gpufl, one or more, as of printed_by."""
    def form(line):
        return VARIABLE.sub("#", line)
    unsteady = {form(line) for run in alone[1:] for line in otherwise(alone[0], run)}
    return sorted(line for line in otherwise(alone[0], traced) if form(line) not in unsteady)

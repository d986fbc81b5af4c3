"""The answer of a host sampler alone for a recorded program: the program's line that most samples of any thread show.
The samples are those of the session itself; data of the GPU is not used. Frames of libraries are skipped, as in the
report."""
import collections
import json

import parts


def cells(row, column):
    """The cells of a column; a single value is that of all rows."""
    value = row.get(column)
    return value if isinstance(value, list) else [value] * row["rows"]


def rows_of(session):
    """Yields (type, cells by column) of each line of the scope channel, part by part."""
    for part in sorted(session.glob("scope.*"), key=lambda path: int(path.name.split(".")[1])):
        for line in parts.lines_of(part):
            row = json.loads(line)
            if "rows" in row:
                yield row["type"], {column: cells(row, column) for column in row if column not in ("type", "rows")}


def lines_of(session, file):
    """Returns how many samples each (line, function) of the program has, and how many samples there are with frames."""
    names, frames, stacks, counts, whole = {}, {}, {0: None}, collections.Counter(), 0
    for kind, row in rows_of(session):
        if kind == "names":
            names.update(zip(row["id"], row["text"]))
        elif kind == "frame":
            for k, number in enumerate(row["id"]):
                own = row["kind"][k] == 2 and (names.get(row["file"][k]) or "").rsplit("/", 1)[-1] == file
                frames[number] = (row["line"][k], names.get(row["function"][k])) if own else None
        elif kind == "stack":
            for number, parent, frame in zip(row["id"], row["parent"], row["frame"]):
                stacks[number] = frames.get(frame) or stacks.get(parent)
        elif kind == "host_sample":
            for stack in row["stack"]:
                whole += bool(stack)
                if stacks.get(stack):
                    counts[stacks[stack]] += 1
    return counts, whole


def first_line(folder, file):
    """(line, function, share of the samples) of a recorded program, or None if no sample has a line of it."""
    counts, whole = collections.Counter(), 0
    for session in sorted(path for path in folder.iterdir() if path.is_dir()):
        more, samples = lines_of(session, file)
        counts += more
        whole += samples
    if not counts:
        return None
    (line, function), count = counts.most_common(1)[0]
    return line, function, count / whole

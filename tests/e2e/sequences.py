"""sequences.py - runs of kernels that findings are about, found in a log's rows by this file's own reading: chains of element-wise
operations, and attention as a product, a softmax and a product. Which kernel is what is read from kinds.def by its name."""
import re

NEAR = 5  # kernels between the product and the softmax of an attention
CHAIN_LEAST, CHAIN_MOST = 3, 8
ALIKE = 4  # blocks of neighbours in a chain differ by this factor at most
ROW = re.compile(r'^KIND\((\w+), "([^"]*)",\s*"([^"]*)", "([^"]*)",', re.M)


def path_of(name):
    """The function of a demangled name, without its type, template arguments and parameters."""
    name, out, depth = name.replace("(anonymous namespace)::", "").removeprefix("void "), "", 0
    for letter in name:
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            break
        out += letter if depth == 0 and letter != ">" else ""
    return out.strip()


def pattern(text):
    return re.compile("".join({"*": ".*", "#": r"\d+"}.get(letter, re.escape(letter)) for letter in text), re.S)


class Kinds:
    def __init__(self, path):
        with open(path) as file:
            self.rows = [(kind, pattern(of), within.split("|"), [one for one in without.split("|") if one])
                         for kind, of, within, without in ROW.findall(file.read())]
        assert {"ELEMENTWISE", "PRODUCT", "SOFTMAX"} <= {kind for kind, *_ in self.rows}

    def of(self, name):
        path = path_of(name)
        return {kind for kind, of, within, without in self.rows
                if of.fullmatch(path) and all(one in name for one in within) and not any(one in name for one in without)}


def by_stream(log, report, kinds):
    """Lists of (start, end, kinds, blocks), one a stream, in the log's order."""
    known = {row["symbol"]: kinds.of(row["name"]) for row in report["kernels"]["by_name"]}
    assert len(known) == report["kernels"]["names"], "the report leaves kernels out"
    configs = {row["id"]: (known.get(log.names.get(row["name"]), set()), row["grid_x"] * row["grid_y"] * row["grid_z"])
               for row in log.rows["config"]}
    streams = {}
    for row in log.rows["kernel"]:
        what, blocks = configs.get(row["config"], (set(), 0))
        streams.setdefault(row["stream"], []).append((row["start"], row["start"] + row["duration"], what, blocks))
    return streams.values()


def pieces(rows):
    """A stream cut where a kernel begins before the one in front of it: such an order proves nothing."""
    one = []
    for row in rows:
        if one and row[0] < one[-1][0]:
            yield one
            one = []
        one.append(row)
    yield one


def chains(rows):
    chain = []
    for start, end, what, blocks in [*rows, (0, 0, set(), 0)]:
        alike = chain and blocks <= ALIKE * chain[-1][2] and chain[-1][2] <= ALIKE * blocks
        if chain and ("ELEMENTWISE" not in what or not alike or len(chain) == CHAIN_MOST):
            if len(chain) >= CHAIN_LEAST:
                yield chain[0][0], chain[-1][1]
            chain = []
        if "ELEMENTWISE" in what:
            chain.append((start, end, blocks))


def attention(rows):
    """From a product, over a softmax at most NEAR kernels after it, to the next product. That product begins no other
    sequence."""
    begin, softmax, since = None, False, 0
    for start, end, what, _ in rows:
        if "PRODUCT" in what and begin is not None and softmax:
            yield begin, end
            begin = None
        elif "PRODUCT" in what:
            begin, softmax, since = start, False, 0
        elif begin is not None and since < NEAR:
            softmax = softmax or "SOFTMAX" in what
            since = 1 if "SOFTMAX" in what else since + 1
        else:
            begin = None


RULES = {"elementwise_chains": chains, "attention_pieces": attention}


def longest_of(log, report, rule, kinds):
    """(ns, set of starts) of the longest of all sequences of a rule."""
    found = [(end - start, start) for rows in by_stream(log, report, kinds) for piece in pieces(rows) for start, end in RULES[rule](piece)]
    most = max((ns for ns, _ in found), default=0)
    return most, {start for ns, start in found if ns == most}

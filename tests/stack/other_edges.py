"""Another thread's frames, compared with call edges that sys.setprofile reported.

Usage: other_edges.py library.so real|flutter|switches SAMPLES [REFUSED | +REFUSED]. Prints one JSON object: samples by result,
how many have an edge that no call of the program makes, how many of these lack their outermost frame, examples. REFUSED:
letters of system calls that fail (other_forbid), "f": no file may grow; with + from the middle of the run on."""
import ast
import asyncio
import ctypes
import difflib
import gc
import io
import json
import os
import re
import resource
import sys
import tokenize

try:
    import greenlet
except ImportError:
    greenlet = None

lib = ctypes.CDLL(os.path.abspath(sys.argv[1]))
for name, kind in (("other_open", ctypes.c_char_p), ("other_start", ctypes.c_char_p), ("other_stop", ctypes.c_char_p),
                   ("other_samples", ctypes.c_uint64), ("other_result", ctypes.c_uint64),
                   ("other_count", ctypes.c_uint64)):
    getattr(lib, name).restype = kind
RESULTS = ["whole", "no_innermost", "outer", "torn", "gone", "no_memory"]
PERIOD_NS = 250000
OUTERMOST = ("<module>", "green_shallow", "green_deep")
TEXT = open(difflib.__file__).read()
TEXT = TEXT[TEXT.index("\nclass Match") if "\nclass Match" in TEXT else 0:]
TEXT = TEXT[TEXT.index("\ndef "):][:6000]
TEXT = TEXT[:TEXT.rindex("\ndef ")] + "\n"



def text(number):
    room = ctypes.create_string_buffer(1 << 20)
    lib.other_text(ctypes.c_uint32(number), room, ctypes.c_size_t(len(room)))
    return [line.split("\t") for line in room.value.decode().splitlines()]


# ---- real code ----

def tree():
    class Names(ast.NodeVisitor):
        def __init__(self):
            self.names = []

        def visit_Name(self, node):
            self.names.append(node.id)
            self.generic_visit(node)
    visitor = Names()
    visitor.visit(ast.parse(TEXT))
    return ast.dump(ast.parse("a = [x for x in range(10) if x % 2]")), visitor.names


def tokens():
    return sum(1 for _ in tokenize.generate_tokens(io.StringIO(TEXT).readline))


def differ():
    one, two = TEXT[:1200].splitlines(), TEXT[300:1500].splitlines()
    return list(difflib.unified_diff(one, two)), difflib.SequenceMatcher(None, TEXT[:60], TEXT[20:90]).ratio()


def texts():
    value = {"list": list(range(20)), "text": "x" * 50, "more": [{"k": [1.5, None, True]}] * 5}
    out = json.dumps(value, indent=1)
    back = json.JSONDecoder(object_hook=lambda d: d).decode(out)
    return back, re.sub(r"\d+", lambda m: m.group(0) * 2, out), sorted(TEXT[:50], key=lambda c: ord(c))


def numbers(n):
    for i in range(n):
        yield i


def chained(n):
    yield from (x + 1 for x in numbers(n))


def generators():
    return sum(x for x in chained(60))


async def inner(n):
    await asyncio.sleep(0)
    return n


async def outer(n):
    return sum([await inner(i) for i in range(n)])


async def gathered():
    return await asyncio.gather(*(outer(3) for _ in range(3)))


loop = asyncio.new_event_loop()


def coroutines():
    return loop.run_until_complete(gathered())


def real():
    tree()
    tokens()
    differ()
    texts()
    generators()
    coroutines()


# ---- code whose stacks tear: two leaves are called in turns, each for well below a microsecond ----

def leaf_one():
    return 1


def leaf_two():
    return 2


def call_one():
    return leaf_one()


def call_two():
    return leaf_two()


def turns():
    for _ in range(2000):
        call_one()
        call_two()


def flutter(n=30):
    return flutter(n - 1) if n > 3 else turns()


# ---- greenlets: one thread, several stacks of Python frames that are exchanged while another thread reads ----

def green_back(rounds):
    for _ in range(rounds):
        greenlet.getcurrent().parent.switch()


def green_shallow(rounds):
    green_back(rounds)


def green_deep(rounds, n=40):
    return green_deep(rounds, n - 1) if n else green_back(rounds)


def switches(rounds=50):
    shallow, deep = greenlet.greenlet(green_shallow), greenlet.greenlet(green_deep)
    while not (shallow.dead and deep.dead):
        shallow.switch(*(() if shallow else (rounds,)))
        deep.switch(*(() if deep else (rounds,)))


# ---- the check ----

def code_of(code):
    return getattr(code, "co_qualname", code.co_name), code.co_filename, code.co_firstlineno


def collect(work, rounds):
    edges = set()

    def saw(frame, event, arg):
        if event == "call" and frame.f_back:
            edges.add((code_of(frame.f_back.f_code), code_of(frame.f_code)))
    sys.setprofile(saw)
    for _ in range(rounds):
        work()
    sys.setprofile(None)
    frame = sys._getframe()
    while frame.f_back:
        edges.add((code_of(frame.f_back.f_code), code_of(frame.f_code)))
        frame = frame.f_back
    return edges


def refuse(what):
    if "f" in what:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    elif what:
        assert lib.other_forbid(what.encode()) == 0


def busy(work, samples):
    while lib.other_samples() < samples:
        for _ in range(20):
            work()


def run(work, samples):
    """Collects the edges, then runs the work while it is sampled: each from one call site."""
    edges = collect(work, 30)
    edges |= {((a[0].replace("collect", "busy"), a[1], busy.__code__.co_firstlineno), b)
              for a, b in edges if a[0] == "collect"}
    edges |= {(a, (b[0].replace("collect", "busy"), b[1], busy.__code__.co_firstlineno))
              for a, b in edges if b[0] == "collect"}
    edges.add((code_of(run.__code__), code_of(refuse.__code__)))
    gc.collect()
    gc.disable()
    refused = sys.argv[4] if len(sys.argv) > 4 else ""
    getattr(lib, "other_forbid")  # the first time ctypes looks a function up with Python code
    if not refused.startswith("+"):
        refuse(refused)
    how = lib.other_start(ctypes.c_int64(PERIOD_NS)).decode()
    if how == "refused":
        return edges, how
    assert lib.other_register() >= 0
    busy(work, samples // 2)
    if refused.startswith("+"):
        refuse(refused[1:])
    busy(work, max(samples, lib.other_samples() + samples // 2))  # some samples follow the refusal, however late it is
    how = lib.other_stop().decode()
    gc.enable()
    return edges, how


def lines_of(function, callee):
    """Returns the lines of a function that call `callee`."""
    source = open(__file__).read().splitlines()
    first = function.__code__.co_firstlineno
    return [i for i in range(first, first + 6) if callee + "(" in source[i - 1] and "def " not in source[i - 1]]


def main():
    status = lib.other_open().decode()
    work, samples = {"real": real, "flutter": flutter, "switches": switches}[sys.argv[2]], int(sys.argv[3])
    if not status.startswith("CPython") or (work is switches and not greenlet):
        print(json.dumps({"status": status}))
        return
    edges, how = run(work, samples)
    calls = {c: lines_of(turns, c) for c in ("call_one", "call_two")}
    checked = impossible = headless = 0
    examples = []
    for number in range(1, lib.other_distinct() + 1):
        count = lib.other_count(ctypes.c_uint32(number))
        if not count:
            continue
        frames = [(f[1], f[2], int(f[4]), int(f[3])) for f in text(number) if f[0] != "mark"]
        checked += count
        bad = [(up, f) for f, up in zip(frames, frames[1:]) if (up[:3], f[:3]) not in edges]
        bad += [(up, f) for f, up in zip(frames, frames[1:])
                if up[0] == "turns" and f[0] in calls and up[3] not in calls[f[0]]]
        if frames and frames[-1][0] not in OUTERMOST:
            bad.append((("no outermost frame",), frames[-1]))
            headless += count
        if bad:
            impossible += count
            examples.append([count, bad[:2]])
    print(json.dumps({"status": status, "how": how, "checked": checked, "impossible": impossible, "headless": headless,
                      "results": {n: lib.other_result(i) for i, n in enumerate(RESULTS)},
                      "examples": examples[:5]}))


main()

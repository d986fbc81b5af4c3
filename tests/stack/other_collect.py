"""Another thread in Python's garbage collector, by a mark in its stacks.

Usage: other_collect.py library.so SECONDS. Prints one JSON object: for each function of the program, how many samples
had it as their innermost function, how many of them had the mark, and which share of its time the function that collects
was in the collector, by the interpreter's own callbacks. The first thread collects, computes, makes the interpreter
collect by itself, and runs a finalizer. Meanwhile another thread hashes without the GIL, and one competes for the GIL,
which it gets while the finalizer runs."""
import ctypes
import gc
import hashlib
import json
import os
import sys
import threading
import time

lib = ctypes.CDLL(os.path.abspath(sys.argv[1]))
for name, kind in (("other_open", ctypes.c_char_p), ("other_start", ctypes.c_char_p), ("other_stop", ctypes.c_char_p),
                   ("other_count", ctypes.c_uint64)):
    getattr(lib, name).restype = kind
SECONDS = float(sys.argv[2])
PERIOD_NS = 500000
MARK = "<garbage collection>"
table = [{"row": k, "words": [k]} for k in range(60000)]
over = threading.Event()
ready = threading.Semaphore(0)


def collects(until):
    """Collects; returns the share of its time in the collector: others have the GIL between two collections."""
    times, begin = [], time.perf_counter()
    gc.callbacks.append(lambda phase, info: times.append(time.perf_counter()))
    while time.thread_time() < until:
        gc.collect()
    gc.callbacks.clear()
    return (sum(times[1::2]) - sum(times[::2])) / (time.perf_counter() - begin)


def computes(until):
    n = 0
    while time.thread_time() < until:
        n += 1
    return n


class Cycle:
    def __init__(self):
        self.own = self


def allocates(until):
    """Allocates, so that collections begin by themselves when thresholds are reached."""
    kept = []
    while time.thread_time() < until:
        kept = [[k] for k in range(5000)]
    return kept


class Last:
    """An object whose finalizer, which the collector calls, takes long."""

    def __init__(self):
        self.own = self

    def __del__(self):
        finalizes(time.thread_time() + SECONDS / 4)  # some samples are before another thread has the GIL
        rival.start()
        finalizes(time.thread_time() + SECONDS / 4)


def finalizes(until):
    n = 0
    while time.thread_time() < until:
        n += 1
    return n


def hashes():
    """Hashes most of the time without the GIL, while others collect."""
    assert lib.other_register() >= 0
    block = bytes(1 << 22)
    ready.release()
    while not over.is_set():
        hashlib.sha256(block).digest()


def competes():
    """Takes the GIL in turns with the first thread."""
    assert lib.other_register() >= 0
    n = 0
    while not over.is_set():
        n += 1
    return n


rival = threading.Thread(target=competes)


def stacks():
    room = ctypes.create_string_buffer(1 << 20)
    for number in range(1, lib.other_distinct() + 1):
        lib.other_text(ctypes.c_uint32(number), room, ctypes.c_size_t(len(room)))
        yield [line.split("\t") for line in room.value.decode().splitlines()], lib.other_count(ctypes.c_uint32(number))


def count():
    """Returns [samples, samples with the mark] by this file's innermost function, and samples with a misplaced mark."""
    found, astray = {}, 0
    for frames, n in stacks():
        names = [f[1].split(".")[-1] for f in frames if f[0] != "mark" and f[2] == __file__]
        names = [name for name in names if name not in ("<listcomp>", "<lambda>")]
        marks = [i for i, f in enumerate(frames) if f == ["mark", MARK]]
        astray += n if marks not in ([], [0]) else 0
        row = found.setdefault(names[0] if names else "?", [0, 0])
        row[0] += n
        row[1] += n if marks else 0
    return found, astray


def main():
    opened = lib.other_open().decode()
    assert lib.other_register() >= 0
    hasher = threading.Thread(target=hashes)
    hasher.start()
    ready.acquire()
    how = lib.other_start(ctypes.c_int64(PERIOD_NS)).decode()
    inside = collects(time.thread_time() + SECONDS)
    computes(time.thread_time() + SECONDS)
    allocates(time.thread_time() + SECONDS)
    last = Last()
    del last
    gc.collect()
    computes(time.thread_time() + SECONDS)
    over.set()
    hasher.join()
    rival.join()
    lib.other_stop()
    found, astray = count()
    print(json.dumps({"python": opened, "how": how, "functions": found, "astray": astray, "inside": inside}))


main()

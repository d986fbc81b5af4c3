"""Native and Python frames in one stack, in the order in which they call each other.

Usage: joined.py library.so [--show | --time]; ends with a line "joined ..." and 0.
--time: ns per capture at Python depths 10, 30 and 100, every tenth of them called by native code."""
import ctypes
import os
import sys
import threading

lib = ctypes.CDLL(sys.argv[1])
keeps_gil = ctypes.PyDLL(sys.argv[1])
lib.joined_open.restype = ctypes.c_char_p
callback_type = ctypes.CFUNCTYPE(ctypes.c_int)
last = None


def text(capture_id):
    room = ctypes.create_string_buffer(1 << 20)
    lib.joined_text(ctypes.c_uint(capture_id), room, ctypes.c_size_t(len(room)))
    return [line.split("\t") for line in room.value.decode().splitlines()]


def names(frames):
    """Returns Python's frames and the library's own; the others are the interpreter's between them."""
    own = [f[1] if f[0] == "python" else f[-1] for f in frames
           if f[0] != "native" or f[2].startswith("joined_")]
    return [n.split(".")[-1] for n in own]


def capture_here():
    global last
    last = lib.joined_capture()
    return 1


def capture_with_gil():
    global last
    last = keeps_gil.joined_capture()
    return 1


def through_native(inner):
    def from_native():
        return inner()
    return keeps_gil.joined_call(callback_type(from_native))


class Caller:
    def __call__(self):
        return through_native(capture_here)

    def in_comprehension(self):
        return [self() for _ in range(1)]


def generator():
    capture_here()
    yield last


def expect(what, begin, end):
    frames = text(last)
    got = names(frames)
    if "--show" in sys.argv:
        print(what, *("    " + " ".join(f) for f in frames), sep="\n")
    middle = got[:len(begin)] == begin
    if not middle or got[-len(end):] != end or not all(os.path.basename(f[2]) in FILES
                                                       for f in frames if f[0] == "python"):
        print("%s: %s" % (what, got), *frames, sep="\n")
        sys.exit(1)
    if any(f[0] == "mark" for f in frames):
        print("%s: a mark" % what, *frames, sep="\n")
        sys.exit(1)
    return frames


FILES = {"joined.py", "threading.py"}


def recursive(n):
    return recursive(n - 1) if n else capture_here()


def timed(n, depth):
    """Adds n Python frames; every tenth is called through native code."""
    global last
    if n == 0:
        last = lib.joined_capture()
        ns = lib.joined_time()
        print("%d Python frames, %d in all after folding: %.0f ns" % (depth, len(text(last)), ns))
        return 1
    if n % 10 == 5:
        return lib.joined_call(callback_type(lambda: timed(n - 1, depth)))
    return timed(n - 1, depth)


def main():
    status = lib.joined_open().decode()
    if "--time" in sys.argv:
        lib.joined_time.restype = ctypes.c_double
        print(status)
        for depth in 10, 30, 100:
            timed(depth, depth)
        return 0
    if not status.startswith("CPython"):
        print("joined: off: " + status)
        return 0 if os.environ.get("GPUFL_PYTHON_OFF") else 1
    end = ["main", "<module>"]
    capture_here()
    frames = expect("directly", ["joined_capture", "capture_here"], end)
    lines = [int(f[3]) for f in frames if f[0] == "python"]
    assert lines[0] == capture_here.__code__.co_firstlineno + 2, lines
    capture_with_gil()
    expect("with the GIL", ["joined_capture", "capture_with_gil"], end)
    through_native(capture_here)
    expect("through native code",
           ["joined_capture", "capture_here", "from_native", "joined_call", "through_native"], end)
    through_native(lambda: through_native(capture_with_gil))
    expect("twice", ["joined_capture", "capture_with_gil", "from_native", "joined_call", "through_native",
                     "<lambda>", "from_native", "joined_call", "through_native"], end)
    Caller().in_comprehension()
    expect("slots and comprehensions", ["joined_capture", "capture_here", "from_native", "joined_call",
                                        "through_native", "__call__"], end)
    sorted([1], key=lambda _: through_native(capture_here))
    expect("through a builtin", ["joined_capture", "capture_here", "from_native", "joined_call",
                                 "through_native", "<lambda>"], end)
    next(generator())
    expect("a generator", ["joined_capture", "capture_here", "generator"], end)
    recursive(40)
    expect("recursion", ["joined_capture", "capture_here"] + ["recursive"] * 41, end)
    thread = threading.Thread(target=lambda: through_native(capture_here))
    thread.start()
    thread.join()
    expect("a thread", ["joined_capture", "capture_here", "from_native", "joined_call", "through_native",
                        "<lambda>", "run"], ["_bootstrap"])
    again = set()
    for _ in range(1000):
        through_native(capture_here)
        again.add(last)
    assert len(again) <= 3, again  # the interpreter's own frames may change in the first rounds
    print("joined %s" % status)
    return 0


if __name__ == "__main__":
    sys.exit(main())

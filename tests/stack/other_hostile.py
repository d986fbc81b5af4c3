"""Another thread's frames while everything else ends: threads, code objects, chunks of frames, processes.

Usage: other_hostile.py library.so SAMPLES SECONDS. Ends after so many samples, or after that time. Prints one JSON object."""
import ctypes
import json
import os
import sys
import threading
import time

lib = ctypes.CDLL(os.path.abspath(sys.argv[1]))
for name, kind in (("other_open", ctypes.c_char_p), ("other_start", ctypes.c_char_p), ("other_stop", ctypes.c_char_p),
                   ("other_samples", ctypes.c_uint64), ("other_result", ctypes.c_uint64),
                   ("other_count", ctypes.c_uint64)):
    getattr(lib, name).restype = kind
RESULTS = ["whole", "no_innermost", "outer", "torn", "gone", "no_memory"]
TEXTS = ["%sdef made_%d(n):\n    x = n * %d\n    return [i for i in range(x %% 7)] and x\nmade_%d(7)\n" %
         ("\n" * (k + 1), k, k, k) for k in range(100)]
FILES = {k: "text-%d" % k for k in range(100)}


def born_and_ended(rounds):
    def life():
        slot = lib.other_register()
        sum(range(200))
        deep(20)
        if slot % 8:  # every eighth is still read after its end
            lib.other_forget(slot)
    for _ in range(rounds):
        threads = [threading.Thread(target=life) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def execs(rounds):
    """Makes code objects of one size at one address, one after the other."""
    for _ in range(rounds):
        for k, source in enumerate(TEXTS):
            exec(compile(source, FILES[k], "exec"), {})


def deep(n):
    return deep(n - 1) if n else 0


def depths(rounds):
    for i in range(rounds):
        deep(100 + i * 977 % 2500)


def generators(rounds):
    def inner(n):
        yield from range(n)

    def chain(n):
        yield from inner(n)
    for _ in range(rounds):
        live = [chain(5) for _ in range(20)]
        for g in live:
            next(g)
        del live
        try:
            g.throw(ValueError("thrown in"))
        except ValueError:
            pass


def interpreters(rounds):
    try:
        import _interpreters as subs
    except ImportError:
        try:
            import _xxsubinterpreters as subs
        except ImportError:
            return
    for _ in range(rounds):
        one = subs.create()
        subs.run_string(one, "sum(i for i in range(100))")
        subs.destroy(one)


def forks(rounds):
    for _ in range(rounds):
        child = os.fork()
        if child == 0:
            os._exit(lib.other_in_child())
        status = os.waitpid(child, 0)[1]
        assert status == 0, "a child ended with %#x" % status


def check():
    """Returns frames that are mixed from two code objects."""
    wrong = []
    room = ctypes.create_string_buffer(1 << 20)
    for number in range(1, lib.other_distinct() + 1):
        if not lib.other_count(ctypes.c_uint32(number)):
            continue
        lib.other_text(ctypes.c_uint32(number), room, ctypes.c_size_t(len(room)))
        for line in room.value.decode().splitlines():
            f = line.split("\t")
            if f[0] == "mark":
                continue
            k = int(f[2][5:]) if f[2].startswith("text-") else -1
            if k < 0:
                good = os.path.isabs(f[2]) or f[2][0] == "<"
            elif f[1] == "<module>":
                good = int(f[4]) in (0, 1, k + 2) and (f[3] in "01" or k + 2 <= int(f[3]) <= k + 5)
            else:
                good = f[1].split(".")[0] in ("made_%d" % k, "<listcomp>") and k + 2 <= int(f[3]) <= k + 4
            if not good:
                wrong.append(f)
    return wrong


def main():
    status = lib.other_open().decode()
    samples, seconds = (int(word) for word in sys.argv[2:])
    sys.setrecursionlimit(6000)
    threading.stack_size(64 << 20)
    main_is_found = lib.other_is_main()
    how = lib.other_start(ctypes.c_int64(0)).decode()
    slot = lib.other_register_main()
    begun = time.monotonic()
    kinds = [(born_and_ended, 30), (execs, 10), (depths, 60), (generators, 200), (interpreters, 2), (forks, 3)]
    deep_thread = None
    while lib.other_samples() < samples and time.monotonic() - begun < seconds:
        for work, rounds in kinds:
            if work is depths:
                deep_thread = threading.Thread(target=lambda: (lib.other_register(), depths(rounds)))
                deep_thread.start()
                deep_thread.join()
            else:
                work(rounds)
    how_then = lib.other_stop().decode()
    print(json.dumps({"status": status, "how": [how, how_then], "main": main_is_found, "slot": slot,
                      "seconds": round(time.monotonic() - begun, 1), "samples": lib.other_samples(),
                      "results": {n: lib.other_result(i) for i, n in enumerate(RESULTS)}, "wrong": check()[:5]}))


main()

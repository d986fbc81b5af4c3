"""Prints the us of a walk of another thread, which waits below 24 different functions, for bench/README.md.

Usage: other_time.py library.so [REFUSED]; REFUSED: letters of system calls that fail (other_forbid)."""
import ctypes
import os
import sys
import threading

lib = ctypes.CDLL(os.path.abspath(sys.argv[1]))
lib.other_open.restype = ctypes.c_char_p
ready, done, slot = threading.Event(), threading.Event(), []


def innermost():
    slot.append(lib.other_register())
    ready.set()
    return done.wait()


def functions(n, inner):
    for i in range(n):
        names = {"inner": inner}
        exec("def outer_%d():\n    return inner()\n" % i, names)
        inner = names["outer_%d" % i]
    return inner


def main():
    status = lib.other_open().decode()
    if len(sys.argv) > 2:
        assert lib.other_forbid(sys.argv[2].encode()) == 0
    thread = threading.Thread(target=functions(24, innermost))
    thread.start()
    ready.wait()
    us = (ctypes.c_double * 3)()
    lib.other_time(slot[0], us)
    done.set()
    thread.join()
    print("%s: least %.1f, median %.1f, nine tenths %.1f us" % ((status.split(",")[0],) + tuple(us)))


main()

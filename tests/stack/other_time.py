"""us a walk of another thread that stands still at a depth of 28, for bench/README.md.

Usage: other_time.py library.so"""
import ctypes
import os
import sys
import threading

lib = ctypes.CDLL(os.path.abspath(sys.argv[1]))
lib.other_open.restype = ctypes.c_char_p
ready, done, slot = threading.Event(), threading.Event(), []


def deep(n):
    if n:
        return deep(n - 1)
    slot.append(lib.other_register())
    ready.set()
    return done.wait()


def main():
    status = lib.other_open().decode()
    thread = threading.Thread(target=deep, args=(22,))
    thread.start()
    ready.wait()
    us = (ctypes.c_double * 3)()
    lib.other_time(slot[0], us)
    done.set()
    thread.join()
    print("%s: least %.1f, median %.1f, nine tenths %.1f us" % ((status.split(",")[0],) + tuple(us)))


main()

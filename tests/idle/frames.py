"""A Python program over the fake driver: its first thread is in two functions in turns and never calls CUDA, another one
launches, then blocks. A thread that a library made launches once, before Python knows the thread (late.c).
Prints where each thread was, by time.perf_counter (CLOCK_MONOTONIC), ns."""
import ctypes
import json
import os
import sys
import threading
import time

END = time.perf_counter_ns() + int(float(sys.argv[1]) * 1e9)
SECOND = 1_000_000_000
HOGS = 3
cuda = ctypes.CDLL("libcuda.so.1")
late = ctypes.CDLL(sys.argv[2])
stream = ctypes.c_void_p()
spans = []
lingered = []  # the library's thread, its begin and end in linger()


def compute(until):
    n = 0
    while time.perf_counter_ns() < until:
        n += 1
    return n


def contend(used):
    """Computes until the process has used that much processor time, of which it gets little on a busy machine."""
    n = 0
    while time.process_time_ns() < used:
        n += 1
    return n


def compete(gate, used):
    """Takes the GIL in turns with the first thread, after the spans: both are blocked only by the GIL."""
    assert cuda.cuLaunchKernel(b"_Z4idlePf", 1, 1, 1, 64, 1, 1, 0, stream, None, None) == 0
    gate.release()
    contend(used)


def hog(used):
    """Computes, and never calls CUDA: the thread that waits for the GIL waits for this one."""
    n = 0
    while time.process_time_ns() < used:
        n += 1
    return n


def rest(seconds):
    time.sleep(seconds)


def doze(seconds):
    """Like rest(), and right after it: between the two the thread has run, for a few microseconds."""
    time.sleep(seconds)


def work(gate):
    assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
    assert cuda.cuLaunchKernel(b"_Z4idlePf", 1, 1, 1, 64, 1, 1, 0, stream, None, None) == 0
    block(gate)


def block(gate):
    gate.acquire()


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def linger(tid):
    begin = time.perf_counter_ns()
    time.sleep(max(0, END - begin) / SECOND)
    lingered.extend([tid, begin, END])


def wait_for_end(thread):
    """Waits until the kernel has removed the thread, too: the next one gets its stack, and its state's memory."""
    thread.join()
    while os.path.exists("/proc/self/task/%d" % thread.native_id):
        rest(0.001)


def main():
    gate = threading.Lock()
    gate.acquire()
    assert cuda.cuInit(0) == 0
    thread = threading.Thread(target=work, args=(gate,))
    thread.start()
    assert late.late_start(None, linger) == 0
    while time.perf_counter_ns() < END or time.thread_time_ns() < SECOND // 2:
        begin = time.perf_counter_ns()
        compute(begin + 30_000_000)
        middle = time.perf_counter_ns()
        rest(0.02)
        rested = time.perf_counter_ns()
        doze(0.02)
        spans.append(["compute", begin, middle])
        spans.append(["rest", middle, rested])
        spans.append(["doze", rested, time.perf_counter_ns()])
    assert late.late_join() == 0
    gate.release()
    thread.join()
    used = time.process_time_ns() + SECOND
    rival = threading.Thread(target=compete, args=(gate, used))
    rival.start()
    gate.acquire()  # block() has left it locked, and compete() releases it
    begin = time.perf_counter_ns()
    contend(used)
    end = time.perf_counter_ns()
    wait_for_end(rival)
    contended = [begin, end]
    held = []
    for _ in range(HOGS):
        used = time.process_time_ns() + SECOND // 2
        holder = threading.Thread(target=hog, args=(used,))
        holder.start()
        begin = time.perf_counter_ns()
        contend(used)
        held.append([holder.native_id, begin, time.perf_counter_ns()])
        wait_for_end(holder)
    print(json.dumps({"spans": spans, "first": threading.main_thread().native_id, "other": thread.native_id,
                      "late": lingered, "rival": rival.native_id, "contend": contended, "held": held}))


main()

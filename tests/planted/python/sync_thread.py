"""A thread other than the main one waits in its loop, in a lambda; clean: after the loop."""
import threading

from gpu import US, check, cuda, kernel, launch, open_gpu, stream, use_context


def load(steps, hoisted):
    use_context()
    spin, s = kernel("spin"), stream()
    settle = lambda: check(cuda.cuStreamSynchronize(s))  # noqa: E731  PLANTED: py-sync-in-thread
    for _ in range(steps):
        for _ in range(4):
            launch(spin, s, 500 * US)
        if not hoisted:
            settle()
    settle()


thread = threading.Thread(target=load, args=(50, open_gpu()))
thread.start()
thread.join()

"""The reader's frames against the interpreter's own, in a real interpreter.

Run by run.py with each interpreter that is found: python test_frames.py harness.so
Each time the frames that the C side reads, without the GIL and without the C API, must be those of sys._getframe():
name, file, line and first line, code object, order, number."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import importlib.util
import os
import queue
import sys
import tempfile
import threading
import traceback

VERSION = sys.version_info[:2]
FREE = ctypes.CDLL(sys.argv[1])  # releases the GIL around its functions
HELD = ctypes.PyDLL(sys.argv[1])  # keeps the GIL
for lib in (FREE, HELD):
    lib.harness_status.restype = ctypes.c_char_p
    lib.harness_bytes.restype = ctypes.c_size_t
    lib.harness_here.restype = ctypes.c_void_p
    lib.harness_time.restype = ctypes.c_double
    lib.harness_is_interpreter.argtypes = [ctypes.c_void_p]
MOST = 4096
SIZE = 1 << 20
buffers = threading.local()
looks = 0


class Frame:
    """A frame as the harness writes it."""

    def __init__(self, text):
        cells = text.split("\t")
        self.name, self.file = cells[0], cells[1]
        self.line, self.first = int(cells[2]), int(cells[3])
        self.key, self.code, self.native = (int(c, 16) for c in cells[4:7])
        self.number = int(cells[7])

    def seen(self):
        return (self.name, self.file, self.line, self.first, self.code)


def name_of(code):
    return code.co_qualname if VERSION >= (3, 11) else code.co_name


def own(frame):
    """The interpreter's own frames from this one outwards."""
    out = []
    while frame:
        code = frame.f_code
        out.append((name_of(code), code.co_filename, frame.f_lineno or 0, code.co_firstlineno, id(code)))
        frame = frame.f_back
    return out


def buffer():
    if not hasattr(buffers, "text"):
        buffers.text = ctypes.create_string_buffer(SIZE)
    return buffers.text


def parse(text):
    return [Frame(line) for line in text.value.decode(errors="surrogateescape").splitlines()]


def compare(n, text, want):
    global looks
    looks += 1
    assert n == len(want), (n, len(want), text.value.decode(), want)
    got = parse(text)
    for g, w in zip(got, want):
        assert g.seen() == w, (g.seen(), w)
    check_natives(got)
    return got


def stack_limits():
    low, high = ctypes.c_size_t(), ctypes.c_size_t()
    FREE.harness_limits(ctypes.byref(low), ctypes.byref(high))
    return low.value, high.value


def check_natives(frames):
    """Checks the addresses of the loops' C frames: they rise, and are inside this thread's stack."""
    if VERSION == (3, 9):
        assert all(f.native == 1 for f in frames)
        return
    natives = [f.native for f in frames if f.native]
    assert natives and frames[0].native, "the innermost loop has no address"
    assert natives == sorted(set(natives)), natives
    low, high = stack_limits()
    assert all(low < n < high for n in natives), (low, high, natives)


def look(lib=FREE):
    text = buffer()
    n, want = lib.harness_stack(text, SIZE, MOST), own(sys._getframe())
    frames = compare(n, text, want)
    assert VERSION == (3, 9) or frames[0].native > lib.harness_here()
    return frames


def looked(n=1):
    """Compares the frames here and through n more calls."""
    return look() if n == 0 else looked(n - 1)


# ---- kinds of frames

def test_nested():
    frames = looked(5)
    assert [f.name for f in frames[:3]] == ["look", "looked", "looked"]
    look(HELD)


def test_generators():
    def inner():
        yield look()
        yield look(HELD)

    def outer():
        yield from inner()

    assert [name for name in next(outer())[1:3] for name in [name.name.split(".")[-1]]] == ["inner", "outer"]
    for _ in outer():
        look()
    list(x for x in (look() for _ in range(3)))


def test_throw():
    """An exception that is thrown through generators that wait for each other leads to frames without a loop."""
    def inner():
        try:
            yield 1
        except KeyError:
            yield check()

    def check():
        text = buffer()
        n, want = FREE.harness_stack(text, SIZE, MOST), own(sys._getframe())
        compare(n, text, want)
        return n

    def middle():
        yield from inner()

    def outer():
        yield from middle()

    g = outer()
    next(g)
    assert g.throw(KeyError()) >= 3


def test_coroutines():
    async def leaf():
        look()
        await asyncio.sleep(0)
        return look()

    async def middle():
        return await leaf()

    async def numbers():
        for i in range(2):
            look()
            yield i

    async def main():
        names = [f.name.split(".")[-1] for f in await middle()]
        assert names[:3] == ["look", "leaf", "middle"], names
        await asyncio.gather(*(middle() for _ in range(3)))
        async for _ in numbers():
            look()
        task = asyncio.ensure_future(cancelled())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def cancelled():
        try:
            await asyncio.sleep(10)
        finally:
            look()

    asyncio.run(main())


def test_class_body():
    frames = []

    class Outer:
        frames.extend(look())

        class Inner:
            frames.extend(look())

            def method(self):
                return look()

        @property
        def value(self):
            return look()

        @classmethod
        def made(cls):
            return look()

    assert frames[1].name.endswith("Outer")
    Outer.Inner().method()
    Outer.made()
    assert Outer().value[1].name.endswith("Outer.value" if VERSION >= (3, 11) else "value")


def test_decorators_and_lambdas():
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args):
            return f(*args)
        return wrapper

    @decorate
    @functools.lru_cache(maxsize=None)
    def cached(x):
        return look()

    cached(1)
    (lambda: (lambda: look())())()
    functools.partial(looked, 2)()
    sorted([3, 1, 2], key=lambda x: (look(), x)[1])
    list(map(lambda x: [look() for _ in range(x)], [1, 2]))
    {k: look() for k in "ab"}


def test_special_methods():
    class C:
        def __init__(self):
            self.frames = look()

        def __add__(self, other):
            return look()

        def __getattr__(self, name):
            return look()

        def __enter__(self):
            return look()

        def __exit__(self, *args):
            look()

        def __del__(self):
            look()

        def __iter__(self):
            yield look()

    for _ in range(40):  # often enough for the interpreter's optimized calls, which add hidden frames
        c = C()
        assert c.frames[1].name.endswith("__init__"), c.frames[1].name
        c + c
        c.other
        with c:
            list(c)
    del c
    gc.collect()


def test_exec():
    space = {"look": look}
    exec("def f():\n\n    return look()\nframes = f()", space)
    assert [f.name for f in space["frames"][1:3]] == ["f", "<module>"]
    assert [f.line for f in space["frames"][1:3]] == [3, 4]
    eval("look()", space)
    exec(compile("\n" * 70000 + "look()", "far.py", "exec"), space)
    assert eval(compile("look()", "na\u00efve \u4e2d\U0001f600.py", "eval"), space)[1].file == "na\u00efve \u4e2d\U0001f600.py"
    exec("def \u00fcber_\u4e2d():\n return look()\n\u00fcber_\u4e2d()", space)
    long = "very/" * 300 + "long.py"
    assert eval(compile("look()", long, "eval"), space)[1].file == long


def test_import():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "body.py")
        with open(path, "w") as f:
            f.write("import __main__\n\nframes = __main__.look()\ndef f():\n    return __main__.look()\n")
        for _ in range(2):  # first compiled, then read from the cache
            spec = importlib.util.spec_from_file_location("body", path)
            module = importlib.util.module_from_spec(spec)
            sys.modules["__main__"].look = look
            spec.loader.exec_module(module)
            assert (module.frames[1].name, module.frames[1].line) == ("<module>", 3)
            assert module.f()[1].line == 5


def at_lines(n, line):
    """The caller's line as the reader says, and as traceback says."""
    return line, traceback.extract_stack()[-2].lineno


def test_lines():
    def line(*args):
        text = buffer()
        n, stack = FREE.harness_stack(text, SIZE, MOST), traceback.extract_stack()
        frames = parse(text)
        assert n == len(stack)
        for f, s in zip(frames, reversed(stack)):
            assert f.line == s.lineno, (f.line, s)
        return frames[1].line

    here = sys._getframe().f_lineno
    line(
        1,
        2)
    (1 +
     line()
     .bit_length())
    x = [line(),
         line(
             3),
         line(line(),
              line())]
    assert all(here < i < here + 20 for i in x)
    if (line() and
            line()):
        line(*[
            line()
            for _ in range(2)])
    try:
        raise KeyError(
            line())
    except KeyError:
        line(
        )
    finally:
        line()
    for _ in range(
            line() and 2): line()
    with contextlib.suppress(
            KeyError), contextlib.nullcontext(
                line()):
        line()
    assert line() == sys._getframe().f_lineno


def test_tracing():
    seen = []

    def trace(frame, event, arg):
        text = buffer()
        n, want = FREE.harness_stack(text, SIZE, MOST), own(sys._getframe())
        seen.append(n)
        assert n == len(want), (event, n, len(want), text.value, want)
        assert [f.seen() for f in parse(text)] == want, event
        return trace

    def target(x):
        y = [i
             for i in range(2)]
        return x + len(y)

    def numbers():
        yield 1

    sys.settrace(trace)
    try:
        target(1)
        list(numbers())
    finally:
        sys.settrace(None)
    assert len(seen) > 4
    profiled = []
    sys.setprofile(lambda frame, event, arg: profiled.append(len(look())) if not profiled else None)
    target(1)
    sys.setprofile(None)
    assert profiled


# ---- threads

def test_threads():
    errors = queue.Queue()

    def work(lib):
        try:
            for i in range(200):
                look(lib)
                exec("def f%d():\n%s return look(lib)\nf%d()" % (i % 7, "\n" * (i % 5), i % 7), {"look": look, "lib": lib})
            for frames in (looked(3), looked(20)):
                assert frames[-1].name.split(".")[-1] == "_bootstrap"
        except BaseException as e:
            errors.put(e)
            raise

    threads = [threading.Thread(target=work, args=(lib,)) for lib in (FREE, HELD, FREE, FREE)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors.empty(), errors.get()


def test_foreign_thread():
    assert FREE.harness_foreign_thread() == 0


def test_callback_on_foreign_thread():
    """A thread that Python did not make enters Python through ctypes."""
    out = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def body(_):
        out.append(look())
        return None

    libc = ctypes.CDLL(None)
    libc.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, body, None) == 0
    libc.pthread_join(thread.value, None)
    assert len(out) == 1 and [f.name.split(".")[-1] for f in out[0]] == ["look", "body"]


def test_callback():
    """With C code between Python frames each loop has an address of its own."""
    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    def order(a, b):
        frames.append(look())
        return a[0] - b[0]

    frames = []
    array = (ctypes.c_int * 3)(3, 1, 2)
    ctypes.CDLL(None).qsort(array, 3, ctypes.sizeof(ctypes.c_int), order)
    assert list(array) == [1, 2, 3] and frames
    if VERSION >= (3, 10):
        natives = [f.native for f in frames[0][:3]]
        assert natives[0] and natives[2] and natives[0] != natives[2], natives


def test_fork():
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            FREE.harness_forget()
            look()
            looked(30)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


# ---- depth

def test_recursion():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(6000)
    try:
        looked(900)
        looked(2500)

        def down(n):
            if n:
                return down(n - 1)
            text = buffer()
            got = FREE.harness_stack(text, SIZE, 100)
            want = own(sys._getframe())
            frames = parse(text)
            assert got == 100 and [f.seen()[4] for f in frames] == [w[4] for w in want[:100]]
            check_natives(frames)
            assert FREE.harness_stack(text, SIZE, 1) == 1
            assert FREE.harness_stack(text, SIZE, 0) == 0

        down(1000)
    finally:
        sys.setrecursionlimit(limit)


# ---- code objects

def test_reused_addresses():
    """Functions that are made and destroyed at one address are never confused."""
    addresses, reused = {}, 0
    for i in range(4000):
        lines, name = i % 50, "f%02d" % (i * 7 % 10)
        space = {"look": look}
        exec("def %s():\n%s    return look()\nout = %s()" % (name, "\n" * lines, name), space)
        frame = space.pop("out")[1]
        assert (frame.name, frame.line) == (name, lines + 2)
        content = (name, lines)
        assert addresses.get(frame.key, content) == content, "one key for two functions"
        reused += frame.code in addresses.values()
        addresses[frame.key] = content
        addresses[("at", frame.code)] = frame.code
        del space, frame
    assert reused > 10, "no address was used twice: the test does not test"


def test_reused_addresses_inside():
    """An address is used again by code whose line table differs only in its middle."""
    lines = {}
    for i in range(3000):
        gap = i * 11 % 40
        body = "    x = 1\n" * 30 + "\n" * gap + "    out.append(look()[1])\n" + "\n" * (40 - gap) + "    x = 2\n" * 30
        space = {"look": look, "out": []}
        exec("def f():\n" + body + "f()", space)
        frame = space["out"][0]
        assert frame.line == 32 + gap
        assert lines.setdefault(frame.key, gap) == gap
        del space, frame


def test_equal_content():
    """Code that is made again from the same text is the same code, and takes no memory."""
    source = "def again():\n    return look()\nout = again()"
    space = {"look": look}
    exec(source, space)
    first, before = space["out"][1], FREE.harness_bytes()
    keep = []
    for _ in range(300):
        space = {"look": look}
        exec(source, space)
        keep.append(space)
        assert (space["out"][1].key, space["out"][1].number) == (first.key, first.number)
    assert FREE.harness_bytes() == before


def test_reload_other_file():
    """Equal functions of two files are different."""
    space = {"look": look}
    keys = set()
    for name in ("one.py", "two.py") * 20:
        exec(compile("def f():\n return look()\nout = f()", name, "exec"), space)
        assert space["out"][1].file == name
        keys.add(space["out"][1].key)
    assert len(keys) == 2


# ---- the interpreter and the reader

def test_is_interpreter():
    address = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value
    assert FREE.harness_is_interpreter(address)
    libc = ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value
    mine = ctypes.cast(FREE.harness_stack, ctypes.c_void_p).value
    assert not FREE.harness_is_interpreter(libc)
    assert not FREE.harness_is_interpreter(mine)
    assert not FREE.harness_is_interpreter(0)


def test_status():
    text = FREE.harness_status().decode()
    whole = "CPython %d.%d.%d" % sys.version_info[:3]
    assert text == (whole if VERSION >= (3, 11) else "CPython %d.%d" % VERSION), text


def time_of(depth):
    """Nanoseconds of a walk over `depth` different functions."""
    found = ctypes.c_int()
    names = {"f0": lambda: FREE.harness_time(100, ctypes.byref(found))}
    for i in range(1, depth):
        exec("def f%d():\n x = [1]\n return f%d()" % (i, i - 1), names)
    return found, names["f%d" % (depth - 1)]()


def main():
    if os.environ.get("GPUFL_PYTHON_OFF"):
        assert not FREE.harness_find() and FREE.harness_stack(buffer(), SIZE, MOST) == 0
        status = FREE.harness_status().decode()
        assert os.environ["GPUFL_PYTHON_OFF"] in status, status
        print("python %s: off as it must be: %s" % (sys.version.split()[0], status))
        return
    assert FREE.harness_stack(buffer(), SIZE, MOST) == 0, "frames before anybody asked for Python"
    assert FREE.harness_find() == 1, FREE.harness_status()
    only = sys.argv[2:]
    tests = [(k, v) for k, v in globals().items() if k.startswith("test_") and (not only or k in only)]
    for name, test in tests:
        try:
            test()
        except BaseException:
            print("python %s: %s failed" % (sys.version.split()[0], name))
            raise
    found, ns = time_of(10)
    found30, ns30 = time_of(30)
    print("python %s: %d tests, %d stacks compared, walk of %d frames %.0f ns, of %d %.0f ns" % (
        sys.version.split()[0], len(tests), looks, found.value, ns, found30.value, ns30))


if __name__ == "__main__":
    main()

"""gpufl.Scope in a session: the log has exactly the program's scopes."""
import asyncio
import threading

import pytest

import gpufl


def test_nested_scopes_with_tags(begin, log):
    assert begin()
    with gpufl.Scope("outer", "batch_42"):
        with gpufl.Scope("inner"):
            pass
    rows = {row["name"]: row for row in log().scopes()}
    assert rows["outer"]["tag"] == "batch_42" and rows["outer"]["depth"] == 0
    assert rows["inner"]["tag"] == "" and rows["inner"]["parent"] == rows["outer"]["instance"]
    assert 0 < rows["inner"]["duration"] <= rows["outer"]["duration"]


def test_a_loop_opens_its_scope_once(begin, log):
    assert begin()
    seen = []
    for i in gpufl.Scope("matmul", "math", repeat=4, warmup=2):
        seen.append(i)
        with gpufl.Scope(f"at {i}"):
            pass
    assert seen == [-2, -1, 0, 1, 2, 3]
    rows = log()
    (loop,) = rows.scopes("matmul")
    assert (loop["tag"], loop["repeat"], loop["warmup"]) == ("math", 4, 2)
    for i in seen:
        assert rows.scopes(f"at {i}")[0]["parent"] == (loop["instance"] if i >= 0 else 0)


@pytest.mark.parametrize("way", ["break", "raise"])
def test_a_loop_that_is_left_closes_its_scope(begin, log, way):
    assert begin()
    scope = gpufl.Scope("loop", repeat=10)
    try:
        for i in scope:
            if i == 3 and way == "break":
                break
            if i == 3:
                raise KeyError("mine")
    except KeyError as error:
        assert error.args == ("mine",)
    with gpufl.Scope("after"):
        pass
    rows = log()
    assert len(rows.scopes("loop")) == 1 and rows.scopes("after")[0]["parent"] == 0


def test_a_scope_with_repeat_as_context_manager(begin, log):
    assert begin()
    with gpufl.Scope("own loop", repeat=5, warmup=1):
        pass
    (row,) = log().scopes("own loop")
    assert (row["repeat"], row["warmup"]) == (5, 1)


@pytest.mark.parametrize("args, kwargs, error", [
    ((), {}, TypeError),
    ((1,), {}, TypeError),
    ((b"bytes",), {}, TypeError),
    (("a", 5), {}, TypeError),
    (("a", "b", 3), {}, TypeError),
    (("a",), {"repeat": "3"}, TypeError),
    (("a",), {"repeat": True}, TypeError),
    (("a",), {"repeat": -1}, ValueError),
    (("a",), {"repeat": 1 << 32}, ValueError),
    (("a",), {"repeat": 1 << 90}, ValueError),
    (("a",), {"warmup": 2}, ValueError),
    (("a",), {"nope": 2}, TypeError),
])
def test_wrong_arguments(args, kwargs, error):
    with pytest.raises(error):
        gpufl.Scope(*args, **kwargs)


def test_numbers_of_numpy_are_numbers(begin):
    numpy = pytest.importorskip("numpy")
    assert list(gpufl.Scope("loop", repeat=numpy.int64(2), warmup=numpy.uint8(1))) == [-1, 0, 1]
    assert begin(system_sample_rate_ms=numpy.int32(50))
    with pytest.raises(TypeError, match="repeat must be an int"):
        gpufl.Scope("loop", repeat=numpy.float32(2))
    with pytest.raises(ValueError, match="system_sample_rate_ms must be from 0"):
        gpufl.init(system_sample_rate_ms=numpy.int64(-1))


def test_a_scope_without_repeat_is_no_loop():
    with pytest.raises(TypeError, match="repeat"):
        iter(gpufl.Scope("a"))


def test_names_that_are_hard_to_write(begin, log):
    assert begin()
    for name in ("", "日本 ü", "lone \ud800 surrogate", "x" * 100000, "a\0b"):
        with gpufl.Scope(name):
            pass
    names = [row["name"] for row in log().scopes()]
    assert len(names) == 5 and names[1] == "日本 ü" and names[2] == "lone ? surrogate"
    assert names[3] and set(names[3]) == {"x"} and names[4] == "a"


def test_the_programs_exception_is_the_one_that_is_seen(begin):
    assert begin()
    mine = ValueError("mine")
    with pytest.raises(ValueError) as caught:
        with gpufl.Scope("a"):
            with gpufl.Scope("b"):
                gpufl.shutdown()
                raise mine
    assert caught.value is mine and caught.value.__context__ is None


def test_one_object_many_times(begin, log):
    assert begin()
    scope = gpufl.Scope("again")
    with scope, scope:
        for _ in range(3):
            with scope:
                pass
    depths = sorted(row["depth"] for row in log().scopes("again"))
    assert depths == [0, 1, 2, 2, 2]


def test_one_object_on_many_threads(begin, log):
    assert begin()
    scope = gpufl.Scope("shared")
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        for _ in range(50):
            with scope, scope:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = log().scopes("shared")
    assert len(rows) == 800
    assert sorted({row["depth"] for row in rows}) == [0, 1]


def test_exit_without_enter_and_enter_without_exit(begin, log):
    assert begin()
    scope = gpufl.Scope("a")
    assert scope.__exit__(None, None, None) is False
    scope.__enter__()
    del scope  # closed with the object
    with gpufl.Scope("b"):
        pass
    rows = log()
    assert len(rows.scopes("a")) == 1 and rows.scopes("b")[0]["parent"] == 0


def test_a_session_that_begins_or_ends_inside(begin, log):
    scope = gpufl.Scope("across")
    with scope:
        assert begin()
    with scope:
        gpufl.shutdown()
        assert begin()
        with gpufl.Scope("in the second"):
            pass
    rows = log()
    assert rows.scopes("in the second")[0]["depth"] == 0


def test_tasks_do_not_end_each_others_scopes(begin, log):
    """Two tasks of one thread whose scopes overlap: a ends first though b is inside it."""
    assert begin()

    async def main():
        a_open, b_open, a_closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def a():
            with gpufl.Scope("a"):
                a_open.set()
                await b_open.wait()
            a_closed.set()

        async def b():
            await a_open.wait()
            with gpufl.Scope("b"):
                b_open.set()
                await a_closed.wait()
                with gpufl.Scope("in b"):
                    pass

        await asyncio.gather(a(), b())

    asyncio.run(main())
    rows = {row["name"]: row for row in log().scopes()}
    end = {name: row["start"] + row["duration"] for name, row in rows.items()}
    assert rows["in b"]["parent"] == rows["b"]["instance"]
    assert end["b"] >= end["in b"] >= end["a"]


# ---- the decorator ------------------------------------------------------------------------------


def test_decorated_function(begin, log):
    assert begin()

    @gpufl.Scope("work", "tag")
    def work(a, *, b):
        "Its text."
        if b < 0:
            raise KeyError(b)
        return a + b

    assert work(1, b=2) == 3 and work.__doc__ == "Its text." and work.__name__ == "work"
    with pytest.raises(KeyError):
        work(1, b=-1)
    assert [row["tag"] for row in log().scopes("work")] == ["tag", "tag"]


def test_decorated_recursion_and_methods(begin, log):
    assert begin()

    class Model:
        @gpufl.Scope("fact")
        def fact(self, n):
            return 1 if n == 0 else n * self.fact(n - 1)

        @gpufl.Scope("static")
        @staticmethod
        def static():
            return 5

        @gpufl.Scope("class")
        @classmethod
        def kind(cls):
            return cls

    assert Model().fact(4) == 24 and Model.static() == 5 and Model.kind() is Model
    rows = log()
    assert sorted(row["depth"] for row in rows.scopes("fact")) == [0, 1, 2, 3, 4]
    assert len(rows.scopes("static")) == len(rows.scopes("class")) == 1


def test_decorated_coroutine_is_open_only_while_it_runs(begin, log):
    assert begin()

    async def main():
        turn = asyncio.Event()

        @gpufl.Scope("task")
        async def task():
            await turn.wait()
            return "done"

        running = asyncio.ensure_future(task())
        await asyncio.sleep(0)
        with gpufl.Scope("between"):
            turn.set()
        return await running

    assert asyncio.run(main()) == "done"
    rows = log()
    assert len(rows.scopes("task")) == 2  # one scope until it waits, one after that
    assert rows.scopes("between")[0]["parent"] == 0


def test_decorated_coroutine_passes_exceptions_both_ways(begin):
    assert begin()
    seen = []

    @gpufl.Scope("task")
    async def task(event):
        try:
            await event.wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    @gpufl.Scope("fails")
    async def fails():
        await asyncio.sleep(0)
        raise KeyError("mine")

    async def main():
        running = asyncio.ensure_future(task(asyncio.Event()))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        with pytest.raises(KeyError, match="mine"):
            await fails()

    asyncio.run(main())
    assert seen == ["cancelled"]


def test_decorated_generator(begin, log):
    assert begin()
    closed = []

    @gpufl.Scope("numbers")
    def numbers():
        got = []
        try:
            got.append((yield 1))
            try:
                yield 2
            except KeyError:
                yield "caught"
        finally:
            closed.append(got)
        return "end"

    generator, turns = numbers(), 4
    assert next(generator) == 1 and generator.send("x") == 2 and generator.throw(KeyError()) == "caught"
    with gpufl.Scope("between"):
        pass
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == "end" and closed == [["x"]]
    left = numbers()
    next(left)
    left.close()
    turns += 2  # one up to its first value, one for its `finally`
    assert len(closed) == 2
    numbers().close()  # never begun
    rows = log()
    assert rows.scopes("between")[0]["parent"] == 0 and len(rows.scopes("numbers")) == turns


def test_a_decorator_that_is_called_with_no_keywords():
    assert gpufl.Scope("x")(len, **{})("ab") == 2
    with pytest.raises(TypeError, match="one function"):
        gpufl.Scope("x")(function=len)


def test_what_cannot_be_decorated():
    async def generator():
        yield 1

    with pytest.raises(TypeError, match="asynchronous generator"):
        gpufl.Scope("a")(generator)
    for wrong in (5, int, None):
        with pytest.raises(TypeError):
            gpufl.Scope("a")(wrong)
    with pytest.raises(TypeError, match="repeat"):
        gpufl.Scope("a", repeat=2)(print)
    with pytest.raises(TypeError):
        gpufl.Scope("a")()

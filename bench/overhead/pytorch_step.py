"""A training step of about 900 small kernels: the launch-bound program that
tracers slow down most. A small transformer in half precision with an optimizer
that is deliberately not fused.

    python3 pytorch_step.py bare --steps 200
    python3 pytorch_step.py turns --library libgpufl.so --rounds 20
    gpufl trace -- python3 pytorch_step.py floor --rounds 40 --steps 10
    python3 pytorch_step.py states --library libgpufl.so --states bare,Sync
    python3 pytorch_step.py switched --library libgpufl.so --half-width 0.3 --seconds 300
    python3 pytorch_step.py varied --library libgpufl.so --vary flush_interval_ms=200,1000 --steps 60 --seconds 120

`turns` takes turns, inside one process, between a Trace session, torch.profiler with
CUDA activity, and neither; `before` are rounds before either has run. `floor` alternates,
inside one process, rounds under the traced state with rounds in which libgpufl does
the least a tracer can (gpufl_bench_floor). `states` alternates sessions of engines inside one process, each begun
before its round and ended after it: bare, Monitor, Sync, Trace, Trace+launch (stacks at launches), Trace-idle (without
stacks of launches and samples of threads, which name the line that idle time belongs to), PcSampling:none (with that
pc_kernel_collect). Its step ends by reading the loss, so that there is a wait to name. `blocks` does the same for
seconds at a time; with --apart each block is a process of its own, into which the library is injected as by `gpufl
trace`. `switched` has one Trace session and switches the stacks and samples that name the line of idle time, in the
order on off off on, until half the 95 % interval of the ratio is --half-width percent or --seconds are over. `varied`
does so with sessions whose option --vary has the first value ("on") and the second one, and compares mean steps: what
the option changes may happen in few of them. Other
options of the library come from the environment (GPUFL_WINDOW_EVERY_MS=15000 ...). Prints one JSON object: ms per step
of every round.
"""
import argparse
import contextlib
import ctypes
import json
import math
import os
import random
import statistics
import sys
import time

import torch
from torch import nn

SAMPLES_HZ = os.environ.get("GPUFL_HOST_SAMPLES_HZ", "100")  # the library's default


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, width=128, heads=4, layers=11, vocabulary=512, length=64):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def make_step():
    torch.manual_seed(0)
    model = Model().cuda().half()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, foreach=False, fused=False)
    ids = torch.randint(0, 512, (8, 64), device="cuda")

    def step(read_loss=False):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(ids).view(-1, 512).float(), ids.view(-1))
        loss.backward()
        optimizer.step()
        return loss.item() if read_loss else None

    step.model, step.optimizer = model, optimizer
    return step


def timed(step, count: int) -> float:
    """ms per step over count steps, with one synchronization at the end."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / count


def kernels_of_a_step(step) -> int:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    return sum(e.device_type == torch.autograd.DeviceType.CUDA for e in profile.events())


def session_options(state: str) -> dict:
    """The environment variables of a state."""
    state, _, without = state.partition("-")
    engine, _, launch = state.partition("+")
    engine, _, collect = engine.partition(":")
    return {"GPUFL_PC_KERNEL_COLLECT": collect or "all", "GPUFL_PROFILING_ENGINE": engine,
            "GPUFL_IDLE_STACKS": "false" if without else "true", "GPUFL_HOST_SAMPLES_HZ": "0" if without else SAMPLES_HZ,
            "GPUFL_ENABLE_STACK_TRACE": "true", "GPUFL_LAUNCH_STACKS": "true" if launch else "false"}


class Session:
    """A session of libgpufl in this process, configured by the environment; the state "bare" has none."""

    def __init__(self, library, state: str):
        self.library, self.state = library, state

    def __enter__(self):
        if self.state == "bare":
            return
        os.environ.update(session_options(self.state))
        if self.library.gpufl_init(None) != 0:
            raise SystemExit(f"no {self.state} session")

    def __exit__(self, *_):
        if self.state != "bare":
            self.library.gpufl_shutdown()


class TorchProfiler:
    """torch.profiler with CUDA activity only. Kineto would keep CUPTI's only subscription; with TEARDOWN_CUPTI,
    a thread of Kineto's gives it up and finalizes CUPTI in some CUDA call after the end: __exit__ waits for that.
    `kernels` says afterwards how many it recorded."""

    def __init__(self, step):
        os.environ["TEARDOWN_CUPTI"] = "1"
        self.step = step

    def __enter__(self):
        self.profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        self.profile.__enter__()
        return self

    def __exit__(self, *_):
        self.profile.__exit__(None, None, None)
        # Kineto's own list: the profiler's events() would make a Python object of each event, which takes seconds.
        events = self.profile.profiler.kineto_results.events()
        self.kernels = sum(e.device_type() == torch.autograd.DeviceType.CUDA and not e.name().startswith("Mem")
                           for e in events)
        for _ in range(100):
            timed(self.step, 1)
            if cupti_is_free():
                return
        raise SystemExit("torch.profiler did not give CUPTI back")


def cupti_is_free() -> bool:
    """Tries to subscribe, and unsubscribes at once."""
    with open("/proc/self/maps") as maps:
        loaded = next(line.split()[-1] for line in maps if "libcupti.so" in line)
    cupti, subscriber = ctypes.CDLL(loaded), ctypes.c_void_p()
    callback = ctypes.CFUNCTYPE(None)(lambda: None)  # never called: nothing is enabled
    if cupti.cuptiSubscribe(ctypes.byref(subscriber), callback, None) != 0:
        return False
    return cupti.cuptiUnsubscribe(subscriber) == 0


def turns(step, args):
    """Bare rounds always follow torch.profiler, whose end finalizes CUPTI: kernel records once enabled cost a little
    until then. Each of the two tools is first in every other cycle."""
    library = ctypes.CDLL(args.library)
    cycles = (("Trace", "profiler", "bare"), ("profiler", "bare", "Trace"))
    result = {"before": [timed(step, args.steps) for _ in range(args.rounds)],
              "bare": [], "Trace": [], "profiler": [], "kernels": []}
    for number in range(args.rounds):
        for state in cycles[number % 2]:
            with TorchProfiler(step) if state == "profiler" else Session(library, state) as tool:
                timed(step, 2)
                result[state].append(timed(step, args.steps))
            if state == "profiler":
                result["kernels"].append(tool.kernels)
    return result


def alternate(step, args):
    library = ctypes.CDLL(args.library)
    states = args.states.split(",")
    result = {state: [] for state in states}
    for number in range(args.rounds):
        for state in states[number % len(states):] + states[: number % len(states)]:
            with Session(library, state):
                timed(step, 2)
                result[state].append(timed(lambda: step(True), args.steps))
    return result


def stepped(step, count: int) -> tuple:
    """Median wall-clock time of a step and median processor time of its launching thread, ms. Medians, since a virtual
    machine sometimes pauses."""
    torch.cuda.synchronize()
    wall, thread = [time.perf_counter()], [time.thread_time()]
    for _ in range(count):
        step()
        thread.append(time.thread_time())
        wall.append(time.perf_counter())
    torch.cuda.synchronize()
    return tuple(statistics.median(b - a for a, b in zip(times, times[1:])) * 1e3 for times in (wall, thread))


def mean_interval(ratios) -> tuple:
    """Geometric mean of ratios, and half the width of its 95 % interval (normal). An arithmetic mean is too high by half
    the variance: 0.1 % with blocks that differ by 5 %. The geometric mean of the inverse ratios is the inverse."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = math.exp(statistics.mean(logs))
    return mean, mean * 1.96 * statistics.stdev(logs) / len(logs) ** 0.5


def trimmed(values):
    """The values without the lowest tenth and the highest tenth, since a virtual machine sometimes pauses."""
    cut = len(values) // 10
    return sorted(values)[cut:len(values) - cut]


def mean_step(step, count: int) -> tuple:
    """Mean wall-clock time of a step and mean processor time of its launching thread, ms."""
    thread = time.thread_time()
    wall = timed(step, count)
    return wall, (time.thread_time() - thread) * 1e3 / count


def in_blocks(step, switch, steps: int, seconds: float, half_width: float, least: int = 40, measure=stepped) -> dict:
    """Measures blocks of rounds in the order on off off on, so that a steady drift within a block cancels. switch(on)
    switches. Ends after the given seconds, or earlier if there are `least` blocks and half the 95 % interval of the
    wall-clock ratio is at most half_width percent."""
    result = {"on_s": 0.0, "on": [], "off": [], "thread_on": [], "thread_off": []}
    ratios = {"wall": [], "thread": []}
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        sums = {True: [0.0, 0.0], False: [0.0, 0.0]}
        for on in (True, False, False, True):
            switch(on)
            since = time.perf_counter()
            timed(step, 1)
            wall, thread = measure(step, steps)
            result["on_s"] += on * (time.perf_counter() - since)
            sums[on][0] += wall / 2
            sums[on][1] += thread / 2
        for on, name in ((True, "on"), (False, "off")):
            result[name].append(sums[on][0])
            result[f"thread_{name}"].append(sums[on][1])
        ratios["wall"].append(sums[True][0] / sums[False][0])
        ratios["thread"].append(sums[True][1] / sums[False][1])
        if len(ratios["wall"]) >= least and mean_interval(trimmed(ratios["wall"]))[1] * 100 <= half_width:
            break
    for name, values in ratios.items():
        result[f"ratio_{name}"] = [statistics.median(values), *mean_interval(trimmed(values)), len(values)]
    return result


def switched(step, args):
    """One Trace session, in which the stacks and samples that name the line of idle time are switched on and off."""
    library = ctypes.CDLL(args.library)

    def switch(on):
        if library.gpufl_bench_idle(ctypes.c_bool(on)) != 0:
            raise SystemExit("no trace runs")

    with Session(library, "Trace"):
        begin = time.perf_counter()
        while time.perf_counter() - begin < args.settle:
            timed(step, args.steps)
        settled = time.perf_counter() - begin
        result = in_blocks(step, switch, args.steps, args.seconds, args.half_width)
        result["on_s"] += settled
        switch(True)
    return result


def varied(step, args):
    """A Trace session for each round: with the first value of an option, and with the second one."""
    library = ctypes.CDLL(args.library)
    name, values = args.vary.split("=")
    sessions = contextlib.ExitStack()

    def switch(on):
        sessions.close()
        os.environ[f"GPUFL_{name.upper()}"] = values.split(",")[0 if on else 1]
        sessions.enter_context(Session(library, "Trace"))
        timed(step, 5)

    with sessions:
        return {"vary": args.vary,
                **in_blocks(step, switch, args.steps, args.seconds, args.half_width, measure=mean_step)}


def resident_mib() -> float:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def in_turn(args):
    states = args.states.split(",")
    for number in range(args.rounds):
        yield from states[number % len(states):] + states[: number % len(states)]


def block_apart(args, state: str) -> dict:
    """Measures one block. This process has not used CUDA before, as a program that `gpufl trace` starts."""
    if state != "bare":
        os.environ.update(session_options(state), CUDA_INJECTION64_PATH=os.path.abspath(args.library))
    times = [time.perf_counter()]
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    times.append(time.perf_counter())
    step = make_step()
    torch.cuda.synchronize()
    times.append(time.perf_counter())
    first = timed(step, 1)
    timed(step, 30)
    while time.perf_counter() - times[0] < args.settle:
        timed(step, args.steps)
    begin, ms = time.perf_counter(), []
    while time.perf_counter() - begin < args.seconds:
        ms.append(timed(step, args.steps))
    return {"ms": ms, "rss_mib": round(resident_mib(), 1), "context_ms": (times[1] - times[0]) * 1e3,
            "model_ms": (times[2] - times[1]) * 1e3, "first_ms": first}


def blocks_apart(args):
    """Measures each state for args.seconds at a time, in turn, each block in a process of its own: so the next blocks
    are free of what an engine leaves enabled after a session (PC sampling, ADR 10). All processes are forked from this
    one, which has imported what they need and never uses the GPU. So they need no import, and their layout of memory is
    equal; without that, times of Python processes differ by 10 %."""
    import torch._dynamo  # noqa: F401 -- an optimizer imports it when it is made, which takes seconds
    result = {state: {} for state in args.states.split(",")}
    for state in in_turn(args):
        source, sink = os.pipe()
        child = os.fork()
        if not child:
            os.close(source)
            block = block_apart(args, state)
            with os.fdopen(sink, "w") as out:
                json.dump(block, out)
            sys.exit(0)  # not os._exit: the session ends at the process's exit
        os.close(sink)
        with os.fdopen(source) as answer:
            block = answer.read()
        if os.waitpid(child, 0)[1]:
            raise SystemExit(f"the process of {state} failed")
        for name, values in json.loads(block).items():
            result[state].setdefault(name, []).append(values)
    result["over"] = {f"{state} over {base}": compared(result[state], result[base])
                      for base, *others in [args.states.split(",")] for state in others}
    return result


def compared(ours, base):
    """Ratios of step times, and how much longer the start takes (ms): the median over pairs of consecutive processes,
    with its 95 % interval. The ratio of means compares all steps of one side with all steps of the other."""
    from run import interval
    def pairs(value, of):
        return interval([of(value(o), value(b)) for o, b in zip(ours["ms"], base["ms"])])
    def later(*names):
        sums = [[sum(side[name][i] for name in names) for i in range(len(side["ms"]))] for side in (ours, base)]
        return interval([o - b for o, b in zip(*sums)])
    return {"ratio_of_means": bootstrap_of_means(ours["ms"], base["ms"]),
            "ratio_of_medians": pairs(statistics.median, lambda o, b: o / b),
            "context_ms": later("context_ms"), "first_step_ms": later("first_ms"),
            "begin_ms": later("context_ms", "first_ms")}


def bootstrap_of_means(ours, base, resamples=4000):
    """The ratio of the means, and its 95 % interval from resampled pairs of processes."""
    means = [(statistics.mean(o), statistics.mean(b)) for o, b in zip(ours, base)]
    rng = random.Random(1)
    def ratio(chosen):
        return sum(o for o, _ in chosen) / sum(b for _, b in chosen)
    ratios = sorted(ratio(rng.choices(means, k=len(means))) for _ in range(resamples))
    return ratio(means), ratios[int(0.025 * resamples)], ratios[int(0.975 * resamples)]


def blocks(step, args):
    """Measures each state for args.seconds at a time, in turn; the first half second is not counted."""
    library = ctypes.CDLL(args.library)
    states = args.states.split(",")
    result = {state: {"ms": [], "rss_mib": [], "first_ms": []} for state in states}
    for state in in_turn(args):
        of = result[state]
        with Session(library, state):
            begin = time.perf_counter()
            of["first_ms"].append(timed(step, 5) * 5)
            while time.perf_counter() - begin < 0.5:
                timed(step, 5)
            while time.perf_counter() - begin < args.seconds:
                of["ms"].append(timed(step, args.steps))
            of["rss_mib"].append(round(resident_mib(), 1))
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["bare", "turns", "blocks", "floor", "states", "switched", "varied", "count"])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=10, help="steps of a round")
    parser.add_argument("--seconds", type=float, default=5, help="length of a block, for blocks; of the whole, for switched and varied")
    parser.add_argument("--settle", type=float, default=0,
                        help="blocks --apart: a block begins so many seconds after the first use of the GPU")
    parser.add_argument("--apart", action="store_true", help="blocks: each in a process of its own, injected; what each process measured as a list, and ratios")
    parser.add_argument("--library", help="libgpufl.so, for states and turns")
    parser.add_argument("--states", default="bare,Sync")
    parser.add_argument("--vary", default="flush_interval_ms=200,1000", help="varied: an option and two values")
    parser.add_argument("--half-width", type=float, default=0.3, help="switched, varied: half the 95 %% interval at which it ends, %%")
    args = parser.parse_args()
    if args.mode == "blocks" and args.apart:
        print(json.dumps({"mode": args.mode, "steps": args.steps, **blocks_apart(args)}))
        return
    step = make_step()
    timed(step, 30)
    result = {"mode": args.mode, "steps": args.steps}
    if args.mode == "count":
        result["kernels"] = kernels_of_a_step(step)
    elif args.mode == "bare":
        result["bare"] = [timed(step, args.steps) for _ in range(args.rounds)]
    elif args.mode == "blocks":
        result.update(blocks(step, args))
    elif args.mode == "switched":
        result.update(switched(step, args))
    elif args.mode == "states":
        result.update(alternate(step, args))
    elif args.mode == "varied":
        result.update(varied(step, args))
    elif args.mode == "turns":
        result.update(turns(step, args))
    else:
        library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
        result["floor"], result["trace"] = [], []
        for number in range(args.rounds):
            for on in (number % 2 == 0, number % 2 == 1):
                if library.gpufl_bench_floor(ctypes.c_bool(on)) != 0:
                    raise SystemExit("no Trace session runs in this process: start with gpufl trace")
                timed(step, 2)
                result["floor" if on else "trace"].append(timed(step, args.steps))
        library.gpufl_bench_floor(ctypes.c_bool(False))
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""Programs with planted faults, and the findings that the report must have for each: programs x rules. A program is a
file of this folder that runs "fault" or "clean". A run may have only the findings in this table: `must` has the
required ones, with the line and the function that they have to name. Every other rule that fires is a false positive,
and so is a finding of a right rule at another line. Lines are marked in the sources by a comment `PLANTED: name`: the
table has no line numbers. sync_line names every line that waits, whatever its cost, so lines that wait without a fault
are marked as well and listed under `also`. `scopes` says how many kernels belong to a scope itself. The rules are those
of src/analyze/insight/insight.def, so that a new rule has a column at once.
"""
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
RULES = re.findall(r"^INSIGHT\((\w+),", (HERE.parent.parent / "src/analyze/insight/insight.def").read_text(), re.M)


class At:
    """A marked line, the function that a finding there has to name, the severities that it may have, and the least and
    the largest share that it gives back. The largest share counts only if no other process took the processors.
    Severities and shares count only with fake libraries: they are shares of the run, and a real driver takes longer to
    start."""

    def __init__(self, marker, function, *severities, gives=None):
        self.marker, self.function, self.severities, self.gives = marker, function, severities, gives


class Kernel:
    """The kernel that a finding has to name, with or without template arguments."""
    severities, gives = (), None

    def __init__(self, name):
        self.name = name


class Says:
    """Words that the finding has to have, and a marked line that its sentences have to name."""
    severities, gives = (), None

    def __init__(self, words, marker=None):
        self.words, self.marker = words, marker


class Case:
    def __init__(self, program, mode, must, also=(), noise=(), scopes=None, options=(), env=None, needs="driver",
                 crowded=(), never=None, blocked=None):
        self.program, self.mode = program, mode
        self.name = " ".join((program, mode, *options))
        # {rule: At, Kernel or Says, a tuple of several, or None if the finding's place does not count}
        self.must = {rule: at if isinstance(at, tuple) else (at,) for rule, at in must.items()}
        self.also = also  # At: lines that sync_line may name as well
        self.noise = noise  # rules that may fire as well, because their findings are true of the program
        # rules that may fire, or name another place, only if other processes took the processors (run.py asks the
        # kernel)
        self.crowded = crowded
        self.never = never  # words that no finding may have
        self.blocked = blocked or {}  # {marker: share of the run in which a thread was blocked at the line, at least}
        self.scopes = scopes or {}  # {scope: number of its own kernels, None: some}; "": kernels outside of all scopes
        self.options, self.env = options, env or {}  # of `gpufl trace`; of the program and the fake libraries
        # driver, python, samples (a Python whose threads are sampled), pages (samples and paging.py), torch, fake,
        # limit (group.py) or nothing: the simulated GPU
        self.needs = needs


# PyTorch loads libraries and code at their first use, and by default computes eagerly in float32 with products of any
# size: these findings are true of every program that uses it with its defaults.
NOISE = {"torch": ("idle_cause", "float32_products", "elementwise_chains", "unfused_optimizer", "small_products")}


def hidden_sync(program, marker, function, needs="driver"):
    """A sync in a loop, wherever it is; clean: the same line runs once after the loop."""
    return moved_sync(program, marker, marker, function, needs)


def moved_sync(program, marker, after, function, needs="driver"):
    """A sync in a loop; clean: another line after the loop."""
    noise = NOISE.get(needs, ())
    in_loop = At(marker, function, "HIGH")
    return [Case(program, "fault", {"sync_line": in_loop, "sync_loop": in_loop}, [At(after, function)], noise,
                 needs=needs),
            Case(program, "clean", {"sync_line": At(after, function)}, (), noise, needs=needs)]


# Findings of `gpufl sim`'s own training loop; some of them depend on the load of the machine.
SIMULATED = ("sync_line", "sync_loop", "occupancy", "idle_cause", "throttle_power")


def simulated(fault, rule, kernel):
    """A fault inside a kernel, which only samples and counted instructions show; `gpufl sim` plants it."""
    return Case("sim", fault, {rule: Kernel(kernel)}, noise=SIMULATED, options=("--engine", "Deep"), needs="nothing")


LAUNCH_STACKS = ("--stacks", "launch")

# If at most one call is queued for the GPU, each pause of the host on a busy machine is visible.
HOST_BOUND = ("late_launch",)
PAUSED = ("idle_cause",)  # a pause of more than 10 ms

# Loading code takes some ms each time: the fake driver waits, a real one compiles the PTX again.
SLOW_LOADS = {"FAKE_CUDA_LOAD_US": "3000", "CUDA_CACHE_DISABLE": "1"}

CASES = [
    *moved_sync("sync_loop", "sync-in-loop", "sync-hoisted", "train"),
    *hidden_sync("sync_inline", "sync-in-inline", "settle"),
    *hidden_sync("sync_lambda", "sync-in-lambda", "'lambda'"),
    *hidden_sync("sync_template", "sync-in-template", "Tensor<float>::item"),
    *moved_sync("sync_thread", "sync-in-thread", "sync-after-thread", "load"),
    Case("sync_loop", "fault", {"sync_line": At("sync-in-loop", "train", "HIGH"),
                                "sync_loop": At("sync-in-loop", "train", "HIGH")},
         [At("sync-hoisted", "train")], options=("--engine", "Sync")),
    Case("sync_loop", "clean", {"sync_line": At("sync-hoisted", "train")}, options=("--engine", "Sync")),

    Case("event_wait", "fault", {"sync_line": At("event-in-loop", "relay", "HIGH"),
                                 "sync_loop": At("event-in-loop", "relay", "HIGH")}, [At("relay-end", "relay")]),
    Case("event_wait", "clean", {"sync_line": At("relay-end", "relay")}),

    # The host needs 3.2 ms of a step of 11.2 ms, or more if other processes have its processor. Because of the wait the
    # GPU is idle for all of them; an eighth of them follows the wait directly.
    Case("sync_lead", "fault", {"sync_line": At("lead-lost", "train", "HIGH", "MEDIUM"),
                                "sync_loop": At("lead-lost", "train", "HIGH", "MEDIUM", gives=(0.15, 0.6))},
         [At("lead-end", "train")], HOST_BOUND, crowded=PAUSED),
    Case("sync_lead", "clean", {"sync_line": At("lead-kept", "train"),
                                "sync_loop": At("lead-kept", "train", gives=(0, 0.05))},
         [At("lead-end", "train")], crowded=(*HOST_BOUND, *PAUSED)),

    Case("copies_pageable", "fault", {"pageable_copies": At("pageable-copy", "feed"),
                                      "sync_line": At("pageable-end", "feed")}, [At("pageable-copy", "feed")]),
    Case("copies_pageable", "clean", {"sync_line": At("pageable-end", "feed")}),
    Case("copies_small", "fault", {"small_copies": At("small-copy", "upload"), "sync_line": At("small-end", "upload")},
         [At("small-copy", "upload")], HOST_BOUND, options=LAUNCH_STACKS, crowded=PAUSED),
    Case("copies_small", "clean", {"sync_line": At("small-end", "upload")}, [At("whole-copy", "upload")],
         options=LAUNCH_STACKS),

    Case("free_loop", "fault", {"memory_alloc_loop": (At("free-in-loop", "train"), At("alloc-in-loop", "train")),
                                "sync_line": (At("free-in-loop", "train", "HIGH"), At("free-end", "train", "LOW"))}),
    Case("free_loop", "clean", {"sync_line": At("free-end", "train")}, [At("free-after", "train")]),

    Case("launch_storm", "fault", {"launch_storm": At("launch-storm", "compute"),
                                   "sync_line": At("storm-end", "compute")}, noise=HOST_BOUND,
         options=LAUNCH_STACKS, crowded=PAUSED),
    Case("launch_storm", "clean", {"sync_line": At("storm-end", "compute")}, options=LAUNCH_STACKS),
    Case("launch_late", "fault", {"late_launch": At("late-launch", "train", "HIGH"),
                                  "sync_line": At("late-end", "train", "LOW")}, options=LAUNCH_STACKS, crowded=PAUSED),
    Case("launch_late", "clean", {"sync_line": At("late-end", "train")}, options=LAUNCH_STACKS),

    Case("idle_input", "fault", {"idle_cause": None, "sync_line": At("idle-end", "consume")}),
    Case("idle_input", "clean", {"sync_line": At("idle-end", "consume")}),

    # The limit lets the host run for 20 of each 100 ms; the rest of the idle time belongs to the line.
    Case("cpu_limit", "fault", {"cpu_limit": Says("The CPU limit of 0.2 cores"), "sync_line": At("limit-end", "train")},
         noise=(*HOST_BOUND, *PAUSED), options=("-s", "20ms"), needs="limit"),
    Case("cpu_limit", "clean", {"sync_line": At("limit-end", "train")}, options=("-s", "20ms"), needs="limit",
         crowded=(*HOST_BOUND, *PAUSED), never="CPU limit"),

    # The host is ahead and blocked for most of the run in calls that only wait for room in the queue: nothing to win.
    Case("queue_full", "clean", {"sync_line": At("queue-end", "train")}, [At("queue-fill", "train")],
         env={"FAKE_CUDA_QUEUE": "41"}, needs="fake", crowded=(*HOST_BOUND, *PAUSED), blocked={"queue-fill": 0.5}),

    Case("graph_breaks", "fault", {"broken_graphs": None, "sync_line": At("graph-end", "train")},
         noise=(*HOST_BOUND, *PAUSED)),
    Case("graph_breaks", "clean", {"sync_line": At("graph-end", "train")}, crowded=(*HOST_BOUND, *PAUSED)),

    # Another process uses the GPU in turns; or it exists without using it, and the host is late by 5 ms or more.
    Case("shared_gpu", "fault", {"idle_cause": Says("another process used the GPU"),
                                 "sync_line": At("shared-end", "main")}, options=("-s", "5ms"),
         env={"FAKE_NVML": "shared", "FAKE_CUDA_SLICE_US": "2000"}, needs="fake", crowded=HOST_BOUND),
    # Two clients of MPS use the GPU in turns; or a single client's queue waits for something else.
    Case("shared_gpu", "fault", {"idle_cause": Says("another process used the GPU"),
                                 "sync_line": At("shared-end", "main")}, options=("-s", "6ms"),
         env={"FAKE_NVML": "mps", "FAKE_CUDA_SLICE_US": "2000"}, needs="fake", crowded=HOST_BOUND),
    Case("shared_gpu", "fault", {"idle_cause": Says("waited for an event"),
                                 "sync_line": At("shared-end", "main")}, options=("-s", "7ms"),
         env={"FAKE_NVML": "mps-alone", "FAKE_CUDA_SLICE_US": "2000"}, needs="fake", crowded=HOST_BOUND,
         never="another process used the GPU"),
    Case("shared_gpu", "clean", {"sync_line": At("shared-end", "main")}, noise=(*HOST_BOUND, *PAUSED),
         options=("-s", "5ms", *LAUNCH_STACKS), env={"FAKE_NVML": "shared"}, needs="fake",
         never="another process used the GPU"),

    Case("spills", "fault", {"spills": Kernel("spill"), "sync_line": At("spills-end", "compute")}),
    Case("spills", "clean", {"sync_line": At("spills-end", "compute")}),
    Case("occupancy", "fault", {"occupancy": Kernel("hoard"), "sync_line": At("occupancy-end", "compute")}),
    Case("occupancy", "clean", {"sync_line": At("occupancy-end", "compute")}),
    Case("occupancy_registers", "fault", {"occupancy": Kernel("greedy"), "sync_line": At("registers-end", "compute")}),
    Case("occupancy_registers", "clean", {"sync_line": At("registers-end", "compute")}),

    Case("library", "fault", {"float32_products": Kernel("ampere_sgemm_128x64_nn"),
                              "layout_conversions": Kernel("cudnn::ops::nchwToNhwcKernel"),
                              "repeated_casts": Kernel("at::native::vectorized_elementwise_kernel"),
                              "attention_pieces": None, "elementwise_chains": None,
                              "unfused_optimizer": Kernel("multi_tensor_apply_kernel"),
                              "small_products": Kernel("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN"),
                              "sync_line": At("library-end", "train")}),
    Case("library", "clean", {"sync_line": At("library-clean-end", "train_well")}),

    Case("pipeline", "clean", {"sync_line": At("pipeline-end", "run")}, [At("pipeline-slot", "run")]),
    Case("pipeline", "power", {"throttle_power": None, "sync_line": At("pipeline-end", "run")},
         [At("pipeline-slot", "run")], options=("-s", "5ms"), env={"FAKE_NVML": "power"}, needs="fake"),
    Case("pipeline", "clocks", {"clocks_held": None, "sync_line": At("pipeline-end", "run")},
         [At("pipeline-slot", "run")], options=("-s", "5ms"), env={"FAKE_NVML": "set"}, needs="fake"),
    Case("pipeline", "heat", {"throttle_thermal": None, "sync_line": At("pipeline-end", "run")},
         [At("pipeline-slot", "run")], options=("-s", "5ms"), env={"FAKE_NVML": "hot"}, needs="fake"),

    # backward_pass is inherited if only one thread has scopes open; if two have, the launches have no scope.
    Case("scopes", "clean", {"sync_line": At("scopes-end", "train_epoch")},
         scopes={"forward_pass": 60, "backward_pass": 40, "optimizer_step": 20, "": 0}),
    Case("scopes", "fault", {"sync_line": At("scopes-end", "train_epoch")},
         scopes={"forward_pass": 60, "backward_pass": 0, "optimizer_step": 20, "": 40}),

    simulated("stall", "stall", "flash_backward_dq_kernel"),
    simulated("divergence", "divergence", "fused_dropout_kernel"),
    simulated("uncoalesced", "uncoalesced", "scatter_add_kernel"),
    simulated("conflicts", "bank_conflicts", "transpose_kernel"),
    Case("sim", "clean", {}, noise=SIMULATED, options=("--engine", "Deep"), needs="nothing"),

    *moved_sync("sync_loop.py", "py-sync-in-loop", "py-sync-hoisted", "train", "python"),
    *hidden_sync("sync_helper.py", "py-sync-in-helper", "Meter.update", "python"),
    *hidden_sync("sync_thread.py", "py-sync-in-thread", "<lambda>", "python"),
    Case("collect.py", "fault", {"idle_cause": (At("py-collect", "tidy", "HIGH"), Says("ran Python's garbage collector")),
                                 "sync_line": At("py-collect-end", "train")}, needs="samples",
         crowded=(*HOST_BOUND, *PAUSED)),
    Case("collect.py", "clean", {"sync_line": At("py-collect-end", "train")}, needs="samples",
         crowded=(*HOST_BOUND, *PAUSED), never="ran Python's garbage collector"),
    Case("load.py", "fault", {"idle_cause": (At("py-load", "fetch", "HIGH"), Says("the host loaded code")),
                              "sync_line": At("py-load-end", "train")}, noise=HOST_BOUND,
         env=SLOW_LOADS, needs="python", crowded=PAUSED),
    Case("load.py", "clean", {"sync_line": At("py-load-end", "train")}, env=SLOW_LOADS, needs="python",
         crowded=(*HOST_BOUND, *PAUSED), never="the host loaded code"),
    Case("log.py", "fault", {"idle_cause": (At("py-log", "report", "HIGH"), Says("logged, printed or reported progress")),
                             "sync_line": At("py-log-end", "train")}, needs="samples", crowded=(*HOST_BOUND, *PAUSED)),
    Case("log.py", "clean", {"sync_line": At("py-log-end", "train")}, needs="samples",
         crowded=(*HOST_BOUND, *PAUSED), never="logged, printed or reported progress"),

    # Each page is read from the disk again, whose speed says how long that takes.
    Case("page.py", "fault", {"idle_cause": Says("blocked outside of any system call", "py-page"),
                              "paging": Says("pages of the program had to be read from a disk"),
                              "sync_line": At("py-page-end", "train")},
         noise=(*HOST_BOUND, *PAUSED), options=("-s", "20ms"), needs="pages"),
    Case("page.py", "clean", {"sync_line": At("py-page-end", "train")}, options=("-s", "20ms"), needs="pages",
         crowded=(*HOST_BOUND, *PAUSED), never="of memory"),

    *moved_sync("torch_item.py", "torch-item-in-loop", "torch-item-hoisted", "train", "torch"),
    *moved_sync("torch_cpu.py", "torch-cpu-in-loop", "torch-cpu-hoisted", "predict", "torch"),
    *hidden_sync("torch_helper.py", "torch-sync-in-helper", "Timer.__exit__", "torch"),
    *moved_sync("torch_thread.py", "torch-sync-in-thread", "torch-sync-after-thread", "load", "torch"),
    # In eager PyTorch with short kernels the host is sometimes the slower one.
    Case("torch_scopes.py", "clean", {"sync_line": At("torch-scopes-end", "<module>")}, (),
         (*NOISE["torch"], *HOST_BOUND), needs="torch",
         scopes={"forward_pass": None, "loss": None, "backward_pass": None, "optimizer_step": None}),
]

# Programs that are built for HIP as well; CMakeLists.txt has the same list. copies_pageable is not in it, because
# rocprofiler-sdk does not say what memory a copy reads.
HIP = ("sync_loop", "sync_inline", "sync_lambda", "sync_template", "sync_thread", "sync_lead", "copies_small",
       "free_loop", "launch_storm", "launch_late", "idle_input", "spills", "occupancy", "occupancy_registers", "event_wait",
       "pipeline")

# Rules that no program here plants, each with the test that does: these programs are single processes, and no monitor
# runs.
ELSEWHERE = {"gpu_failing": "tests/unit/analyze/insight/test_watch.c",
             "gpu_held_idle": "tests/unit/analyze/insight/test_watch.c",
             "gpu_throttled": "tests/unit/analyze/insight/test_watch.c",
             "rank_wait": "tests/unit/analyze/insight/test_ranks.c"}

MARK = re.compile(r"PLANTED: ([\w-]+)")


def markers():
    """Returns {marker: (file, line)}; a marker must not be used twice."""
    found = {}
    for path in sorted([*HERE.glob("*.[ch]"), *HERE.glob("*.cpp"), *HERE.glob("python/*.py")]):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            for name in MARK.findall(text):
                if name in found:
                    raise ValueError(f"{path.name}:{number}: marker {name} stands twice")
                found[name] = (path, number)
    return found

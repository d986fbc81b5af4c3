/* test_idle_activity.c - tests activities of the host by frames: files and functions of installed
 * versions, similar names that do not count, and the resulting findings. */
#include "analyze/model/threads/activity.h"
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/document.h"

#define SITE   "/usr/local/lib/python3.11/site-packages/"
#define LOADER SITE "torch/utils/data/dataloader.py"
#define QUEUES "/usr/local/lib/python3.11/multiprocessing/queues.py"

static const struct {
    const char *file, *function; /* NULL: native */
    enum idle_activity activity;
} frames[] = {
    {LOADER, "_MultiProcessingDataLoaderIter._try_get_data", ACTIVITY_INPUT_WAIT},
    {LOADER, "_try_get_data", ACTIVITY_INPUT_WAIT}, /* before Python 3.11 */
    {LOADER, "_MultiProcessingDataLoaderIter._get_data", ACTIVITY_INPUT_WAIT},
    {LOADER, "_MultiProcessingDataLoaderIter._next_data", ACTIVITY_INPUT_WAIT},
    {LOADER, "_SingleProcessDataLoaderIter._next_data", ACTIVITY_INPUT_WORK},
    {SITE "torch/utils/data/_utils/fetch.py", "_MapDatasetFetcher.fetch", ACTIVITY_INPUT_WORK},
    {SITE "torch/_dynamo/convert_frame.py", "ConvertFrameAssert.__call__", ACTIVITY_COMPILE_TORCH},
    {SITE "torch/_inductor/compile_fx.py", "compile_fx_inner", ACTIVITY_COMPILE_TORCH},
    {SITE "torch/_inductor/compile_fx.py", "_InProcessFxCompile.codegen_and_compile",
     ACTIVITY_COMPILE_TORCH},
    {SITE "torch/_inductor/async_compile.py", "AsyncCompile.wait", ACTIVITY_COMPILE_TORCH},
    {SITE "torch/_inductor/select_algorithm.py", "AlgorithmSelectorCache.benchmark_choices",
     ACTIVITY_COMPILE_TORCH},
    {SITE "torch/_inductor/runtime/triton_heuristics.py", "CachingAutotuner.autotune_to_one_config",
     ACTIVITY_COMPILE_TORCH},
    {SITE "torch/_inductor/runtime/triton_heuristics.py",
     "CachingAutotuner.benchmark_all_configs.<locals>.<dictcomp>", ACTIVITY_COMPILE_TORCH},
    {SITE "torch/_inductor/runtime/triton_heuristics.py",
     "CachingAutotuner.coordinate_descent_tuning", ACTIVITY_COMPILE_TORCH},
    {SITE "triton/compiler/compiler.py", "compile", ACTIVITY_COMPILE_TRITON},
    {SITE "triton/compiler/code_generator.py", "CodeGenerator.visit_For", ACTIVITY_COMPILE_TRITON},
    {SITE "triton/runtime/autotuner.py", "Autotuner._bench", ACTIVITY_COMPILE_TRITON},
    {SITE "triton/testing.py", "do_bench", ACTIVITY_COMPILE_TRITON},
    {SITE "jax/_src/compiler.py", "compile_or_get_cached", ACTIVITY_COMPILE_JAX},
    {SITE "jax/_src/compiler.py", "backend_compile_and_load", ACTIVITY_COMPILE_JAX},
    {SITE "jax/_src/interpreters/mlir.py", "lower_jaxpr_to_module", ACTIVITY_COMPILE_JAX},
    {SITE "jax/_src/interpreters/pxla.py", "lower_sharding_computation", ACTIVITY_COMPILE_JAX},
    {SITE "jax/_src/interpreters/partial_eval.py", "trace_to_jaxpr_dynamic", ACTIVITY_COMPILE_JAX},
    {SITE "numba/core/dispatcher.py", "Dispatcher.compile", ACTIVITY_COMPILE_OTHER},
    {SITE "numba/cuda/dispatcher.py", "CUDADispatcher.compile", ACTIVITY_COMPILE_OTHER},
    {SITE "cupy/cuda/compiler.py", "compile_using_nvrtc", ACTIVITY_COMPILE_OTHER},
    {SITE "torch/utils/cpp_extension.py", "_jit_compile", ACTIVITY_COMPILE_OTHER},
    {NULL, "cudnnBackendFinalize", ACTIVITY_PLAN},
    {NULL, "<garbage collection>", ACTIVITY_COLLECT},
    {NULL, "gc_collect_main", ACTIVITY_COLLECT},
    {NULL, "gc_collect_region", ACTIVITY_COLLECT},
    {SITE "lightning/pytorch/utilities/memory.py", "garbage_collection_cuda", ACTIVITY_COLLECT},
    {SITE "pytorch_lightning/utilities/memory.py", "garbage_collection_cuda", ACTIVITY_COLLECT},
    {SITE "accelerate/utils/memory.py", "release_memory", ACTIVITY_COLLECT},
    {SITE "torch/cuda/memory.py", "empty_cache", ACTIVITY_COLLECT},
    {SITE "torch/serialization.py", "save", ACTIVITY_CHECKPOINT},
    {SITE "torch/serialization.py", "_save", ACTIVITY_CHECKPOINT},
    {SITE "torch/distributed/checkpoint/state_dict_saver.py", "_save_state_dict",
     ACTIVITY_CHECKPOINT},
    {SITE "torch/distributed/checkpoint/filesystem.py", "_write_files_from_queue",
     ACTIVITY_CHECKPOINT},
    {SITE "safetensors/torch.py", "save_file", ACTIVITY_CHECKPOINT},
    {SITE "transformers/trainer.py", "Trainer._save_checkpoint", ACTIVITY_CHECKPOINT},
    {SITE "transformers/modeling_utils.py", "PreTrainedModel.save_pretrained", ACTIVITY_CHECKPOINT},
    {SITE "wandb/sdk/wandb_run.py", "Run.log", ACTIVITY_LOG},
    {SITE "torch/utils/tensorboard/writer.py", "SummaryWriter.add_scalar", ACTIVITY_LOG},
    {SITE "tensorboardX/writer.py", "SummaryWriter.add_scalar", ACTIVITY_LOG},
    {SITE "mlflow/tracking/fluent.py", "log_metric", ACTIVITY_LOG},
    {SITE "tqdm/std.py", "tqdm.refresh", ACTIVITY_LOG},
    {"/usr/lib/python3.11/logging/__init__.py", "StreamHandler.emit", ACTIVITY_LOG},

    /* Programs' own files with such names. */
    {"/srv/app/dataloader.py", "_try_get_data", ACTIVITY_NONE},
    {"/srv/app/data/dataloader.py", "Loader._get_data", ACTIVITY_NONE},
    {"dataloader.py", "_get_data", ACTIVITY_NONE},
    {"/srv/app/logging/__init__.py", "emit", ACTIVITY_NONE},
    {"/srv/app/serialization.py", "save", ACTIVITY_NONE},
    {"/srv/app/mytorch/serialization.py", "save", ACTIVITY_NONE},
    {"/srv/app/compiler.py", "compile", ACTIVITY_NONE},
    {"", "", ACTIVITY_NONE},
    {NULL, "", ACTIVITY_NONE},
    {NULL, "compile", ACTIVITY_NONE},
    {NULL, "cudnnBackendExecute", ACTIVITY_NONE}, /* runs an existing plan */
    {NULL, "<truncated>", ACTIVITY_NONE},
    {NULL, "<driver-internal>", ACTIVITY_NONE},
    /* Functions that run in every step of a program that is compiled already, and functions that
     * read. */
    {SITE "torch/_dynamo/eval_frame.py", "_TorchDynamoContext.__call__.<locals>._fn",
     ACTIVITY_NONE},
    {SITE "torch/_inductor/runtime/triton_heuristics.py", "CachingAutotuner.run", ACTIVITY_NONE},
    {SITE "torch/_inductor/output_code.py", "CompiledFxGraph.__call__", ACTIVITY_NONE},
    {SITE "triton/runtime/autotuner.py", "Autotuner.run", ACTIVITY_NONE},
    {SITE "triton/compiler/compiler.py", "CompiledKernel.__getitem__", ACTIVITY_NONE},
    {SITE "jax/_src/pjit.py", "_python_pjit_helper", ACTIVITY_NONE},
    {SITE "torch/serialization.py", "load", ACTIVITY_NONE},
    {SITE "torch/utils/data/dataloader.py", "_BaseDataLoaderIter.__next__", ACTIVITY_NONE},
};

TEST(test_frames)
{
    bool seen[ACTIVITIES] = {true};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        enum idle_activity a = idle_activity_of_frame(frames[i].file, frames[i].function);
        if (a != frames[i].activity)
            fail_msg("%s %s is %d, not %d", frames[i].file ? frames[i].file : "native",
                     frames[i].function, (int)a, (int)frames[i].activity);
        seen[a] = true;
    }
    for (int a = 0; a < ACTIVITIES; a++)
        assert_true(seen[a]);
}

#define ACTIVITY_FRAME(id, file, function, source) {file, function},
static const char *const rows[][2] = {
#include "analyze/model/threads/activity.def"
};

/* Every row of the table decides some frame above. */
TEST(test_rows)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        bool used = false;
        for (size_t i = 0; i < sizeof frames / sizeof *frames && !used; i++) {
            const char *tail = strrchr(rows[r][0], '/'), *f = frames[i].file;
            used = f ? tail && frames[i].activity && (tail[1] == '*' || strstr(f, tail))
                     : !*rows[r][0] && !strcmp(rows[r][1], frames[i].function);
        }
        if (!used)
            fail_msg("no frame for %s %s", rows[r][0], rows[r][1]);
    }
}

/* docs/insights.md says of every activity what the table says. */
TEST(test_document)
{
    char *text, line[1024];
    document_read("insights.md", &text);
    for (int a = 1; a < ACTIVITIES; a++) {
        const struct activity_text *t = idle_activity_text((enum idle_activity)a);
        snprintf(line, sizeof line, "| %s | %s | %s | %s |\n", t->title, t->was, t->unless,
                 t->next);
        document_has("insights.md", text, line);
    }
    mem_free(text);
}

/* ---- findings ---------------------------------------------------------------------------- */

static int64_t called(int64_t parent, const char *file, const char *function)
{
    return program_python(&finder.p, parent, file, function, 100);
}

/* A stack of the user's line whose innermost frames wait for a queue. */
static int64_t waits_at(const char *file, int64_t line)
{
    int64_t s = finder_python(file, "train", line);
    s = called(s, LOADER, "_BaseDataLoaderIter.__next__");
    s = called(s, LOADER, "_MultiProcessingDataLoaderIter._next_data");
    s = called(s, LOADER, "_MultiProcessingDataLoaderIter._try_get_data");
    return called(s, QUEUES, "Queue.get");
}

/* Makes one gap of ns with that many samples of the stack, then a kernel. */
static void gap(int64_t stack, int64_t launch, int64_t ns, int looks)
{
    struct program *p = &finder.p;
    p->now = p->gpu > p->now ? p->gpu : p->now;
    for (int k = 0; k < looks; k++)
        program_look(p, p->now + (2 * k + 1) * ns / (2 * looks), 42, stack, IDLE_BLOCKED);
    program_work(p, ns);
    program_capture(p, 1, 42, launch);
    program_launch(p, (struct program_kernel){.ns = 2000000, .thread = 42});
}

static void begin(const char *session)
{
    finder_begin(session);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
}

/* The finding has the user's line, what its time went into, how well that is known, and the next
 * step. */
TEST(test_line)
{
    begin("input");
    int64_t wait = waits_at("/srv/app/train.py", 30),
            other = finder_python("/srv/app/train.py", "train", 30),
            step = finder_python("/srv/app/train.py", "step", 9);
    for (int i = 0; i < 20; i++) {
        gap(wait, step, 6000000, 4);
        gap(other, step, 2000000, 1);
    }
    finder_look();
    const struct insight *i = finder_find("late_launch", "/srv/app/train.py:30");
    i = i ? i : finder_find("late_launch", "train.py:30");
    assert_non_null(i);
    assert_string_equal(i->title, "Waiting for a DataLoader");
    assert_non_null(strstr(i->text, "while the host was at train.py:30 in train()"));
    assert_non_null(strstr(i->text, "waited for the next batch of a DataLoader's workers, by 80 "
                                    "samples. More workers do not help"));
    assert_non_null(strstr(i->next, "num_workers"));
    assert_int_equal(finder_fact(i, "activity_samples"), 80);
    assert_int_equal(i->gives_back, finder_fact(i, "activity_ns"));
    assert_true(i->gives_back < finder_fact(i, "gpu_idle_ns"));
    int64_t half = finder_fact(i, "activity_half_width_ns"), ns = finder_fact(i, "activity_ns");
    assert_true(half > 0 && half <= finder_fact(i, "gpu_idle_ns") - ns);
    assert_non_null(strstr(i->text, " % of that time (± "));
    finder_without_memory();
    finder_end();
}

/* The half-width of a part is not said where it would go beyond the whole: the bound is. Of the
 * whole neither is said. */
TEST(test_nearly_all)
{
    static const struct {
        int others; /* gaps in which the line does something else */
        const char *part;
    } cases[] = {{0, "by 80 samples (± "}, {1, " (at least "}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        begin("nearly");
        int64_t wait = waits_at("/srv/app/train.py", 30),
                other = finder_python("/srv/app/train.py", "train", 30),
                step = finder_python("/srv/app/train.py", "step", 9);
        for (int i = 0; i < 20; i++)
            gap(i < cases[c].others ? other : wait, step, 6000000, 4);
        finder_look();
        const struct insight *i = finder_find("late_launch", "train.py:30");
        assert_non_null(i);
        assert_non_null(strstr(i->text, cases[c].part));
        assert_null(strstr(i->text, "of that time (±"));
        assert_null(strstr(i->text, "100.0 %"));
        bool all = strstr(i->text, " All of that time the host waited for the next batch");
        assert_int_equal(all, !cases[c].others);
        finder_end();
    }
}

/* The thread that launches runs no Python: the text names that thread and the one whose line it
 * is. Where several threads launch, none of them is named. */
TEST(test_line_of_another_thread)
{
    static const char *const texts[] = {
        "The line is that of thread python3 (42): the launching thread runs no Python.",
        "The line is that of thread python3 (42): the launching thread autograd (51) runs no "
        "Python."};
    for (int only = 0; only < 2; only++) {
        begin("another");
        struct program *p = &finder.p;
        const struct thread_row threads[] = {{.id = 42, .name = program_name(p, "python3")},
                                             {.id = 51, .name = program_name(p, "autograd")}};
        make_log_rows(&p->log, RECORD_thread, threads, 2);
        int64_t step = finder_python("/srv/app/train.py", "backward", 30),
                native = program_native(p, 0, "/usr/lib/libtorch.so", 64, NULL);
        for (int i = 0; i < 40; i++) {
            int64_t launches = only || i % 2 ? 51 : 52;
            p->now = p->gpu > p->now ? p->gpu : p->now;
            for (int k = 0; k < 4; k++)
                program_look(p, p->now + (2 * k + 1) * 750000, 42, step, IDLE_RUNNING);
            program_look(p, p->now + 100000, launches, 0, IDLE_RUNNING);
            program_work(p, 6000000);
            program_capture(p, 1, launches, native);
            program_launch(p, (struct program_kernel){.ns = 2000000, .thread = launches});
        }
        finder_look();
        const struct insight *i = finder_find("late_launch", "train.py:30");
        assert_non_null(i);
        assert_non_null(strstr(i->text, texts[only]));
        finder_end();
    }
}

/* A user's own loader is no DataLoader. */
TEST(test_own_loader)
{
    begin("own");
    int64_t own = called(finder_python("/srv/app/train.py", "train", 30), "/srv/app/dataloader.py",
                         "_try_get_data"),
            step = finder_python("/srv/app/train.py", "step", 9);
    for (int i = 0; i < 20; i++)
        gap(own, step, 6000000, 4);
    finder_look();
    const struct insight *i = finder_find("late_launch", "");
    assert_string_equal(i->title, "Late launches");
    assert_null(strstr(i->text, "DataLoader"));
    finder_only("late_launch", "");
    finder_end();
}

/* The program compiles at the start and again: periods are counted, those after the start
 * separately. */
TEST(test_again)
{
    begin("again");
    int64_t call = finder_python("/srv/app/train.py", "train", 30);
    int64_t compile = called(called(call, SITE "torch/_dynamo/convert_frame.py", "_compile"),
                             SITE "torch/_inductor/scheduler.py", "Scheduler.fuse_nodes"),
            step = finder_python("/srv/app/train.py", "step", 9);
    gap(compile, step, 400000000, 80);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 1000; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
        gap(compile, step, 400000000, 80);
    }
    finder_look();
    const struct insight *i = finder_find("idle_cause", "");
    assert_string_equal(i->title, "Compiling (torch.compile)");
    assert_non_null(strstr(i->text,
                           "It did so at least 4 times, at least 3 of them after the first 10 % "
                           "of the run."));
    assert_non_null(strstr(i->next, "TORCH_LOGS=recompiles"));
    finder_end();
}

/* The program compiles in each step, and no sample shows it elsewhere between: the number of steps
 * with such samples is known, and how often it began is not. */
TEST(test_each_step)
{
    enum { ALL = 40 };
    unsigned shown = 0, of = 0;
    begin("each");
    int64_t call = finder_python("/srv/app/train.py", "train", 30),
            compile = called(call, SITE "triton/compiler/compiler.py", "compile"),
            step = finder_python("/srv/app/train.py", "step", 9), forward = ++finder.p.ids;
    make_log_config(&finder.p.log, forward, program_name(&finder.p, "forward"));
    for (int i = 0; i < ALL; i++) {
        program_launch(&finder.p,
                       (struct program_kernel){.ns = 300000, .thread = 42, .config = forward});
        gap(compile, step, 40000000, 8);
    }
    finder_look();
    const struct insight *i = finder_find("idle_cause", "");
    assert_true(sum_steps_steady(&finder.m));
    assert_string_equal(i->title, "Compiling or tuning Triton kernels");
    const char *said = strstr(i->text, "Samples show this in ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "Samples show this in %u of the %u steps.", &shown, &of), 2);
    assert_true(shown <= of && of <= ALL && shown + 3 >= ALL);
    assert_null(strstr(i->text, "It did so"));
    finder_end();
}

/* torch.compile has its Triton kernels compiled: both are torch.compile's activity. The compilation
 * of a kernel that the program itself launches with Triton is Triton's. */
TEST(test_compiler_of_a_compiler)
{
    for (int its = 0; its < 2; its++) {
        begin("nested");
        int64_t call = finder_python("/srv/app/train.py", "train", 30),
                outer = called(call, SITE "torch/_dynamo/convert_frame.py", "_compile"),
                triton = called(its ? outer : call, SITE "triton/compiler/compiler.py", "compile"),
                step = finder_python("/srv/app/train.py", "step", 9);
        for (int i = 0; i < 10; i++) {
            gap(outer, step, 40000000, 8);
            gap(triton, step, 60000000, 12);
        }
        finder_look();
        const struct insight *i = finder_find("idle_cause", "train.py:30");
        assert_non_null(i);
        assert_string_equal(i->title, its ? "Compiling (torch.compile)"
                                          : "Compiling or tuning Triton kernels");
        assert_int_equal(finder_fact(i, "activity_samples"), its ? 200 : 120);
        finder_end();
    }
}

/* Makes a copy of ordinary memory that blocks, made by a stack. */
static void copy_out(int64_t stack, int64_t ns)
{
    struct program *p = &finder.p;
    struct memcpy_row row = {.start = (p->gpu > p->now ? p->gpu : p->now) + 3000,
                             .duration = ns,
                             .bytes = 8 << 20,
                             .kind = 2,
                             .src_memory = 3,
                             .dst_memory = 1,
                             .stream = 1,
                             .correlation = p->correlation + 1};
    make_log_rows(&p->log, RECORD_memcpy, &row, 1);
    p->gpu = row.start + ns;
    program_call(p, (struct wait_row){.duration = p->gpu - p->now + 2000,
                                      .call = WAIT_COPY,
                                      .stack = stack,
                                      .thread = 42,
                                      .bytes = row.bytes});
}

/* A checkpoint costs its copies and the waits for them as well, and comes again after other work.
 * Copies that the same line makes for something else are not the checkpoint's. */
TEST(test_made_for)
{
    for (int its = 0; its < 2; its++) {
        begin("made");
        int64_t line = finder_python("/srv/app/train.py", "train", 30),
                save = called(line, SITE "torch/serialization.py", "save"),
                step = finder_python("/srv/app/train.py", "step", 9);
        for (int i = 0; i < 10; i++) {
            copy_out(its ? save : line, 800000);
            gap(save, step, 6000000, 4);
            gap(line, step, 1000000, 3);
        }
        finder_look();
        const struct insight *i = finder_find("late_launch", "train.py:30"),
                             *calls = finder_find("sync_line", "train.py:30");
        assert_non_null(i);
        assert_non_null(calls);
        assert_string_equal(i->title, "Writing a checkpoint");
        assert_non_null(strstr(i->text, "It did so again and again, with other work between."));
        int64_t own = finder_fact(i, "activity_ns"), waited = finder_fact(i, "activity_calls_ns"),
                copies = finder_fact(i, "activity_copies_ns");
        assert_int_equal(copies, its ? 10 * 800000 : 0);
        assert_int_equal(waited > 10 * 500000, its);
        assert_int_equal(!!strstr(i->text, "left the GPU idle for"), its);
        assert_int_equal(!!strstr(i->text, "Its copies took 8.00 ms"), its);
        assert_int_equal(i->gives_back, own + waited + copies);
        assert_int_equal(calls->part_of, its ? (size_t)(i - finder.found.items) + 1 : 0);
        finder_without_memory();
        finder_end();
    }
}

/* Many lines with little each make one finding together, at the line with most. */
TEST(test_spread)
{
    begin("spread");
    int64_t stacks[30], step = finder_python("/srv/app/train.py", "step", 9);
    for (int i = 0; i < 30; i++)
        stacks[i] = waits_at("/srv/app/wide.py", 100 + i);
    for (int i = 0; i < 60; i++)
        gap(stacks[i % 30], step, 3000000, 3);
    finder_look();
    const struct insight *i = finder_find("idle_cause", "");
    assert_non_null(i);
    assert_string_equal(i->title, "Waiting for a DataLoader");
    assert_int_equal(finder_fact(i, "lines"), 30);
    assert_int_equal(finder_fact(i, "activity_samples"), 180);
    assert_int_equal(i->gives_back, finder_fact(i, "gpu_idle_ns"));
    const char *share = strstr(i->text, "of the run) ± ");
    assert_non_null(share);
    assert_non_null(strstr(share, " at 30 lines together, "));
    assert_non_null(strstr(i->text, " All of that time the host waited for the next batch"));
    assert_null(strstr(i->text, "100.0 %"));
    finder_end();
}

/* The collector's own frames are native: a launch's stack shows them, by its symbols. */
TEST(test_native)
{
    int64_t frame;
    begin("native");
    int64_t line = finder_python("/srv/app/train.py", "train", 30),
            collect = program_native(&finder.p, line, "/usr/bin/python3.11", 0x1000, &frame),
            step = finder_python("/srv/app/train.py", "step", 9);
    program_symbol(&finder.p, frame, 0, "gc_collect_main", "gcmodule.c", 1200, STACKS_LINE);
    for (int i = 0; i < 20; i++)
        gap(collect, step, 6000000, 4);
    finder_look();
    const struct insight *i = finder_find("late_launch", "train.py:30");
    assert_non_null(i);
    assert_string_equal(i->title, "Garbage collection");
    finder_end();
}

/* Samples have a mark if the interpreter says that it collects: the line is the one that began the
 * collection, and the sentence names it. A collection during a compilation is part of that. */
TEST(test_collection)
{
    for (int its = 0; its < 2; its++) {
        begin("collection");
        int64_t line = finder_python("/srv/app/train.py", "tidy", 30),
                at = its ? called(line, SITE "torch/_dynamo/convert_frame.py", "_compile") : line,
                collect = program_mark(&finder.p, at, "<garbage collection>"),
                step = finder_python("/srv/app/train.py", "step", 9);
        for (int i = 0; i < 20; i++) {
            gap(collect, step, 6000000, 4);
            gap(at, step, 2000000, 1);
        }
        finder_look();
        const struct insight *i = finder_find("late_launch", "train.py:30");
        assert_non_null(i);
        assert_non_null(strstr(i->text, "while the host was at train.py:30 in tidy()"));
        assert_string_equal(i->title, its ? "Compiling (torch.compile)" : "Garbage collection");
        assert_int_equal(!!strstr(i->text, "ran Python's garbage collector"), !its);
        assert_int_equal(!!strstr(i->next, "gc.freeze()"), !its);
        /* without `its` it did so in each step */
        assert_int_equal(!!strstr(i->text, "It did so at least once"), its);
        assert_int_equal(finder_fact(i, "activity_samples"), its ? 100 : 80);
        finder_end();
    }
}

/* Code that is loaded between steps: how often, and when. */
TEST(test_loads)
{
    begin("loads");
    struct program *p = &finder.p;
    int64_t load = finder_python("/srv/app/train.py", "train", 30);
    for (int i = 0; i < 10; i++) {
        p->now = p->gpu;
        program_call(p,
                     (struct wait_row){
                         .duration = 20000000, .call = WAIT_MODULE, .stack = load, .thread = 42});
        program_launch(p, (struct program_kernel){.ns = 2000000, .thread = 42});
    }
    finder_look();
    const struct insight *i = finder_find("idle_cause", "");
    assert_non_null(i);
    assert_string_equal(i->title, "Loading code");
    assert_ptr_equal(i, finder_find("idle_cause", "train.py:30"));
    assert_non_null(
        strstr(i->text, "the host loaded code; 100.0 % of it at train.py:30 in train()"));
    assert_int_equal(i->of[IDLE_CODE], finder_fact(i, "gpu_idle_ns"));
    assert_int_equal(i->of[IDLE_NOTHING] + i->of[IDLE_LATE], 0);
    assert_non_null(strstr(i->text, "Code was loaded or unloaded 10 times, 9 of them after the "
                                    "first 10 % of the run"));
    assert_non_null(strstr(i->next, "CUDA_MODULE_LOADING=EAGER"));
    finder_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),     cmocka_unit_test(test_rows),
        cmocka_unit_test(test_document),   cmocka_unit_test(test_line),
        cmocka_unit_test(test_nearly_all), cmocka_unit_test(test_line_of_another_thread),
        cmocka_unit_test(test_own_loader), cmocka_unit_test(test_again),
        cmocka_unit_test(test_each_step),  cmocka_unit_test(test_compiler_of_a_compiler),
        cmocka_unit_test(test_made_for),   cmocka_unit_test(test_spread),
        cmocka_unit_test(test_native),     cmocka_unit_test(test_collection),
        cmocka_unit_test(test_loads)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}

/* test_idle_plans.c - tests samples in the call in which cuDNN made a plan: the load of code for
 * the plan has cuDNN's functions on its stack, and the samples before it have only Python's. */
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdio.h>
#include <string.h>

#define SITE  "/usr/local/lib/python3.11/site-packages/"
#define CUDNN SITE "nvidia/cudnn/lib/libcudnn_graph.so.9"

enum { THREAD = 42, STEPS = 20, LOOKS = 4 };

/* Says what lies between the samples of a step and the load of code at its end. */
enum between { PLAN, OTHER_LINE, LAUNCH, ANOTHER_LOAD };

struct sites {
    int64_t attention, other, step, load;
};

/* function: of the native frame that loads code. */
static struct sites make_sites(const char *function)
{
    int64_t frame, line = finder_python("/srv/app/serve.py", "generate", 30);
    struct sites s = {.attention =
                          program_python(&finder.p, line, SITE "transformers/sdpa_attention.py",
                                         "sdpa_attention_forward", 158),
                      .other = program_python(&finder.p, line, SITE "transformers/modeling_gpt2.py",
                                              "GPT2MLP.forward", 240),
                      .step = finder_python("/srv/app/serve.py", "step", 9)};
    s.load = program_native(&finder.p, s.attention, CUDNN, 0x1000, &frame);
    program_symbol(&finder.p, frame, 0, function, "cudnn.cpp", 1, STACKS_LINE);
    return s;
}

static void launch(const struct sites *s)
{
    program_capture(&finder.p, 1, THREAD, s->step);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = THREAD});
}

/* 40 ms at the line, then a load of code, then a launch. */
static void step(const struct sites *s, enum between what)
{
    struct program *p = &finder.p;
    p->now = p->gpu > p->now ? p->gpu : p->now;
    for (int k = 0; k < LOOKS; k++)
        program_look(p, p->now + (2 * k + 1) * 5000000, THREAD, s->attention, IDLE_RUNNING);
    program_work(p, 40000000);
    if (what == OTHER_LINE) {
        program_look(p, p->now, THREAD, s->other, IDLE_RUNNING);
        program_work(p, 1000000);
    }
    if (what == LAUNCH) {
        launch(s);
        program_work(p, 1000000);
    }
    for (int k = 0; k < 1 + (what == ANOTHER_LOAD); k++)
        program_call(p, (struct wait_row){.duration = 100000,
                                          .call = WAIT_MODULE,
                                          .stack = s->load,
                                          .thread = THREAD,
                                          .bytes = CELL_NULL});
    launch(s);
}

/* Returns the finding at the line of a program with STEPS steps. */
static const struct insight *run(const char *function, enum between what)
{
    finder_begin("plans");
    struct sites s = make_sites(function);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = THREAD});
    for (int i = 0; i < STEPS; i++)
        step(&s, what);
    finder_look();
    const struct insight *i = finder_find("idle_cause", "serve.py:30");
    assert_non_null(i);
    return i;
}

/* The samples before the load are the plan's, and plans are counted; several loads are one plan. */
TEST(test_plans)
{
    for (int its = 0; its < 2; its++) {
        const struct insight *i = run("cudnnBackendFinalize", its ? ANOTHER_LOAD : PLAN);
        assert_string_equal(i->title, "Making plans (cuDNN)");
        assert_non_null(strstr(i->text, "while the host was at serve.py:30 in generate()"));
        assert_non_null(strstr(i->text, "the host was in the call in which cuDNN then made a plan "
                                        "for shapes that were new to it, by 80 samples."));
        assert_non_null(strstr(i->text, "It did so 20 times, "));
        assert_non_null(strstr(i->next, "torch.backends.cuda.enable_cudnn_sdp(False)"));
        assert_int_equal(finder_fact(i, "activity_samples"), STEPS * LOOKS);
        finder_without_memory();
        finder_end();
    }
}

/* Code that something else loads is no plan, and samples before a launch or at another line are not
 * in the call that made one. */
TEST(test_no_plan)
{
    static const struct {
        const char *function;
        enum between what;
    } cases[] = {{"load_library", PLAN},
                 {"cudnnBackendFinalize", OTHER_LINE},
                 {"cudnnBackendFinalize", LAUNCH}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct insight *i = run(cases[k].function, cases[k].what);
        assert_string_equal(i->title, "Nothing submitted");
        assert_null(strstr(i->text, "cuDNN"));
        finder_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans),
                                       cmocka_unit_test(test_no_plan)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}

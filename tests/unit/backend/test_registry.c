/* test_registry.c - which backend an option's value chooses. */
#include <stdio.h>
#include <string.h>

#include "backend/engine_texts.h"
#include "tests/test.h"

TEST(named_ones_are_taken_as_they_are)
{
    struct err e = {0};
    assert_ptr_equal(backend_select(GPUFL_BACKEND_NVIDIA, &e), &backend_nvidia);
    assert_ptr_equal(backend_select(GPUFL_BACKEND_NONE, &e), &backend_none);
    assert_ptr_equal(backend_select(GPUFL_BACKEND_SIM, &e), &backend_sim);
    assert_int_equal(e.code, 0);
}

TEST(auto_is_never_simulated)
{
    const struct backend *b = backend_select(GPUFL_BACKEND_AUTO, NULL);
    assert_non_null(b);
    assert_false(b->simulated);
    assert_true(backend_sim.simulated);
}

/* The AMD backend can be named on every machine, and its session says what is not recorded. */
TEST(amd_says_what_it_does_not_record)
{
    struct err e = {0};
    struct trace *t = NULL;
    assert_ptr_equal(backend_select(GPUFL_BACKEND_AMD, &e), &backend_amd);
    int rc = backend_amd.trace->open(&t, &(struct trace_config){0}, NULL, &e);
    assert_true(rc == GPUFL_E_NOT_BUILT || rc == GPUFL_E_UNAVAILABLE);
    assert_null(t);
    assert_non_null(strstr(e.text, "kernels"));
}

TEST(unknown_ones_are_refused)
{
    struct err e = {0};
    assert_null(backend_select((enum gpufl_backend)77, &e));
    assert_int_equal(e.code, GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, "77"));
}

TEST(every_backend_explains_itself)
{
    static struct probe p;
    for (const struct backend *const *b = backends; *b; b++) {
        assert_non_null((*b)->name);
        (*b)->probe(&p);
        assert_in_range(p.fact_count, 1, PROBE_FACTS_MAX);
        for (int i = 0; i < p.fact_count; i++) {
            assert_true(p.facts[i].name[0]);
            assert_true(p.facts[i].works || p.facts[i].advice[0]);
        }
    }
}

/* The simulated GPU is available everywhere: info says of each engine whether it runs there, or
 * why it does not. */
TEST(the_simulated_gpu_describes_every_engine)
{
    static struct probe p;
    const struct backend *sim = backend_select(GPUFL_BACKEND_SIM, NULL);
    assert_non_null(sim);
    sim->probe(&p);
    for (const struct engine_row *r = engine_table; r->name; r++) {
        const struct probe_fact *reported = NULL;
        for (int i = 0; i < p.fact_count; i++)
            if (strncmp(p.facts[i].name, "engine ", 7) == 0 &&
                strcmp(p.facts[i].name + 7, r->name) == 0)
                reported = &p.facts[i];
        bool runs = !(r->asks & ~sim->trace->engines);
        if (!reported || reported->works != runs || runs != !*reported->advice)
            fail_msg("engine %s", r->name);
    }
}

/* ---- engines ------------------------------------------------------------------------------ */

/* Every engine falls back, step by step, to one that asks for less; the last one is Monitor. */
TEST(engines_fall_back_to_less)
{
    size_t count = 0;
    for (const struct engine_row *r = engine_table; r->name; r++, count++) {
        unsigned asks = r->asks, steps = 0;
        for (const struct backend *const *b = backends; *b; b++) {
            if (!(*b)->engines) /* it traces nothing */
                continue;
            const struct engine_words *w = &(*b)->engines->words[count];
            assert_true(*w->brings);
            assert_true(!asks == !*w->needs);
            assert_true(!asks == !*w->costs);
            assert_true(!asks == !*w->windows);
            assert_non_null(w->late);
        }
        for (const struct engine_row *at = r; at != &engine_table[at->next]; steps++) {
            at = &engine_table[at->next];
            assert_int_equal(at->asks & ~asks, 0);
            assert_true(at->asks != asks);
            asks = at->asks;
            assert_true(steps < 8);
        }
        assert_int_equal(asks, 0);
    }
    assert_string_equal(engine_table[GPUFL_ENGINE_SYNC].name, "Sync");
}

/* The rows are in the order of the public enum, and say what each engine adds. */
TEST(rows_say_what_engines_add)
{
    static const char *const names[] = {
#define NAME(id, word) #word,
        GPUFL_ENGINES(NAME)
#undef NAME
    };
    unsigned bits = 0;
    for (const struct engine_row *r = engine_table; r->name; r++) {
        unsigned own = engine_own_bit(r);
        assert_string_equal(names[r - engine_table], r->name);
        assert_ptr_equal(engine_find(r->name), r);
        assert_true(*r->peer);
        assert_int_equal(bits & own, 0); /* no other engine has the bit */
        bits |= own;
        if (own && *r->feature)
            assert_true(r->asks & ENGINE_TRACE && r->record != RECORD_kernel && !r->no_pass);
    }
    for (const struct engine_row *r = engine_table; r->name; r++)
        assert_int_equal(r->asks & ~bits, 0); /* every bit is an engine's own */
    assert_int_equal(engine_own_bit(&engine_table[GPUFL_ENGINE_DEEP]), 0);
    assert_int_equal(engine_own_bit(&engine_table[GPUFL_ENGINE_SYNC]), ENGINE_SYNC);
    assert_int_equal(engine_table[GPUFL_ENGINE_TRACE].record, RECORD_kernel);
    assert_int_equal(engine_table[GPUFL_ENGINE_PM_SAMPLING].record, RECORD_counter);
    assert_int_equal(engine_table[GPUFL_ENGINE_PC_SAMPLING].record, RECORD_pc_sample);
    assert_non_null(engine_table[GPUFL_ENGINE_DEEP].no_pass);
    assert_null(engine_find("trace"));
    assert_null(engine_table[sizeof names / sizeof *names].name);
}

static const struct engine_pair *pair_of(unsigned a, unsigned b)
{
    for (const struct engine_pair *p = backend_nvidia.engines->pairs; p->why; p++)
        if ((p->a == a && p->b == b) || (p->a == b && p->b == a))
            return p;
    return NULL;
}

/* No row asks for two engines that cannot run in one session. */
TEST(engines_do_not_exclude_themselves)
{
    const struct engine_pair *pairs = backend_nvidia.engines->pairs;
    for (const struct engine_row *r = engine_table; r->name; r++) {
        assert_null(engine_conflict(pairs, r->asks));
        assert_null(engine_conflict(backend_amd.engines->pairs, r->asks));
    }
    const struct engine_pair *p =
        engine_conflict(pairs, ENGINE_RANGE_PROFILER | ENGINE_PM_SAMPLING);
    assert_non_null(p);
    assert_true(*p->why);
    /* These two engines have an order, but do not exclude each other. */
    assert_null(engine_conflict(pairs, ENGINE_TRACE | ENGINE_PC_SAMPLING));
}

/* The table has each pair of engines that use a device's counters: a missing pair does not mean
 * that they can run together. */
TEST(every_pair_that_counts_is_reported)
{
    static const unsigned bits[] = {ENGINE_PC_SAMPLING, ENGINE_SASS_METRICS, ENGINE_RANGE_PROFILER,
                                    ENGINE_PM_SAMPLING};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        for (size_t k = 0; k < i; k++)
            if (!pair_of(bits[i], bits[k]))
                fail_msg("0x%x and 0x%x", bits[i], bits[k]);
}

/* The rules of the table agree with the backend and with the rows of engines. */
TEST(pairs_are_as_they_run)
{
    for (const struct engine_pair *p = backend_nvidia.engines->pairs; p->why; p++) {
        bool together = false;
        for (const struct engine_row *r = engine_table; r->name; r++)
            together |= (r->asks & p->a) && (r->asks & p->b);
        assert_int_equal(together, p->rule != ENGINES_NEVER);
        if (p->a == ENGINE_TRACE)
            assert_int_equal(p->rule, ENGINES_OFF);
        if (p->rule == ENGINES_OFF)
            assert_true(backend_nvidia.trace->alone & p->b);
    }
    const struct engine_pair *off = pair_of(ENGINE_TRACE, ENGINE_SASS_METRICS);
    const struct engine_pair *turns = pair_of(ENGINE_PC_SAMPLING, ENGINE_SASS_METRICS);
    assert_non_null(off);
    assert_int_equal(off->rule, ENGINES_OFF);
    assert_non_null(turns);
    assert_int_equal(turns->rule, ENGINES_TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_ones_are_taken_as_they_are),
        cmocka_unit_test(auto_is_never_simulated),
        cmocka_unit_test(amd_says_what_it_does_not_record),
        cmocka_unit_test(unknown_ones_are_refused),
        cmocka_unit_test(rows_say_what_engines_add),
        cmocka_unit_test(every_backend_explains_itself),
        cmocka_unit_test(the_simulated_gpu_describes_every_engine),
        cmocka_unit_test(engines_fall_back_to_less),
        cmocka_unit_test(engines_do_not_exclude_themselves),
        cmocka_unit_test(every_pair_that_counts_is_reported),
        cmocka_unit_test(pairs_are_as_they_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* finder.c - see finder.h. */
#include "tests/unit/support/finder.h"

#include "base/alloc.h"
#include "base/err.h"
#include "tests/test.h"

#include <string.h>

struct finder finder;

int finder_open(void **state)
{
    (void)state;
    return intern_open(&finder.names, 1 << 16, 1 << 24);
}

int finder_close(void **state)
{
    (void)state;
    intern_close(finder.names);
    return 0;
}

void finder_begin(const char *session)
{
    program_init(&finder.p, session);
}

void finder_look(void)
{
    program_end(&finder.p);
    model_init(&finder.m, finder.names);
    program_read(&finder.p, &finder.m);
    assert_int_equal(insights_find(&finder.m, &finder.found), 0);
    for (size_t i = 0; i < finder.found.count; i++) {
        assert_true(finder.found.items[i].gives_back >= 0);
        assert_true(finder.found.items[i].gives_back <= sum_facts_duration(&finder.m));
        assert_true(*finder.found.items[i].title && *finder.found.items[i].text &&
                    *finder.found.items[i].next);
    }
}

void finder_without_memory(void)
{
    for (int64_t fail = 0;; fail++) {
        insights_fini(&finder.found);
        mem_fail_at(fail);
        int rc = insights_find(&finder.m, &finder.found);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        if (done)
            return;
    }
}

void finder_end(void)
{
    insights_fini(&finder.found);
    model_fini(&finder.m);
    program_fini(&finder.p);
}

const struct insight *finder_find(const char *rule, const char *place)
{
    const struct insight *at = NULL;
    for (size_t i = 0; i < finder.found.count && !at; i++) {
        struct buf text;
        buf_init(&text, 4096);
        stacks_put_place(&finder.m, finder.found.items[i].place, &text);
        if (!strcmp(finder.found.items[i].rule->id, rule) &&
            (!*place || !strcmp(buf_cstr(&text), place)))
            at = &finder.found.items[i];
        buf_fini(&text);
    }
    return at;
}

int64_t finder_fact(const struct insight *i, const char *key)
{
    for (unsigned f = 0; f < i->fact_count; f++)
        if (!strcmp(i->facts[f].key, key))
            return i->facts[f].value;
    fail_msg("no fact %s", key);
    return 0;
}

void finder_only(const char *a, const char *b)
{
    for (size_t i = 0; i < finder.found.count; i++)
        if (strcmp(finder.found.items[i].rule->id, a) != 0 &&
            strcmp(finder.found.items[i].rule->id, b) != 0)
            fail_msg("%s: %s", finder.found.items[i].rule->id, finder.found.items[i].text);
}

int64_t finder_python(const char *file, const char *function, int64_t line)
{
    int64_t main = program_python(&finder.p, 0, "/srv/app/main.py", "<module>", 1);
    return program_python(&finder.p, main, file, function, line);
}

void finder_steps(int n, int kernels, int64_t stack, bool inside)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < kernels; k++)
            program_launch(&finder.p, (struct program_kernel){.ns = 300000});
        if (inside)
            program_sync(&finder.p, WAIT_CONTEXT, stack, 1);
        program_work(&finder.p, 300000);
    }
    if (!inside)
        program_sync(&finder.p, WAIT_CONTEXT, stack, 1);
}

void finder_gaps(int n, int64_t host, int64_t ns)
{
    int64_t stack = finder_python("late.py", "forward", 33);
    for (int i = 0; i < n; i++) {
        program_launch(&finder.p, (struct program_kernel){.ns = ns, .stack = stack});
        program_work(&finder.p, ns + host);
    }
}

void finder_kernels(struct config_row c, int64_t limiter)
{
    finder_kernels_of("_Z4gemmPf", c, limiter);
}

void finder_kernels_of(const char *name, struct config_row c, int64_t limiter)
{
    c.id = 1;
    c.name = program_name(&finder.p, name);
    c.device = 1;
    c.occ_limiter = limiter;
    make_log_rows(&finder.p.log, RECORD_config, &c, 1);
    for (int i = 0; i < 10; i++)
        program_launch(&finder.p, (struct program_kernel){.ns = 500000, .config = 1});
}

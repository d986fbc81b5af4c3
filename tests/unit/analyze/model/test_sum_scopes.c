/* test_sum_scopes.c - random trees of scopes against sums made by hand.
 *
 * Scopes of several threads are opened and closed at random, rows written as they
 * end, kernels interleaved before or after: whatever the order, every path has
 * the calls, wall and GPU time of its openings. */
#include "analyze/model/model.h"
#include "analyze/model/scopes/path.h"
#include "analyze/model/scopes/tree.h"
#include "analyze/report/scopes/view.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/err.h"

#include "tests/unit/support/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSTANCES = 4000, THREADS = 3, NAMES = 4, PATHS = 4096, DEPTH = 5, KERNELS = 3 };

static uint64_t seed = 88172645463325252ull;

static uint64_t random_next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Expected sums of a path; the path is a number to base NAMES + 1. */
struct expected {
    uint64_t calls, open, kernels, inherited;
    int64_t wall, gpu;
    uint64_t counts[KERNELS + 1]; /* by launch configuration; 0: not known */
    int64_t times[KERNELS + 1];
};

struct instance {
    int64_t parent, start, path;
    int name, depth;
    bool ended;
};

static struct expected expected[PATHS];
static struct instance instances[INSTANCES + 1];

static int rows_of(struct model *m, enum record_type type, const void *rows, size_t n)
{
    const int64_t *cells = rows;
    unsigned columns = records[type].column_count;
    struct wire_batch b = {.type = type, .record = &records[type], .rows = n};
    int64_t *turned = malloc(n * columns * sizeof *turned);
    for (unsigned c = 0; c < columns; c++) {
        for (size_t i = 0; i < n; i++)
            turned[c * n + i] = cells[i * columns + c];
        b.col[c] = turned + c * n;
    }
    int rc = model_batch(m, &b);
    free(turned);
    return rc;
}

static int put_scope(struct model *m, int64_t id, int64_t end)
{
    const struct instance *s = &instances[id];
    struct scope_row r = {.start = s->start,
                          .duration = end - s->start,
                          .instance = id,
                          .parent = s->parent,
                          .name = s->name,
                          .depth = s->depth};
    return rows_of(m, RECORD_scope, &r, 1);
}

static int put_launch(struct model *m, int64_t scope, int64_t ns, int config, bool inherited)
{
    struct kernel_row r = {
        .start = 1, .duration = ns, .scope = scope, .config = config, .inherited = inherited};
    return rows_of(m, RECORD_kernel, &r, 1);
}

static int put_kernel(struct model *m, int64_t scope, int64_t ns)
{
    return put_launch(m, scope, ns, 0, false);
}

static void expect_launch(struct expected *e, int64_t ns, int config, bool inherited)
{
    e->kernels++;
    e->gpu += ns;
    e->inherited += inherited;
    e->counts[config]++;
    e->times[config] += ns;
}

/* A program: opens, closes, launches. Kernels are delivered with the scopes, or all later. */
static int run(struct model *m, bool kernels_last)
{
    static struct {
        int64_t scope, ns;
        int config;
        bool inherited;
    } later[INSTANCES * 2];
    int64_t stack[THREADS][DEPTH];
    int depth[THREADS] = {0}, code = 0;
    int64_t now = 100, next = 1;
    size_t waiting = 0;
    memset(expected, 0, sizeof expected);
    while (!code && (next <= INSTANCES || depth[0] || depth[1] || depth[2])) {
        int t = (int)(random_next() % THREADS);
        uint64_t what = random_next() % 4;
        int64_t top = depth[t] ? stack[t][depth[t] - 1] : 0;
        now += (int64_t)(random_next() % 50);
        if (what < 2 && depth[t] < DEPTH && next <= INSTANCES) {
            int name = 1 + (int)(random_next() % NAMES);
            int64_t path = (top ? instances[top].path : 0) * (NAMES + 1) + name;
            instances[next] = (struct instance){top, now, path, name, depth[t], false};
            stack[t][depth[t]++] = next++;
        } else if (what == 2 && top) {
            expected[instances[top].path].calls++;
            expected[instances[top].path].wall += now - instances[top].start;
            instances[top].ended = true;
            depth[t]--;
            code = put_scope(m, top, now);
        } else if (what == 3 && waiting < INSTANCES * 2) {
            int64_t ns = (int64_t)(random_next() % 1000);
            int64_t path = top ? instances[top].path : 0;
            int config = (int)(random_next() % (KERNELS + 1));
            bool inherited = top && random_next() % 4 == 0;
            expect_launch(&expected[path], ns, config, inherited);
            if (kernels_last) {
                later[waiting].scope = top, later[waiting].ns = ns;
                later[waiting].config = config, later[waiting++].inherited = inherited;
            } else {
                code = put_launch(m, top, ns, config, inherited);
            }
        }
    }
    for (size_t i = 0; !code && i < waiting; i++)
        code = put_launch(m, later[i].scope, later[i].ns, later[i].config, later[i].inherited);
    return code;
}

static struct model *new_model(void)
{
    static struct model m;
    static const char *const texts[] = {"", "a", "b", "c", "d", "1", "2", "3"};
    model_init(&m, names);
    for (uint32_t i = 1; i <= NAMES + KERNELS; i++)
        assert_int_equal(model_name(&m, i, texts[i], 1), 0);
    for (int64_t i = 1; i <= KERNELS; i++) {
        struct config_row c = {.id = i, .name = NAMES + i};
        assert_int_equal(rows_of(&m, RECORD_config, &c, 1), 0);
    }
    return &m;
}

static int64_t path_of(const struct model *m, uint32_t node)
{
    int64_t path = 0, scale = 1;
    for (; node; node = m->scopes.nodes[node].parent) {
        path += (model_text(m, m->scopes.nodes[node].name)[0] - 'a' + 1) * scale;
        scale *= NAMES + 1;
    }
    return path;
}

/* A scope's kernels: longest first, each with what was launched there, and no other. */
static void check_kernels(const struct model *m, uint32_t n, const struct expected *e)
{
    const struct scope_node *node = &m->scopes.nodes[n];
    const struct scope_kernel *k = m->scopes.by_kernel.items + node->first_kernel;
    size_t different = 0;
    for (int i = 0; i <= KERNELS; i++)
        different += e->counts[i] > 0;
    assert_int_equal(node->kernel_names, different);
    for (uint32_t i = 0; i < node->kernel_names; i++) {
        const char *name = model_text(m, k[i].name);
        int config = *name ? *name - '0' : 0;
        assert_in_range(config, 0, KERNELS);
        assert_int_equal(k[i].handle, n);
        assert_int_equal(k[i].count, e->counts[config]);
        assert_int_equal(k[i].ns, e->times[config]);
        assert_true(!i || k[i - 1].ns >= k[i].ns);
    }
    assert_int_equal(node->self.inherited, e->inherited);
}

static void check(const struct model *m)
{
    const struct sum_scopes *s = &m->scopes;
    uint64_t calls = 0, kernels = s->nodes[0].self.kernels;
    size_t seen = 0;
    for (uint32_t n = 0; scope_tree_next(s, &n);) {
        const struct scope_node *node = &s->nodes[n];
        const struct expected *e = &expected[path_of(m, n)];
        assert_int_equal(node->self.calls, e->calls);
        assert_int_equal(node->self.wall, e->wall);
        assert_int_equal(node->self.kernels, e->kernels);
        assert_int_equal(node->self.gpu, e->gpu);
        check_kernels(m, n, e);
        calls += e->calls;
        kernels += e->kernels;
        seen++;
    }
    assert_int_equal(s->nodes[0].self.kernels, expected[0].kernels);
    assert_int_equal(calls, m->facts.rows[RECORD_scope]);
    assert_int_equal(kernels, m->facts.rows[RECORD_kernel]);
    assert_int_equal(s->nodes[0].all.kernels, kernels);
    size_t paths = 0;
    for (size_t i = 1; i < PATHS; i++)
        paths += expected[i].calls || expected[i].kernels;
    assert_int_equal(seen, paths);
    assert_true(s->live <= seen + 1);
}

TEST(test_random_trees)
{
    for (int round = 0; round < 20; round++) {
        struct model *m = new_model();
        assert_int_equal(run(m, round % 2), 0);
        assert_int_equal(model_finish(m), 0);
        check(m);
        model_fini(m);
    }
}

TEST(test_merge)
{
    struct model all;
    struct expected sums[PATHS] = {0};
    model_init(&all, names);
    for (int i = 0; i < 3; i++) {
        struct model *m = new_model();
        assert_int_equal(run(m, i % 2), 0);
        assert_int_equal(model_finish(m), 0);
        assert_int_equal(model_merge(&all, m), 0);
        model_fini(m);
        for (int p = 0; p < PATHS; p++) {
            sums[p].calls += expected[p].calls;
            sums[p].kernels += expected[p].kernels;
            sums[p].wall += expected[p].wall;
            sums[p].gpu += expected[p].gpu;
            sums[p].inherited += expected[p].inherited;
            for (int k = 0; k <= KERNELS; k++) {
                sums[p].counts[k] += expected[p].counts[k];
                sums[p].times[k] += expected[p].times[k];
            }
        }
    }
    assert_int_equal(model_settle(&all), 0);
    memcpy(expected, sums, sizeof expected);
    check(&all);
    model_fini(&all);
}

/* Scopes are nested so deeply that no stack of calls would suffice. */
TEST(test_deep)
{
    enum { LEVELS = 150000 };
    struct model *m = new_model();
    for (int64_t i = LEVELS; i > 0; i--) {
        struct scope_row r = {
            .start = i, .duration = 2 * LEVELS - i, .instance = i, .parent = i - 1, .name = 1};
        assert_int_equal(rows_of(m, RECORD_scope, &r, 1), 0);
    }
    assert_int_equal(put_kernel(m, LEVELS, 7), 0);
    assert_int_equal(model_finish(m), 0);
    assert_int_equal(m->scopes.live, LEVELS + 1);
    assert_int_equal(m->scopes.nodes[0].all.gpu, 7);
    struct scope_view v;
    assert_int_equal(scope_view_open(&v, m, 3), 0);
    assert_int_equal(v.all, LEVELS);
    assert_false(m->scopes.more_paths);
    assert_int_equal(v.count, 3);
    assert_int_equal(m->scopes.nodes[v.nodes[2]].depth, 2);
    scope_view_close(&v);
    model_fini(m);
}

TEST(test_open_and_lost)
{
    struct model *m = new_model();
    struct scope_open_row open[] = {{.start = 5, .instance = 1, .name = 1},
                                    {.start = 6, .instance = 2, .parent = 1, .name = 2}};
    assert_int_equal(rows_of(m, RECORD_scope_open, open, 2), 0);
    assert_int_equal(rows_of(m, RECORD_scope_open, open, 2), 0); /* again in the next part */
    instances[2] = (struct instance){.parent = 1, .start = 6, .name = 2};
    assert_int_equal(put_scope(m, 2, 16), 0); /* ended after all */
    assert_int_equal(put_kernel(m, 1, 10), 0);
    assert_int_equal(put_kernel(m, 77, 20), 0);               /* a scope that was never reported */
    assert_int_equal(put_kernel(m, (int64_t)1 << 60, 30), 0); /* an instance that cannot be */
    assert_int_equal(put_kernel(m, CELL_NULL, 40), 0);
    assert_int_equal(model_finish(m), 0);
    uint32_t n = 0;
    int found = 0;
    while (scope_tree_next(&m->scopes, &n)) {
        const struct scope_node *node = &m->scopes.nodes[n];
        const char *name = model_text(m, node->name);
        if (!strcmp(name, "a")) {
            found++;
            assert_true(node->self.open == 1 && node->self.calls == 0 && node->self.gpu == 10);
        } else if (!strcmp(name, "b")) {
            found++;
            assert_true(node->self.open == 0 && node->self.calls == 1 && node->self.wall == 10);
        } else {
            found++;
            assert_string_equal(name, "(scope not recorded)");
            assert_int_equal(node->self.gpu, 20);
        }
    }
    assert_int_equal(found, 3);
    assert_int_equal(m->scopes.nodes[0].self.gpu, 70);
    model_fini(m);
}

/* The scopes of test_inherited: the program's step and a scope of it that never ended, a library's
 * range inside the step, and one of its ranges that never ended. */
enum { STEP = 1, KILLED, RANGE, INIT, LIBRARY = 50 };

static void put_scopes(struct model *m)
{
    struct scope_row ended[] = {{.start = 1, .duration = 90, .instance = STEP, .name = STEP},
                                {.start = 2,
                                 .duration = 9,
                                 .instance = RANGE,
                                 .parent = STEP,
                                 .name = RANGE,
                                 .tag = LIBRARY}};
    struct scope_open_row open[] = {{.start = 5, .instance = KILLED, .name = KILLED},
                                    {.start = 6, .instance = INIT, .name = INIT, .tag = LIBRARY}};
    assert_int_equal(rows_of(m, RECORD_scope, ended, 2), 0);
    assert_int_equal(rows_of(m, RECORD_scope_open, open, 2), 0);
}

/* Work of a thread without a scope stays in the program's scope that ended. From a library's range
 * it goes to the program's scope around it, and from a scope that never ended outside all scopes.
 * A library's range that never ended has no work of its own thread either. */
TEST(test_inherited)
{
    static const char *const names_want[] = {NULL, "a", NULL, "a", NULL};
    for (int first = 0; first < 2; first++) {
        struct model *m = new_model();
        struct sync_row wait = {.start = 1, .duration = 3, .kind = 3, .scope = INIT};
        uint32_t handles[INIT + 1], own, name, n = 0;
        assert_int_equal(model_name(m, LIBRARY, "NCCL", 4), 0);
        if (first)
            put_scopes(m);
        for (int i = STEP; i <= INIT; i++) {
            assert_int_equal(put_launch(m, i, 10 * i, 1, true), 0);
            assert_int_equal(put_launch(m, i, i, 2, false), 0);
            assert_int_equal(scope_path_handle(m, i, true, &handles[i]), 0);
        }
        assert_int_equal(scope_path_handle(m, INIT, false, &own), 0);
        assert_int_equal(rows_of(m, RECORD_sync, &wait, 1), 0);
        if (!first)
            put_scopes(m);
        assert_int_equal(model_finish(m), 0);
        int64_t gpu[INIT + 1] = {m->scopes.nodes[0].self.gpu};
        uint64_t inherited[INIT + 1] = {m->scopes.nodes[0].self.inherited};
        while (scope_tree_next(&m->scopes, &n)) {
            const struct scope_node *node = &m->scopes.nodes[n];
            int at = model_text(m, node->name)[0] - 'a' + 1;
            gpu[at] = node->self.gpu;
            inherited[at] = node->self.inherited;
            assert_int_equal(node->self.waits, 0);
        }
        static const int64_t gpu_want[] = {20 + 40 + INIT, 10 + 30 + STEP, KILLED, RANGE, 0};
        static const uint64_t inherited_want[] = {0, 2, 0, 0, 0};
        assert_memory_equal(gpu, gpu_want, sizeof gpu);
        assert_memory_equal(inherited, inherited_want, sizeof inherited);
        assert_int_equal(m->scopes.nodes[0].self.waits, 1);
        assert_int_equal(m->scopes.by_kernel.count, 4); /* two in the step, one in two others */
        for (int i = STEP; i <= INIT; i++) {
            assert_int_equal(scope_path_name(m, handles[i], &name), 0);
            assert_string_equal(model_text(m, name), names_want[i] ? names_want[i] : "");
        }
        assert_int_equal(scope_path_name(m, own, &name), 0);
        assert_int_equal(name, 0);
        model_fini(m);
    }
}

/* A damaged log may say that scopes lie inside each other: nothing hangs, all is counted. */
TEST(test_circles)
{
    for (int round = 0; round < 300; round++) {
        struct model *m = new_model();
        uint64_t calls = 0;
        for (int i = 0; i < 60; i++) {
            struct scope_row r = {.start = 1,
                                  .duration = 1,
                                  .instance = 1 + (int64_t)(random_next() % 12),
                                  .parent = (int64_t)(random_next() % 13),
                                  .name = 1 + (int64_t)(random_next() % NAMES)};
            assert_int_equal(rows_of(m, RECORD_scope, &r, 1), 0);
        }
        assert_int_equal(model_finish(m), 0);
        for (uint32_t n = 0; scope_tree_next(&m->scopes, &n);)
            calls += m->scopes.nodes[n].self.calls;
        assert_int_equal(calls, 60);
        model_fini(m);
    }
}

/* Each step has another name: the number of paths is bounded, and nothing is lost from the sums. */
TEST(test_too_many_paths)
{
    enum { PATHS_MADE = SCOPE_NODES + 5000 };
    struct model *m = new_model();
    for (uint32_t i = 1; i <= PATHS_MADE; i++) {
        char name[32];
        int len = snprintf(name, sizeof name, "step %u", i);
        struct scope_row r = {.start = i, .duration = 1, .instance = i, .name = i};
        assert_int_equal(model_name(m, i, name, (size_t)len), 0);
        assert_int_equal(rows_of(m, RECORD_scope, &r, 1), 0);
        assert_int_equal(put_kernel(m, i, 3), 0);
    }
    assert_int_equal(model_finish(m), 0);
    assert_true(m->scopes.live <= SCOPE_NODES + 2);
    assert_true(m->scopes.more_paths);
    assert_int_equal(m->scopes.nodes[0].all.gpu, (int64_t)3 * PATHS_MADE);
    model_fini(m);
}

/* Openings of one path, and kernels that come before their rows: pairs are merged, so that the
 * table does not grow with the openings. */
TEST(test_folding)
{
    enum { OPENINGS = 100000 };
    struct model *m = new_model();
    for (int64_t i = 1; i <= OPENINGS; i++) {
        assert_int_equal(put_launch(m, i, 5, 1 + (int)(i % KERNELS), false), 0);
        struct scope_row r = {.start = i, .duration = 1, .instance = i, .name = 1};
        assert_int_equal(rows_of(m, RECORD_scope, &r, 1), 0);
    }
    assert_true(m->scopes.by_kernel.slot_count <= 64);
    assert_int_equal(model_finish(m), 0);
    assert_int_equal(m->scopes.by_kernel.count, KERNELS);
    assert_int_equal(m->scopes.by_kernel.items[0].ns, (OPENINGS / KERNELS + 1) * 5);
    model_fini(m);
}

/* More pairs than are kept: what is left out is in the scope's sum. */
TEST(test_too_many_kernels)
{
    enum { MADE = SCOPE_PAIRS + 1000, AT_ONCE = 4096 };
    struct model *m = new_model();
    static struct kernel_row rows[AT_ONCE];
    for (int64_t i = 0; i < MADE; i++) {
        char name[32];
        uint32_t id = (uint32_t)i + 100;
        int len = snprintf(name, sizeof name, "kernel %u", id);
        struct config_row c = {.id = (int64_t)id, .name = (int64_t)id};
        assert_int_equal(model_name(m, id, name, (size_t)len), 0);
        assert_int_equal(rows_of(m, RECORD_config, &c, 1), 0);
        rows[i % AT_ONCE] =
            (struct kernel_row){.start = 1, .duration = 2, .scope = 1, .config = (int64_t)id};
        if ((i + 1) % AT_ONCE == 0 || i + 1 == MADE)
            assert_int_equal(rows_of(m, RECORD_kernel, rows, (size_t)(i % AT_ONCE) + 1), 0);
    }
    assert_int_equal(model_finish(m), 0);
    assert_int_equal(m->scopes.by_kernel.count, SCOPE_PAIRS);
    assert_int_equal(m->scopes.nodes[0].all.kernels, MADE);
    assert_int_equal(m->scopes.nodes[0].all.gpu, 2 * (int64_t)MADE);
    model_fini(m);
}

TEST(test_no_memory)
{
    uint64_t before = seed;
    for (int64_t fail = 0;; fail += 1 + fail / 3) {
        struct model *m = new_model();
        seed = before;
        mem_fail_at(fail);
        int rc = run(m, true);
        rc = rc ? rc : model_finish(m);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        model_fini(m);
        if (done)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_trees),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_open_and_lost),
        cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_too_many_paths),
        cmocka_unit_test(test_folding),
        cmocka_unit_test(test_too_many_kernels),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}

/* test_scope_samples.c - samples shared out among scopes against shares worked out by hand. */
#include "analyze/model/kernels/samples.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/tree.h"
#include "analyze/report/json.h"
#include "analyze/report/page.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/err.h"

#include "tests/unit/support/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum name { OUTER = 1, INNER, OTHER, KERNEL, BARE, WAIT, BARRIER, NAME_COUNT };

/* Instances of scopes: outer with inner in it, and other. */
enum { IN_OUTER = 1, IN_INNER, IN_OTHER };

static void put_scope(struct model *m, int64_t instance, int64_t parent, int64_t name)
{
    struct scope_row s = {.start = 10,
                          .duration = 100,
                          .instance = instance,
                          .parent = parent,
                          .name = name,
                          .thread = CELL_NULL};
    rows_put(m, RECORD_scope, &s);
}

static void put_kernel(struct model *m, int64_t ns, int64_t scope)
{
    struct kernel_row k = {.start = 10, .duration = ns, .config = 1, .scope = scope};
    rows_put(m, RECORD_kernel, &k);
}

/* name: KERNEL or BARE; reason: WAIT or BARRIER; scope: an instance, 0 or CELL_NULL. */
static void put_samples(struct model *m, int64_t name, int64_t reason, int64_t scope, int64_t n)
{
    struct pc_sample_row s = {.start = 10,
                              .duration = 100,
                              .device = 1,
                              .function = name,
                              .reason = reason,
                              .samples = n,
                              .scope = scope,
                              .correlation = CELL_NULL};
    rows_put(m, RECORD_pc_sample, &s);
}

static void begin(struct model *m)
{
    static const char *const texts[NAME_COUNT] = {
        [OUTER] = "outer", [INNER] = "inner", [OTHER] = "other",    [KERNEL] = "kernel",
        [BARE] = "bare",   [WAIT] = "wait",   [BARRIER] = "barrier"};
    model_init(m, names);
    for (uint32_t i = 1; i < NAME_COUNT; i++)
        assert_int_equal(model_name(m, i, texts[i], strlen(texts[i])), 0);
    struct config_row c = {.id = 1, .name = KERNEL};
    rows_put(m, RECORD_config, &c);
    for (int64_t i = KERNEL; i <= BARE; i++) {
        struct function_row f = {.id = i, .name = i, .index = CELL_NULL};
        rows_put(m, RECORD_function, &f);
    }
    for (int64_t i = WAIT; i <= BARRIER; i++) {
        struct stall_reason_row r = {.id = i, .name = i, .index = CELL_NULL, .issued = CELL_NULL};
        rows_put(m, RECORD_stall_reason, &r);
    }
    put_scope(m, IN_INNER, IN_OUTER, INNER);
    put_scope(m, IN_OUTER, 0, OUTER);
    put_scope(m, IN_OTHER, 0, OTHER);
}

/* 600 ns in inner, 200 in outer itself, 100 in other, 100 outside. */
static void put_kernels(struct model *m)
{
    put_kernel(m, 600, IN_INNER);
    put_kernel(m, 200, IN_OUTER);
    put_kernel(m, 100, IN_OTHER);
    put_kernel(m, 100, 0);
}

static double estimate(const struct model *m, const char *scope, const char *reason)
{
    const struct sum_samples *s = &m->samples;
    for (size_t i = 1; i < s->estimates.count; i++) {
        const struct sample_estimate *e = sum_samples_estimate(s, i);
        uint32_t name = sum_samples_reason(s, e->reason)->name;
        if (!strcmp(model_text(m, e->scope), scope) && !strcmp(model_text(m, name), reason))
            return e->samples;
    }
    return 0;
}

static void near(double is, double should)
{
    if (fabs(is - should) > 1e-6)
        fail_msg("%g is not %g", is, should);
}

/* No sample has a scope: time alone divides them. What was launched outside keeps 1/10. */
TEST(test_by_time)
{
    struct model m;
    begin(&m);
    put_kernels(&m);
    put_samples(&m, KERNEL, WAIT, CELL_NULL, 1000);
    put_samples(&m, KERNEL, BARRIER, CELL_NULL, 10);
    assert_int_equal(model_finish(&m), 0);
    assert_true(m.samples.estimated);
    assert_int_equal(m.samples.shared, 1010);
    near(estimate(&m, "outer|inner", "wait"), 600);
    near(estimate(&m, "outer|inner", "barrier"), 6);
    near(estimate(&m, "outer", "wait"), 200);
    near(estimate(&m, "other", "wait"), 100);
    near(estimate(&m, "other", "barrier"), 1);
    assert_int_equal(m.samples.scopes.count, 0); /* none is measured */
    model_fini(&m);
}

/* 900 were measured in outer: 800 of them are due to outer and inner, 200 : 600. The other 100 and
 * the 100 without a known scope go to `other` and to no scope, half of each reason. */
TEST(test_measured)
{
    struct model m;
    begin(&m);
    put_samples(&m, KERNEL, WAIT, IN_OUTER, 900);
    put_samples(&m, KERNEL, BARRIER, CELL_NULL, 100);
    put_kernels(&m);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer", "wait"), 200);
    near(estimate(&m, "outer|inner", "wait"), 600);
    near(estimate(&m, "outer|inner", "barrier"), 0);
    near(estimate(&m, "other", "wait"), 50);
    near(estimate(&m, "other", "barrier"), 50);
    const struct sample_group *g = sum_samples_group(&m.samples.scopes, 1);
    assert_int_equal(m.samples.scopes.count, 2);
    assert_string_equal(model_text(&m, g->owner), "outer");
    assert_int_equal(g->count.all, 900);
    model_fini(&m);
}

/* Samples that are known to belong to no scope go to none, and use up the part outside; those of
 * a function without records stay where they were measured. */
TEST(test_kept)
{
    struct model m;
    begin(&m);
    put_kernels(&m);
    put_samples(&m, KERNEL, WAIT, 0, 100);
    put_samples(&m, KERNEL, WAIT, CELL_NULL, 900);
    put_samples(&m, BARE, WAIT, IN_OTHER, 40);
    put_samples(&m, BARE, WAIT, CELL_NULL, 60);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer|inner", "wait"), 600);
    near(estimate(&m, "outer", "wait"), 200);
    near(estimate(&m, "other", "wait"), 140);
    assert_int_equal(m.samples.shared, 1000);
    model_fini(&m);
}

/* All samples that scopes are estimated to have. */
static double sum_of(const struct model *m)
{
    double sum = 0;
    for (size_t i = 1; i < m->samples.estimates.count; i++)
        sum += sum_samples_estimate(&m->samples, i)->samples;
    return sum;
}

/* Samples were measured in a scope that never launched the kernel: the scope that launched it has
 * them. */
TEST(test_elsewhere)
{
    struct model m;
    begin(&m);
    put_kernel(&m, 50, IN_OTHER);
    put_samples(&m, KERNEL, WAIT, IN_INNER, 10);
    put_samples(&m, KERNEL, WAIT, CELL_NULL, 30);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer|inner", "wait"), 0);
    near(estimate(&m, "other", "wait"), 40);
    near(estimate(&m, "outer", "wait"), 0);
    near(sum_of(&m), 40);
    model_fini(&m);
}

/* Inner waits for what other launched: samples are measured there, and inner is due 1 of 1001. */
TEST(test_waits_for_others)
{
    struct model m;
    begin(&m);
    put_kernel(&m, 1000, IN_OTHER);
    put_kernel(&m, 1, IN_INNER);
    put_samples(&m, KERNEL, WAIT, IN_INNER, 900);
    put_samples(&m, KERNEL, WAIT, CELL_NULL, 100);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer|inner", "wait"), 1000 / 1001.0);
    near(estimate(&m, "outer", "wait"), 0);
    near(estimate(&m, "other", "wait"), 1000 * 1000 / 1001.0);
    near(sum_of(&m), 1000);
    model_fini(&m);
}

/* Samples that inner does not lack go to the scope around it before any other. */
TEST(test_handed_up)
{
    struct model m;
    begin(&m);
    put_kernel(&m, 500, IN_OUTER);
    put_kernel(&m, 500, IN_OTHER);
    put_samples(&m, KERNEL, WAIT, IN_INNER, 300);
    put_samples(&m, KERNEL, WAIT, IN_OUTER, 100);
    put_samples(&m, KERNEL, BARRIER, CELL_NULL, 600);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer|inner", "wait"), 0);
    near(estimate(&m, "outer", "wait"), 400);
    near(estimate(&m, "outer", "barrier"), 100);
    near(estimate(&m, "other", "wait"), 0);
    near(estimate(&m, "other", "barrier"), 500);
    near(sum_of(&m), 1000);
    model_fini(&m);
}

/* Samples are measured outside all scopes, by a thread that waits there for what a scope
 * launched. */
TEST(test_waits_outside)
{
    struct model m;
    begin(&m);
    put_kernels(&m);
    put_samples(&m, KERNEL, BARRIER, 0, 550);
    put_samples(&m, KERNEL, WAIT, CELL_NULL, 450);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer|inner", "wait"), 300);
    near(estimate(&m, "outer|inner", "barrier"), 300);
    near(estimate(&m, "other", "barrier"), 50);
    near(sum_of(&m), 900);
    model_fini(&m);
}

/* A sample in a scope beyond those that are followed is not outside all: any scope may have it. */
TEST(test_not_followed)
{
    struct model m;
    begin(&m);
    put_kernels(&m);
    put_samples(&m, KERNEL, BARRIER, SCOPE_INSTANCES + 5, 100);
    put_samples(&m, KERNEL, WAIT, 0, 100);
    put_samples(&m, BARE, WAIT, SCOPE_INSTANCES + 5, 10);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer|inner", "barrier"), 100 * 600 / 900.0);
    near(estimate(&m, "outer", "barrier"), 100 * 200 / 900.0);
    near(estimate(&m, "other", "barrier"), 100 / 9.0);
    assert_true(m.samples.scopes.count < 2);
    model_fini(&m);
}

/* Records without times give no better estimate than the scope of the measurement. */
TEST(test_no_time)
{
    struct model m;
    begin(&m);
    put_kernel(&m, 0, IN_OTHER);
    put_samples(&m, KERNEL, WAIT, IN_INNER, 10);
    put_samples(&m, KERNEL, WAIT, CELL_NULL, 30);
    assert_int_equal(model_finish(&m), 0);
    near(estimate(&m, "outer|inner", "wait"), 10);
    near(sum_of(&m), 10);
    model_fini(&m);
}

TEST(test_without_kernels)
{
    struct model m;
    begin(&m);
    put_samples(&m, KERNEL, WAIT, IN_OUTER, 900);
    assert_int_equal(model_finish(&m), 0);
    assert_false(m.samples.estimated);
    assert_int_equal(m.samples.estimates.count, 0);
    model_fini(&m);
}

/* Each of several sessions has its own shares: 600 of 1000, and all of 10. */
TEST(test_merged)
{
    struct model a, b, all;
    begin(&a);
    put_kernels(&a);
    put_samples(&a, KERNEL, WAIT, CELL_NULL, 1000);
    begin(&b);
    put_kernel(&b, 5, IN_INNER);
    put_samples(&b, KERNEL, WAIT, CELL_NULL, 10);
    assert_int_equal(model_finish(&a) | model_finish(&b), 0);
    model_init(&all, names);
    assert_int_equal(model_merge(&all, &a) | model_merge(&all, &b), 0);
    assert_int_equal(model_settle(&all), 0);
    near(estimate(&all, "outer|inner", "wait"), 610);
    near(estimate(&all, "outer", "wait"), 200);
    assert_int_equal(all.samples.shared, 1010);
    model_fini(&a);
    model_fini(&b);
    model_fini(&all);
}

/* A session that records no kernels counts with what it measured, in whichever order sessions
 * come. */
TEST(test_merged_without_kernels)
{
    for (int first = 0; first < 3; first++) {
        struct model one[3], all;
        for (int i = 0; i < 3; i++) {
            begin(&one[i]);
            put_samples(&one[i], KERNEL, WAIT, i == first ? CELL_NULL : IN_OTHER,
                        i == first ? 10 : 900);
            if (i == first)
                put_kernel(&one[i], 5, IN_INNER);
            assert_int_equal(model_finish(&one[i]), 0);
            assert_true(one[i].samples.estimated == (i == first));
        }
        model_init(&all, names);
        for (int i = 0; i < 3; i++)
            assert_int_equal(model_merge(&all, &one[i]), 0);
        assert_int_equal(model_settle(&all), 0);
        near(estimate(&all, "outer|inner", "wait"), 10);
        near(estimate(&all, "other", "wait"), 1800);
        near(sum_of(&all), 1810);
        assert_int_equal(all.samples.shared, 10);
        assert_int_equal(sum_samples_group(&all.samples.scopes, 1)->count.all, 1800);
        model_fini(&all);
        for (int i = 0; i < 3; i++)
            model_fini(&one[i]);
    }
}

/* The lines and the member that report samples without an estimate. */
static void check_reported(struct report *r)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct page page = {.report = r, .model = &r->model, .out = out, .width = 200};
    struct json_out j;
    page_scope_samples(&page);
    assert_int_equal(page.code, 0);
    fclose(out);
    assert_non_null(strstr(text, "  100 samples are in no estimate:"));
    free(text);
    json_out_init_memory(&j, 1 << 20);
    json_out_object(&j, NULL);
    json_samples(r, &j);
    json_out_close_object(&j);
    assert_int_equal(json_out_finish(&j), 0);
    assert_non_null(strstr(buf_cstr(&j.buf), "\"estimate_left_out\":100"));
    buf_fini(&j.buf);
}

/* There is no room for measured samples or for estimates: those without room are counted. */
TEST(test_no_room)
{
    for (int pools = 0; pools < 2; pools++) {
        struct report r;
        struct model *m = &r.model, all;
        memset(&r, 0, sizeof r);
        begin(m);
        (pools ? &m->samples.pools : &m->samples.estimates)->max = 2; /* [0] is unused */
        put_kernel(m, 900, IN_OTHER);
        put_kernel(m, 100, IN_INNER);
        put_samples(m, KERNEL, WAIT, CELL_NULL, pools ? 300 : 1000);
        if (pools)
            put_samples(m, KERNEL, BARRIER, CELL_NULL, 100);
        assert_int_equal(model_finish(m), 0);
        near(m->samples.left_out + sum_of(m), pools ? 400 : 1000);
        check_reported(&r);
        model_init(&all, names);
        assert_int_equal(model_merge(&all, m) | model_merge(&all, m), 0);
        assert_int_equal(model_settle(&all), 0);
        near(all.samples.left_out, 200);
        model_fini(&all);
        model_fini(m);
    }
}

/* Without an estimate, no sample is missing in it. */
TEST(test_no_room_for_none)
{
    struct model m;
    begin(&m);
    m.samples.pools.max = 2;
    put_samples(&m, KERNEL, WAIT, IN_OUTER, 900);
    put_samples(&m, KERNEL, BARRIER, IN_OUTER, 900);
    assert_int_equal(model_finish(&m), 0);
    near(m.samples.left_out, 0);
    model_fini(&m);
}

/* Any allocation that fails is reported. */
TEST(test_no_memory)
{
    bool done = false;
    for (int64_t fail = 0; !done; fail++) {
        struct model m;
        begin(&m);
        put_kernels(&m);
        put_samples(&m, KERNEL, WAIT, IN_OUTER, 900);
        put_samples(&m, KERNEL, BARRIER, CELL_NULL, 100);
        mem_fail_at(fail);
        int rc = model_finish(&m);
        done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        model_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_time),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_waits_for_others),
        cmocka_unit_test(test_handed_up),
        cmocka_unit_test(test_waits_outside),
        cmocka_unit_test(test_not_followed),
        cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_without_kernels),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_merged_without_kernels),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_no_room_for_none),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}

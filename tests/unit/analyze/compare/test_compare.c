/* test_compare.c - planted differences are found, chance is not; digests come back from JSON as
 * they were, and damaged ones are refused. */
#include "analyze/compare/compare.h"
#include "analyze/model/load.h"
#include "analyze/model/model.h"
#include "analyze/read/discover.h"
#include "base/alloc.h"
#include "base/bins.h"
#include "base/err.h"
#include "tests/test.h"
#include "wire/record.h"

#include <stdbool.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_MAX = 256 };

/* Near enough to a normal distribution. */
static double noise(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += rand() / (double)RAND_MAX; /* NOLINT: the numbers must be the same every time */
    return sum;
}

static void begin(struct digest *d, const char *session)
{
    memset(d, 0, sizeof *d);
    region_init(&d->memory, DIGEST_MEMORY);
    d->session = session;
    d->app = "app";
    d->host = "host";
    d->duration = 1000000000;
    d->kernels = region_array(&d->memory, ITEMS_MAX, sizeof *d->kernels);
    d->scopes = region_array(&d->memory, ITEMS_MAX, sizeof *d->scopes);
    d->facts = region_array(&d->memory, ITEMS_MAX, sizeof *d->facts);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static struct digest_item *put(struct digest *d, const char *name, const int64_t *values, size_t n)
{
    struct digest_item *item = &d->kernels[d->kernel_item_count++];
    int64_t *sorted = mem_array(n + 1, sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    *item = (struct digest_item){.key = name, .name = name, .calls = (int64_t)n, .gpu = CELL_NULL};
    item->bins = region_array(&d->memory, n + 1, sizeof *item->bins);
    for (size_t i = 0; i < n; i++) {
        uint32_t bin = bins_of(sorted[i]);
        item->total += sorted[i];
        if (item->bin_count && item->bins[item->bin_count - 1].bin == bin)
            item->bins[item->bin_count - 1].count++;
        else
            item->bins[item->bin_count++] = (struct stats_bin){bin, 1};
    }
    mem_free(sorted);
    return item;
}

/* n calls around a mean; the noise is the given part of the mean. */
static void put_noisy(struct digest *d, const char *name, size_t n, double mean, double part)
{
    int64_t *v = mem_array(n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = llround(mean * (1 + part * noise()));
    put(d, name, v, n);
    mem_free(v);
}

static void put_fact(struct digest *d, const char *key, const char *value, double number)
{
    d->facts[d->fact_count++] = (struct digest_fact){key, value, number};
}

static const struct compare_row *row(const struct comparison *c, const char *name)
{
    for (size_t i = 0; i < c->kernel_count; i++)
        if (strcmp(c->kernels[i].name, name) == 0)
            return &c->kernels[i];
    fail_msg("%s is not in the comparison", name);
    return NULL;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

TEST(test_one_against_one)
{
    struct digest a, b;
    struct comparison c;
    srand(1); /* NOLINT */
    begin(&a, "a");
    begin(&b, "b");
    put_noisy(&a, "slower", 2000, 10000, 0.05);
    put_noisy(&b, "slower", 2000, 11000, 0.05);
    put_noisy(&a, "faster", 2000, 10000, 0.05);
    put_noisy(&b, "faster", 3000, 9000, 0.05);
    put_noisy(&a, "same", 2000, 10000, 0.05);
    put_noisy(&b, "same", 2000, 10000, 0.05);
    put_noisy(&a, "sure but small", 100000, 10000, 0.05);
    put_noisy(&b, "sure but small", 100000, 10100, 0.05);
    put_noisy(&a, "few", 5, 1000, 0.01);
    put_noisy(&b, "few", 5, 5000, 0.01);
    put_noisy(&a, "gone", 10, 500, 0);
    put_noisy(&b, "new", 10, 500, 0);
    /* Most calls are a little quicker, a few take a hundred times as long. */
    int64_t was[1000], is[1000];
    for (int i = 0; i < 1000; i++) {
        was[i] = 10000 + i;
        is[i] = i < 990 ? 9000 + i : 1000000;
    }
    put(&a, "mixed", was, 1000);
    put(&b, "mixed", is, 1000);
    const struct digest *sides[] = {&a, &b};
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    assert_int_equal(c.kernel_count, 8);
    static const struct {
        const char *name;
        enum compare_verdict verdict;
    } want[] = {{"slower", COMPARE_SLOWER}, {"faster", COMPARE_FASTER},
                {"same", COMPARE_SAME},     {"sure but small", COMPARE_SAME},
                {"few", COMPARE_UNCLEAR},   {"gone", COMPARE_GONE},
                {"new", COMPARE_NEW},       {"mixed", COMPARE_MIXED}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_string_equal(compare_verdict_word(row(&c, want[i].name)->verdict),
                            compare_verdict_word(want[i].verdict));
    const struct compare_row *r = row(&c, "slower");
    assert_int_equal(r->test, COMPARE_OF_CALLS);
    assert_true(fabs(r->ratio - 1.1) < 0.01 && isnan(r->low) && r->q < 1e-9 && r->better > 0.9);
    assert_true(fabs(r->difference - 2000 * 1000.0) < 50000);
    assert_true(llabs((long long)r->sides[0].p50 - 10000) < 150);
    assert_true(row(&c, "sure but small")->q < 0.001);
    assert_true(isnan(row(&c, "new")->ratio) && row(&c, "new")->difference > 0);
    assert_true(row(&c, "gone")->difference < 0);
    for (size_t i = 1; i < c.kernel_count; i++)
        assert_true(fabs(c.kernels[i - 1].difference) >= fabs(c.kernels[i].difference));
    compare_close(&c);
    digest_close(&a);
    digest_close(&b);
}

/* One call of a hundred takes a second: the mean differs much, and no test is sure. */
TEST(test_large_and_not_sure)
{
    struct digest a, b;
    struct comparison c;
    int64_t was[100], is[100];
    const struct digest *const sides[] = {&a, &b};
    begin(&a, "a");
    begin(&b, "b");
    for (int i = 0; i < 100; i++)
        was[i] = is[i] = 10000 + i;
    is[7] = 1000000000;
    put(&a, "kernel", was, 100);
    put(&b, "kernel", is, 100);
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    assert_true(row(&c, "kernel")->ratio > 100 && row(&c, "kernel")->q > 0.5);
    assert_int_equal(row(&c, "kernel")->verdict, COMPARE_UNCLEAR);
    compare_close(&c);
    digest_close(&a);
    digest_close(&b);
}

static void check_sentences(const struct comparison *c, const char *want)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    assert_int_equal(compare_say(c, &text), 0);
    assert_string_equal(buf_cstr(&text), want);
    buf_fini(&text);
}

/* The answer has the figures of the tables, and one line a sentence, whatever the names contain. */
TEST(test_sentences)
{
    struct digest a, b;
    struct comparison c;
    const struct digest *const sides[] = {&a, &b};
    srand(9); /* NOLINT */
    begin(&a, "a");
    begin(&b, "b");
    a.kernel_count = b.kernel_count = 1;
    a.kernel_time = 500000000;
    b.kernel_time = 100000000;
    b.duration = 2500000000;
    put_noisy(&a, "fast\ner", 1000, 20000, 0);
    put_noisy(&b, "fast\ner", 1000, 10000, 0);
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    check_sentences(&c, "B: 80.0 % less kernel time (500 ms to 100 ms a run); a run is 2.5 times "
                        "as long (1.00 s to 2.50 s a run).\n"
                        "The kernel that changed most for sure: fast er, 50.0 % shorter a call, "
                        "-10.0 ms a run.\n");
    compare_close(&c);
    b.kernel_time = b.kernel_count = CELL_NULL;
    b.kernel_item_count = b.kernels[0].calls = 0;
    b.damaged = true;
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    check_sentences(&c,
                    "B: the kernel time of B is unknown; a run is 2.5 times as long (1.00 s to "
                    "2.50 s a run).\nNo kernel changed for sure.\nOf B 1 of 1 logs are damaged: "
                    "there was more in these runs than is compared here.\n");
    compare_close(&c);
    digest_close(&a);
    digest_close(&b);
}

static void check_json_of_unknown(const struct comparison *c)
{
    static const char *const keys[] = {"calls", "total_ns", "mean_ns", "calls_per_session",
                                       "total_per_session_ns"};
    struct json_out j;
    json_out_init_memory(&j, 64 << 20);
    json_out_object(&j, NULL);
    compare_put(c, &j, 2);
    json_out_close_object(&j);
    assert_int_equal(json_out_finish(&j), 0);
    json_t *all = json_loadb(j.buf.data, j.buf.len, 0, NULL),
           *first = json_array_get(json_object_get(all, "kernels"), 0);
    assert_true(json_is_null(json_object_get(first, "difference_per_session_ns")));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_true(json_is_number(json_object_get(json_object_get(first, "a"), keys[i])));
        assert_true(json_is_null(json_object_get(json_object_get(first, "b"), keys[i])));
    }
    json_decref(all);
    buf_fini(&j.buf);
}

/* If a side records no kernels, it has no mean of them, and no kernel counts as gone from there. */
TEST(test_unknown_kernels)
{
    struct digest a, b;
    struct comparison c;
    const struct digest *const sides[] = {&a, &b};
    begin(&a, "a");
    begin(&b, "b");
    put_noisy(&a, "kernel", 10, 500, 0);
    a.kernel_count = 10;
    a.kernel_time = 5000;
    a.busy = 5000;
    b.kernel_count = b.kernel_time = b.busy = CELL_NULL;
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    assert_int_equal(row(&c, "kernel")->verdict, COMPARE_UNCLEAR);
    assert_true(isnan(row(&c, "kernel")->difference)); /* not "a run spends less in it" */
    check_json_of_unknown(&c);
    for (int t = 1; t < COMPARE_TOTALS; t++) {
        assert_int_equal(c.totals[t].known[0], 1);
        assert_int_equal(c.totals[t].known[1], 0);
        assert_true(isnan(c.totals[t].means[1]) && isnan(c.totals[t].ratio));
    }
    compare_close(&c);
    b.kernel_count = b.kernel_time = b.busy = 0; /* b is known to have run none */
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    assert_int_equal(row(&c, "kernel")->verdict, COMPARE_GONE);
    assert_true(row(&c, "kernel")->difference < 0);
    compare_close(&c);
    a.scopes[a.scope_count++] = a.kernels[0];
    b.scopes_unknown = true;
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    assert_int_equal(c.scopes[0].verdict, COMPARE_UNCLEAR);
    assert_true(isnan(c.scopes[0].difference));
    compare_close(&c);
    b.scopes_unknown = false;
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    assert_int_equal(c.scopes[0].verdict, COMPARE_GONE);
    compare_close(&c);
    /* Only one session of a side knows its kernels: a run spends what that session does. */
    b.kernel_count = b.kernel_time = b.busy = CELL_NULL;
    const struct digest *const one[] = {&a}, *const two[] = {&a, &b};
    assert_int_equal(compare_open(&c, one, 1, two, 2, COMPARE_LEAST), 0);
    assert_true(row(&c, "kernel")->difference == 0);
    assert_true(row(&c, "kernel")->sides[1].calls_each == 10);
    compare_close(&c);
    digest_close(&a);
    digest_close(&b);
}

/* Runs differ by 5 % among themselves. A shift of 2.5 % is no difference, although thousands of
 * calls make it seem certain; a shift of 25 % is one. */
TEST(test_sets_are_distinguished_by_sessions)
{
    enum { EACH = 5 };
    struct digest d[2 * EACH];
    const struct digest *list[2 * EACH];
    struct comparison c;
    srand(5); /* NOLINT */
    for (int i = 0; i < 2 * EACH; i++) {
        double run = 1 + 0.05 * noise();
        begin(&d[i], "x");
        put_noisy(&d[i], "unsteady", 3000, 10000 * run * (i < EACH ? 1 : 1.025), 0.01);
        put_noisy(&d[i], "steady", 3000, 10000 * (1 + 0.02 * noise()) * (i < EACH ? 1 : 1.25),
                  0.01);
        list[i] = &d[i];
    }
    assert_int_equal(compare_open(&c, list, EACH, list + EACH, EACH, COMPARE_LEAST), 0);
    const struct compare_row *r = row(&c, "unsteady");
    assert_int_equal(r->test, COMPARE_OF_SESSIONS);
    assert_true(r->verdict == COMPARE_SAME && r->q > 0.05);
    assert_true(r->low < 1 && r->high > 1);
    r = row(&c, "steady");
    assert_int_equal(r->verdict, COMPARE_SLOWER);
    assert_true(r->low < 1.25 && r->high > 1.25 && r->low > 1.15 && r->high < 1.36);
    assert_true(r->sides[0].calls_each == 3000 && r->sides[0].sessions == EACH);
    compare_close(&c);
    /* With one session on each side the same calls make the difference certain. */
    assert_int_equal(compare_open(&c, list, 1, list + EACH, 1, 0), 0);
    assert_true(row(&c, "unsteady")->q < 1e-6);
    compare_close(&c);
    for (int i = 0; i < 2 * EACH; i++)
        digest_close(&d[i]);
}

/* Two hundred kernels in which nothing changed: without a correction ten would be found. */
TEST(test_many_tests_find_nothing)
{
    struct digest a, b;
    struct comparison c;
    static char names[200][16];
    unsigned below = 0;
    srand(9); /* NOLINT */
    begin(&a, "a");
    begin(&b, "b");
    for (int i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        put_noisy(&a, names[i], 60, 100000, 0.2);
        put_noisy(&b, names[i], 60, 100000, 0.2);
    }
    const struct digest *sides[] = {&a, &b};
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, 0.001), 0);
    for (size_t i = 0; i < c.kernel_count; i++) {
        below += c.kernels[i].p < 0.05;
        assert_true(c.kernels[i].verdict == COMPARE_SAME ||
                    c.kernels[i].verdict == COMPARE_UNCLEAR);
    }
    assert_true(below > 2 && below < 25);
    compare_close(&c);
    digest_close(&a);
    digest_close(&b);
}

TEST(test_what_is_set_up_otherwise)
{
    struct digest a, b;
    struct comparison c;
    begin(&a, "a");
    begin(&b, "b");
    put_fact(&a, "driver", "535.1", NAN);
    put_fact(&b, "driver", "550.9", NAN);
    put_fact(&a, "GPU", "H200", NAN);
    put_fact(&a, "GPU", "H200", NAN);
    put_fact(&b, "GPU", "H200", NAN);
    put_fact(&a, "SM clock, mean", "1500 MHz", 1500);
    put_fact(&b, "SM clock, mean", "1510 MHz", 1510);
    put_fact(&a, "memory clock, mean", "3000 MHz", 3000);
    put_fact(&b, "memory clock, mean", "2000 MHz", 2000);
    put_fact(&b, "option launch_stacks", "true", NAN);
    put_noisy(&a, "k", 10, 100, 0);
    struct digest_item *k = &a.kernels[0];
    struct digest_shape one = {"1x1x1/32x1x1", 10}, two = {"2x1x1/32x1x1", 10};
    k->shapes = &one;
    k->shape_count = 1;
    put_noisy(&b, "k", 10, 100, 0);
    b.kernels[0].shapes = &two;
    b.kernels[0].shape_count = 1;
    const struct digest *sides[] = {&a, &b};
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], 1, COMPARE_LEAST), 0);
    assert_int_equal(c.fact_count, 3);
    assert_string_equal(c.facts[0].key, "driver");
    assert_string_equal(c.facts[0].values[1][0], "550.9");
    assert_string_equal(c.facts[1].key, "memory clock, mean");
    assert_string_equal(c.facts[2].key, "option launch_stacks");
    assert_int_equal(c.facts[2].counts[0], 0);
    assert_true(c.kernels[0].shapes_differ);
    compare_close(&c);
    assert_int_equal(compare_open(&c, &sides[0], 0, &sides[1], 1, 0), GPUFL_E_INVAL);
    compare_close(&c);
    assert_int_equal(compare_open(&c, &sides[0], 1, &sides[1], COMPARE_SESSIONS + 1, 0),
                     GPUFL_E_INVAL);
    compare_close(&c);
    digest_close(&a);
    digest_close(&b);
}

/* ---- digests --------------------------------------------------------------------------------- */

TEST(test_keys)
{
    static const char *const names[][2] = {
        {"_Z4reluPfi", "_Z4reluPfi"},
        {"_ZN42_GLOBAL__N__0867aadc_13_train_loop_cu_main6matmulEv",
         "_ZN42_GLOBAL__N__00000000_13_train_loop_cu_main6matmulEv"},
        {"_ZN36_GLOBAL__N__d3f2c5f6_6_foo_cu_6f1a2b9kernel_aaEv",
         "_ZN36_GLOBAL__N__00000000_6_foo_cu_6f1a2b9kernel_aaEv"},
        {"_ZN38_GLOBAL__N__d3f2c5f6_6_foo_cu_6f1a2b3c9kernel_aaEv",
         "_ZN38_GLOBAL__N__00000000_6_foo_cu_000000009kernel_aaEv"},
        {"_GLOBAL__N__d3f2c5f6_x", "_GLOBAL__N__d3f2c5f6_x"}, /* no component */
        {"99999_GLOBAL__N__d3f2c5f6", "99999_GLOBAL__N__00000000"},
        {"12_GLOBAL__N__", "12_GLOBAL__N__"},
        {"", ""}};
    char out[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        digest_key(names[i][0], out);
        assert_string_equal(out, names[i][1]);
    }
}

/* Loads the recorded session of examples/data. */
static void load(struct digest *d, struct model *m, struct intern **names)
{
    char path[4096];
    struct discover found;
    struct load_stats stats;
    struct err e = {0};
    const struct load_options o = {0};
    snprintf(path, sizeof path, "%s/examples/data/train_loop", getenv("GPUFL_SOURCE_DIR"));
    assert_int_equal(discover_open(&found, path, &e), 0);
    assert_int_equal(intern_open(names, 1 << 20, 1 << 26), 0);
    model_init(m, *names);
    assert_int_equal(load_session(m, &found.sessions[0], &o, &stats, &e), 0);
    discover_close(&found);
    assert_int_equal(digest_open(d, m), 0);
}

static void assert_items(const struct digest_item *a, const struct digest_item *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(a[i].key, b[i].key);
        assert_string_equal(a[i].name, b[i].name);
        assert_true(a[i].calls == b[i].calls && a[i].total == b[i].total && a[i].gpu == b[i].gpu);
        assert_true(a[i].p50 == b[i].p50 && a[i].p99 == b[i].p99 && a[i].longest == b[i].longest);
        assert_int_equal(a[i].bin_count, b[i].bin_count);
        for (size_t k = 0; k < a[i].bin_count; k++)
            assert_true(a[i].bins[k].bin == b[i].bins[k].bin &&
                        a[i].bins[k].count == b[i].bins[k].count);
        assert_int_equal(a[i].shape_count, b[i].shape_count);
        for (size_t k = 0; k < a[i].shape_count; k++) {
            assert_string_equal(a[i].shapes[k].text, b[i].shapes[k].text);
            assert_int_equal(a[i].shapes[k].calls, b[i].shapes[k].calls);
        }
    }
}

TEST(test_there_and_back)
{
    struct intern *names;
    struct model m;
    struct digest d, back;
    struct json_out j;
    int64_t calls = 0, total = 0;
    load(&d, &m, &names);
    assert_true(d.kernel_item_count > 3 && d.scope_count > 3 && d.fact_count > 10);
    for (size_t i = 0; i < d.kernel_item_count; i++) {
        uint64_t in_bins = 0;
        for (size_t k = 0; k < d.kernels[i].bin_count; k++)
            in_bins += d.kernels[i].bins[k].count;
        assert_int_equal(in_bins, d.kernels[i].calls);
        calls += d.kernels[i].calls;
        total += d.kernels[i].total;
    }
    assert_int_equal(calls, m.kernels.time.count);
    assert_int_equal(total, m.kernels.time.total);
    json_out_init_memory(&j, 64 << 20);
    assert_false(d.scopes_unknown);
    d.scopes_unknown = d.damaged = true;
    digest_put(&d, &j);
    assert_int_equal(json_out_finish(&j), 0);
    json_t *valid = json_loadb(j.buf.data, j.buf.len, 0, NULL);
    assert_non_null(valid);
    json_decref(valid);
    assert_int_equal(digest_read(&back, j.buf.data, j.buf.len), 0);
    assert_string_equal(back.session, d.session);
    assert_true(back.started == d.started && back.duration == d.duration && back.busy == d.busy);
    assert_true(back.scopes_unknown && back.damaged);
    assert_int_equal(back.kernel_item_count, d.kernel_item_count);
    assert_int_equal(back.scope_count, d.scope_count);
    assert_items(d.kernels, back.kernels, d.kernel_item_count);
    assert_items(d.scopes, back.scopes, d.scope_count);
    assert_int_equal(back.fact_count, d.fact_count);
    for (size_t i = 0; i < d.fact_count; i++) {
        assert_string_equal(back.facts[i].key, d.facts[i].key);
        assert_true(isnan(back.facts[i].number) == isnan(d.facts[i].number));
    }
    digest_close(&back);
    buf_fini(&j.buf);
    digest_close(&d);
    model_fini(&m);
    intern_close(names);
}

TEST(test_damaged)
{
    static const char good[] =
        "{\"digest\":1,\"session\":\"s\",\"app\":\"a\",\"host\":\"h\",\"started\":1,\"duration\":2,"
        "\"facts\":[\"driver\",\"5\",\"\",\"clock\",\"1 "
        "MHz\",\"1.5\"],\"kernels\":[{\"name\":\"k\","
        "\"calls\":2,\"total\":10,\"bins\":[4,1,6,1],\"shapes\":[\"1x1x1/"
        "1x1x1\",2]}],\"scopes\":[]}";
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "null",
        "{\"digest\":1}",
        "{\"digest\":1,\"session\":\"s\",\"app\":\"a\",\"host\":\"h\",\"facts\":[],\"scopes\":[],"
        "\"kernels\":[{}]}",
        "{\"digest\":1,\"session\":\"s\",\"app\":\"a\",\"host\":\"h\",\"facts\":[\"x\"],\"scopes\":"
        "[],\"kernels\":[]}",
        "{\"digest\":1,\"session\":\"s\",\"app\":\"a\",\"host\":\"h\",\"facts\":[],\"scopes\":[],"
        "\"kernels\":[{\"name\":\"k\",\"bins\":[6,1,4,1]}]}",
        "{\"digest\":1,\"session\":\"s\",\"app\":\"a\",\"host\":\"h\",\"facts\":[],\"scopes\":[],"
        "\"kernels\":[{\"name\":\"k\",\"bins\":[6]}]}",
        "{\"digest\":1,\"session\":\"s\",\"app\":\"a\",\"host\":\"h\",\"facts\":[],\"scopes\":[],"
        "\"kernels\":[{\"name\":\"k\",\"bins\":[99999999999,1]}]}",
        "{\"digest\":1,\"session\":\"s\",\"app\":\"a\",\"host\":\"h\",\"facts\":[],\"scopes\":[],"
        "\"kernels\":[{\"name\":\"k\",\"calls\":-1}]}"};
    struct digest d;
    assert_int_equal(digest_read(&d, good, sizeof good - 1), 0);
    assert_true(d.kernel_item_count == 1 && d.kernels[0].bin_count == 2 && d.fact_count == 2);
    assert_true(d.facts[1].number == 1.5 && isnan(d.facts[0].number));
    digest_close(&d);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(digest_read(&d, bad[i], strlen(bad[i])), 0);
        digest_close(&d);
    }
    for (size_t n = 0; n < sizeof good - 1; n++) { /* cut anywhere: memory of its own, for ASan */
        char *cut = mem_alloc(n + 1);
        memcpy(cut, good, n);
        assert_int_not_equal(digest_read(&d, cut, n), 0);
        digest_close(&d);
        mem_free(cut);
    }
    static const char newer[] = "{\"digest\":2,\"session\":\"s\"}";
    assert_int_equal(digest_read(&d, newer, sizeof newer - 1), GPUFL_E_STATE);
    digest_close(&d);
}

/* The output is JSON, with everything that a reader relies on. */
TEST(test_json)
{
    struct intern *names;
    struct model m;
    struct digest d;
    struct comparison c;
    struct json_out j;
    load(&d, &m, &names);
    const struct digest *one = &d;
    assert_int_equal(compare_open(&c, &one, 1, &one, 1, COMPARE_LEAST), 0);
    assert_int_equal(c.fact_count, 0);
    json_out_init_memory(&j, 64 << 20);
    json_out_object(&j, NULL);
    compare_put(&c, &j, 2);
    json_out_close_object(&j);
    assert_int_equal(json_out_finish(&j), 0);
    json_t *all = json_loadb(j.buf.data, j.buf.len, 0, NULL);
    assert_non_null(all);
    json_t *kernels = json_object_get(all, "kernels"), *first = json_array_get(kernels, 0);
    assert_int_equal(json_array_size(kernels), 2);
    assert_int_equal(json_integer_value(json_object_get(all, "kernel_count")), c.kernel_count);
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "same");
    assert_true(json_number_value(json_object_get(first, "ratio")) == 1);
    assert_true(json_number_value(json_object_get(first, "longer")) == 0.5);
    assert_true(json_is_null(json_object_get(first, "ratio_low")));
    json_decref(all);
    buf_fini(&j.buf);
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    assert_int_equal(compare_text(&c, out, 0, 60, true), 0);
    fclose(out);
    compare_close(&c);
    digest_close(&d);
    model_fini(&m);
    intern_close(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_against_one),
        cmocka_unit_test(test_large_and_not_sure),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_unknown_kernels),
        cmocka_unit_test(test_sets_are_distinguished_by_sessions),
        cmocka_unit_test(test_many_tests_find_nothing),
        cmocka_unit_test(test_what_is_set_up_otherwise),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

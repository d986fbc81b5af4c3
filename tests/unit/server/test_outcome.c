/* test_outcome.c - tests a session with more scopes and kernels than the stored tables have room
 * for: the report and the history have those with most time, and the report says how many there
 * are. */
#include "server/analysis/outcome.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "wire/encode.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    GROUPS = 40, /* scopes that have each as many scopes inside */
    INNER = 40,
    SCOPES = GROUPS + GROUPS * INNER,
    KERNELS = OUTCOME_ROWS + 200,
    CONFIGS = OUTCOME_CONFIGS + 50, /* of the longest kernel */
    GROUP_NAME = 1,                 /* first ids of names */
    INNER_NAME = GROUP_NAME + GROUPS,
    KERNEL_NAME = INNER_NAME + INNER,
    UNIT_NS = 1000,
    TEXT_MAX = 64 << 20,
};

static void put_name(struct buf *b, uint32_t id, const char *form, int number)
{
    char text[32];
    const char *at = text;
    size_t len = (size_t)snprintf(text, sizeof text, form, number);
    encode_names(b, &id, &at, &len, 1);
}

static void put_header(struct buf *b, const char *channel)
{
    const struct wire_header h = {.session = "many",
                                  .channel = channel,
                                  .part = 1,
                                  .app = "app",
                                  .host = "host",
                                  .run = "",
                                  .command = "app",
                                  .engine = "Trace",
                                  .backend = "sim",
                                  .version = "1",
                                  .system = "",
                                  .start = 1000,
                                  .clock_monotonic = 1000,
                                  .clock_real = 1770000000000000000,
                                  .clock_uncertainty = 10};
    encode_header(b, &h);
}

static void send(const char *channel, struct buf *b)
{
    struct ingest_answer a;
    struct ingest_request r = fixture_request("many", channel, 0);
    assert_int_equal(buf_error(b), 0);
    fixture_send(&fix, &r, b->data, b->len, 0, &a);
    assert_int_equal(a.status, 200);
    buf_clear(b);
}

/* Group g is instance g and takes as long as its inner scopes together. Inner scope k of group g
 * takes as many units as its number among all: the longest come last. */
static void put_scopes(struct buf *b)
{
    int64_t at = 1000, number = 0;
    for (int g = 1; g <= GROUPS; g++)
        put_name(b, (uint32_t)(GROUP_NAME + g - 1), "group %d", g);
    for (int k = 1; k <= INNER; k++)
        put_name(b, (uint32_t)(INNER_NAME + k - 1), "inner %d", k);
    for (int g = 1; g <= GROUPS; g++) {
        int64_t begin = at;
        for (int k = 1; k <= INNER; k++) {
            const struct scope_row r = {.start = at,
                                        .duration = ++number * UNIT_NS,
                                        .instance = GROUPS + number,
                                        .parent = g,
                                        .name = INNER_NAME + k - 1,
                                        .depth = 1};
            encode_rows(b, RECORD_scope, (const int64_t *)&r, 1);
            at += r.duration;
        }
        const struct scope_row r = {
            .start = begin, .duration = at - begin, .instance = g, .name = GROUP_NAME + g - 1};
        encode_rows(b, RECORD_scope, (const int64_t *)&r, 1);
    }
}

/* Kernel k takes k units, all in the last inner scope; the last one has CONFIGS configurations, of
 * which the last has most time. */
static void put_kernels(struct buf *b)
{
    int64_t at = 1000;
    for (int k = 1; k <= KERNELS; k++)
        put_name(b, (uint32_t)(KERNEL_NAME + k - 1), "kernel_%d", k);
    for (int i = 1; i < KERNELS + CONFIGS; i++) {
        int name = i < KERNELS ? i : KERNELS;
        const struct config_row c = {
            .id = i, .name = KERNEL_NAME + name - 1, .grid_x = i, .grid_y = 1, .grid_z = 1};
        const struct kernel_row r = {.start = at,
                                     .duration = i * UNIT_NS,
                                     .config = i,
                                     .stream = 1,
                                     .correlation = i,
                                     .scope = SCOPES};
        encode_rows(b, RECORD_config, (const int64_t *)&c, 1);
        encode_rows(b, RECORD_kernel, (const int64_t *)&r, 1);
        at += r.duration;
    }
}

static void send_session(void)
{
    struct ingest_answer a;
    struct buf b;
    buf_init(&b, TEXT_MAX);
    put_header(&b, "scope");
    put_scopes(&b);
    send("scope", &b);
    put_header(&b, "device");
    put_kernels(&b);
    send("device", &b);
    ingest_complete(fix.intake.ingest, "w", "many", &a);
    assert_int_equal(a.status, 200);
    fixture_drain(&fix);
    buf_fini(&b);
}

static void make(struct outcome *o)
{
    const struct analysis_config c = {.ops = &store_duckdb, .store = fix.store, .meta = fix.meta};
    struct err e = {0};
    if (outcome_make(o, &c, "w", "many", true, &e))
        fail_msg("%s", e.text);
}

/* Returns the stored report. */
static json_t *report_of(const struct outcome *o)
{
    const struct document *d = NULL;
    z_stream z = {0};
    char *text = calloc(1, TEXT_MAX);
    for (size_t i = 0; i < o->document_count; i++)
        if (strcmp(o->documents[i].head.kind, ANALYSIS_REPORT) == 0)
            d = &o->documents[i];
    assert_non_null(d);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)d->head.body.data;
    z.avail_in = (uInt)d->head.body.len;
    z.next_out = (Bytef *)text;
    z.avail_out = TEXT_MAX - 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static json_int_t number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

/* The scopes of a cut table are those with most time, each after its parent. */
static void check_scopes(const json_t *report)
{
    const json_t *scopes = json_object_get(report, "scopes"), *scope, *longest = NULL;
    size_t i, inner = 0;
    assert_int_equal(number(report, "scope_paths"), SCOPES);
    assert_true(json_is_false(json_object_get(report, "more_scope_paths")));
    assert_int_equal(json_array_size(scopes), OUTCOME_ROWS);
    json_array_foreach(scopes, i, scope)
    {
        json_int_t parent = number(scope, "parent");
        assert_int_equal(number(scope, "id"), i + 1);
        if (!parent)
            continue;
        assert_true(parent <= (json_int_t)i);
        assert_int_equal(
            json_array_size(json_object_get(json_array_get(scopes, (size_t)parent - 1), "path")),
            1);
        assert_true(number(scope, "wall_ns") > (json_int_t)(SCOPES - OUTCOME_ROWS) * UNIT_NS);
        if (number(scope, "wall_ns") == (json_int_t)GROUPS * INNER * UNIT_NS)
            longest = scope;
        inner++;
    }
    assert_int_equal(inner, OUTCOME_ROWS - GROUPS); /* every group is longer than an inner scope */
    assert_non_null(longest);
    assert_int_equal(number(longest, "kernels"), KERNELS + CONFIGS - 1);
    assert_int_equal(json_array_size(json_object_get(longest, "by_kernel")), OUTCOME_SCOPE_KERNELS);
    assert_int_equal(number(json_object_get(longest, "other_kernels"), "count"),
                     KERNELS - OUTCOME_SCOPE_KERNELS);
}

static void check_kernels(const json_t *report)
{
    const json_t *kernels = json_object_get(report, "kernels"), *names, *first;
    names = json_object_get(kernels, "by_name");
    assert_int_equal(number(kernels, "names"), KERNELS);
    assert_int_equal(json_array_size(names), OUTCOME_ROWS);
    for (int i = 0; i < OUTCOME_ROWS; i++) {
        char text[32];
        snprintf(text, sizeof text, "kernel_%d", KERNELS - i);
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(names, (size_t)i), "symbol")), text);
    }
    first = json_array_get(names, 0);
    assert_int_equal(number(first, "config_count"), CONFIGS);
    const json_t *configs = json_object_get(first, "configs");
    assert_int_equal(json_array_size(configs), OUTCOME_CONFIGS);
    for (int i = 0; i < OUTCOME_CONFIGS; i++)
        assert_int_equal(number(json_array_get(configs, (size_t)i), "grid_x"),
                         KERNELS + CONFIGS - 1 - i);
}

TEST(test_report)
{
    struct outcome o;
    send_session();
    make(&o);
    json_t *report = report_of(&o);
    check_scopes(report);
    check_kernels(report);
    json_decref(report);
    outcome_fini(&o);
}

/* The history has the HISTORY_SCOPES scopes with most time, though they come last. */
TEST(test_history)
{
    enum { PATH = 5, TOTAL = 8, KIND = 14, KIND_SCOPE = 1, HISTORY_SCOPES = 1024 };
    struct outcome o;
    size_t scopes = 0;
    send_session();
    make(&o);
    for (size_t i = 0; i < o.history.rows; i++) {
        const struct store_vec *columns = o.history.columns;
        if (columns[KIND].ints[i] != KIND_SCOPE)
            continue;
        if (!memchr(columns[PATH].texts[i].at, '|', columns[PATH].texts[i].len))
            assert_true(columns[TOTAL].ints[i] > (int64_t)INNER * UNIT_NS);
        else
            assert_true(columns[TOTAL].ints[i] > (int64_t)(SCOPES - HISTORY_SCOPES) * UNIT_NS);
        scopes++;
    }
    assert_int_equal(scopes, HISTORY_SCOPES);
    outcome_fini(&o);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {T(test_report), T(test_history)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

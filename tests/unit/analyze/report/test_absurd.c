/* test_absurd.c - reports of sessions whose cells are absurd: every record with the largest,
 * smallest and strangest numbers that a line can hold. Nothing may overflow (sanitizers check
 * that), shares stay shares, and text and JSON come out whole. */
#include "base/buf.h"
#include "tests/test.h"
#include "tests/unit/support/make_log.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <jansson.h>
#include <sys/stat.h>

enum { ROWS = 24, NAMES = 6, SEEDS = 80, SESSIONS = 3 };

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Half of the numbers are small, so that ids find what they refer to. */
static int64_t absurd(void)
{
    static const int64_t values[] = {0,
                                     -1,
                                     1,
                                     CELL_NULL,
                                     INT64_MAX,
                                     INT64_MIN + 1,
                                     1ll << 62,
                                     -(1ll << 62),
                                     (1ll << 62) - 1,
                                     1ll << 61,
                                     UINT32_MAX,
                                     1ll << 32,
                                     INT32_MAX,
                                     INT32_MIN,
                                     1000000000,
                                     (1ll << 53) + 1,
                                     1ll << 60,
                                     -1000};
    uint64_t r = next_random();
    return r & 1 ? (int64_t)(r >> 8) % NAMES : values[(r >> 8) % (sizeof values / sizeof *values)];
}

static void put_header(struct make_log *l)
{
    struct wire_header h = {.session = l->session,
                            .channel = "device",
                            .part = 1,
                            .app = "absurd",
                            .pid = absurd(),
                            .host = "node",
                            .engine = "Trace",
                            .backend = "nvidia",
                            .start = absurd(),
                            .clock_monotonic = absurd(),
                            .clock_real = absurd(),
                            .clock_uncertainty = absurd()};
    encode_header(&l->lines, &h);
    make_log_names(l, "one", "two", "a.py", "registers", "enabled", NULL);
}

/* Most references lead somewhere, and most rows are rows of an otherwise sane session. */
static int64_t cell_of(const struct column *c, bool sane)
{
    if (c->ref != RECORD_NONE && next_random() % 8)
        return (int64_t)(next_random() % NAMES);
    if (sane && next_random() % 8)
        return (int64_t)(next_random() % 1000000);
    return absurd();
}

/* Dictionaries come before what refers to them in most of the sessions. */
static void put_records(struct make_log *l, enum record_kind kind)
{
    int64_t cells[ROWS * RECORD_MAX_COLUMNS];
    for (int type = 0; type < RECORD_COUNT; type++) {
        const struct record *r = &records[type];
        if (r->kind != kind)
            continue;
        for (size_t i = 0; i < (size_t)ROWS * r->column_count; i++)
            cells[i] = cell_of(&r->columns[i % r->column_count], i / r->column_count % 2);
        for (size_t i = 0; kind == RECORD_KIND_DICT && i < ROWS; i++)
            cells[i * r->column_count] = (int64_t)i % NAMES;
        make_log_rows(l, (enum record_type)type, cells, ROWS);
    }
}

static void write_session(const char *dir, const char *name, uint64_t seed)
{
    struct make_log l;
    random_state = seed * 0x9E3779B97F4A7C15u + 1;
    make_log_init(&l, name);
    put_header(&l);
    put_records(&l, seed % 4 ? RECORD_KIND_DICT : RECORD_KIND_EVENT);
    put_records(&l, seed % 4 ? RECORD_KIND_EVENT : RECORD_KIND_DICT);
    make_log_write(&l, dir, "device.log");
    make_log_fini(&l);
}

static bool is_share(const char *key)
{
    const char *end = strstr(key, "share");
    return end && !end[strlen("share")] && (end == key || end[-1] == '_');
}

/* No share in the report is below 0 or, except by rounding, above 1. */
static void check_shares(const json_t *at, const char *under)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_array(at))
        json_array_foreach(at, i, value) check_shares(value, under);
    json_object_foreach((json_t *)at, key, value)
    {
        if (is_share(key) && json_is_number(value) &&
            (json_number_value(value) < 0 || json_number_value(value) > 1.000001))
            fail_msg("%s.%s is %f", under, key, json_number_value(value));
        check_shares(value, key);
    }
}

static void report(const char *path, enum gpufl_report_format format)
{
    struct gpufl_report_options o = report_options(format);
    char error[REPORT_ERROR];
    int rc;
    o.stacks = true;
    char *text = report_run(path, &o, error, &rc);
    assert_true(rc == 0 || *error);
    if (format != GPUFL_REPORT_FLAME)
        assert_int_equal(rc, 0);
    if (format != GPUFL_REPORT_JSON) {
        free(text);
        return;
    }
    json_t *root = report_parse(text);
    check_shares(root, "");
    json_decref(root);
}

TEST(test_absurd)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char dir[32], path[PATH_MAX];
        snprintf(dir, sizeof dir, "run%d", (int)seed);
        mkdir(tmpdir_path(dir), 0777);
        for (int s = 0; s < SESSIONS; s++) {
            char name[32];
            snprintf(name, sizeof name, "s%d", s);
            write_session(tmpdir_path(dir), name, seed * SESSIONS + (uint64_t)s);
        }
        snprintf(path, sizeof path, "%s/s0", tmpdir_path(dir));
        for (int format = GPUFL_REPORT_TEXT; format <= GPUFL_REPORT_FLAME; format++) {
            report(path, (enum gpufl_report_format)format);
            report(tmpdir_path(dir), (enum gpufl_report_format)format);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_absurd)};
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}

/* test_monitor_screen.c - tests the frames of the live view, and what a monitor's line may
 * contain. */
#include "cli/monitor/screen.h"
#include "tests/test.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static struct snapshot x;
static struct screen screen;
static struct canvas canvas;
static struct buf text;

static int setup(void **state)
{
    (void)state;
    memset(&screen, 0, sizeof screen);
    buf_init(&text, 4 << 20);
    canvas.utf8 = true;
    return !setlocale(LC_CTYPE, "C.UTF-8");
}

static int teardown(void **state)
{
    (void)state;
    snapshot_fini(&x);
    canvas_fini(&canvas);
    buf_fini(&text);
    return 0;
}

/* ---- what a monitor says --------------------------------------------------------------------- */

static void put_gpus(struct buf *b, int gpus)
{
    for (int i = 0; i < gpus; i++)
        buf_printf(b,
                   "%s{\"index\":%d,\"up\":true,\"uuid\":\"GPU-%d\",\"name\":\"NVIDIA H100 80GB "
                   "HBM3\",\"xids\":[],\"parts\":0,\"metrics\":{\"gpu_util\":%d,"
                   "\"memory_used\":42949672960,\"memory_total\":85899345920,\"temperature\":62,"
                   "\"power\":345000,\"power_limit\":700000,\"clock_sm\":1755,\"throttle\":4}}",
                   i ? "," : "", i, i, i * 10);
}

static void take(int gpus, int processes)
{
    struct err e = {0};
    struct buf b;
    buf_init(&b, 4 << 20);
    buf_str(&b, "{\"monitor\":\"1\",\"host\":\"node7\",\"interval_ms\":1000,\"age_ms\":3,"
                "\"problem\":\"\",\"host_metrics\":{\"cpu\":1250},\"gpus\":[");
    put_gpus(&b, gpus);
    buf_str(&b, "],\"processes\":[");
    for (int i = 0; i < processes; i++)
        buf_printf(&b,
                   "%s{\"gpu\":%d,\"pid\":%d,\"name\":\"p%d\",\"memory_used\":%d,\"sm_util\":%d,"
                   "\"job\":\"%d\"}",
                   i ? "," : "", i % gpus, 1000 + i, processes - i, (i * 7 % 5 + 1) << 20,
                   i * 3 % 100, 40 + i);
    buf_str(&b, "]}");
    int rc = snapshot_read(&x, b.data, b.len, &e);
    buf_fini(&b);
    if (rc)
        fail_msg("%s", e.text);
    screen_keep(&screen, &x);
    screen_sort(&screen, &x);
}

static const char *drawn(int rows, int columns)
{
    assert_int_equal(canvas_size(&canvas, rows, columns), 0);
    screen_draw(&screen, &x, &canvas);
    buf_clear(&text);
    for (int i = 0; i < rows; i++) {
        canvas_row(&canvas, i, &text);
        buf_char(&text, '\n');
    }
    return buf_cstr(&text);
}

static int count_of(const char *in, const char *what)
{
    int n = 0;
    for (const char *at = in; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* ---- frames ---------------------------------------------------------------------------------- */

TEST(one_gpu_has_a_panel)
{
    take(1, 2);
    const char *s = drawn(24, 80);
    assert_non_null(strstr(s, "node7"));
    assert_non_null(strstr(s, "CPU 12 %"));
    assert_non_null(strstr(s, "GPU  0 H100 80GB HBM3   62 °C  345 of 700 W  SM 1755 MHz"));
    assert_non_null(strstr(s, "40.0 of 80.0 GiB"));
    assert_non_null(strstr(s, "throttled: power cap"));
    assert_non_null(strstr(s, "job 41"));
    assert_non_null(strstr(s, " 1-2 of 2\n"));
}

/* The screen describes AMD's GPUs in AMD's words. */
TEST(a_gpu_of_amd_s)
{
    struct err e = {0};
    static const char line[] =
        "{\"monitor\":\"1\",\"host\":\"node7\",\"interval_ms\":1000,\"age_ms\":3,\"problem\":\"\","
        "\"gpus\":[{\"index\":0,\"up\":true,\"uuid\":\"GPU-0\",\"name\":\"AMD Instinct MI210\","
        "\"vendor\":\"amd\",\"xids\":[],\"metrics\":{\"clock_sm\":1700,\"nvlink_rx\":2000000000,"
        "\"nvlink_tx\":3000000}}],\"processes\":[]}";
    int rc = snapshot_read(&x, line, sizeof line - 1, &e);
    if (rc)
        fail_msg("%s", e.text);
    screen_keep(&screen, &x);
    screen_sort(&screen, &x);
    const char *s = drawn(24, 100);
    assert_non_null(strstr(s, "AMD Instinct MI210   shader 1700 MHz"));
    assert_non_null(strstr(s, "XGMI in 2.0 GB/s, out 3 MB/s"));
    assert_null(strstr(s, "SM "));
    assert_null(strstr(s, "NVLink"));
}

TEST(eight_gpus_have_lines_where_panels_do_not_fit)
{
    take(8, 64);
    const char *s = drawn(24, 80);
    assert_int_equal(count_of(s, "H100 80GB HBM"), 8);
    assert_int_equal(count_of(s, "memory"), 1); /* in the line of keys: there are no panels */
    assert_non_null(strstr(s, "40.0/80G 62 °C  345 W T"));
    assert_int_equal(count_of(s, "job "), screen.shown);
    assert_true(screen.shown >= 7);
    s = drawn(50, 200);
    assert_int_equal(count_of(s, "40.0 of 80.0 GiB"), 8);
    assert_true(screen.shown >= 10);
}

TEST(gpus_that_do_not_fit_are_counted)
{
    take(8, 64);
    const char *s = drawn(9, 80);
    int lines = count_of(s, "H100 80GB HBM");
    char words[64];
    snprintf(words, sizeof words, "%d more GPUs", 8 - lines);
    assert_true(lines >= 1 && lines < 8);
    assert_non_null(strstr(s, words));
}

/* Every size is drawn within its bounds, as the sanitizers check. */
TEST(any_size)
{
    take(8, 64);
    for (int rows = 1; rows < 60; rows += 3)
        for (int columns = 1; columns < 260; columns += 7)
            (void)drawn(rows, columns);
    screen.help = true;
    for (int rows = 1; rows < 30; rows++)
        (void)drawn(rows, 80);
}

TEST(what_is_not_known_is_no_zero)
{
    struct err e;
    static const char line[] =
        "{\"monitor\":\"1\",\"gpus\":[{\"index\":0,\"up\":true,\"name\":\"X\",\"metrics\":{}},"
        "{\"up\":false,\"name\":\"Y\"}],\"processes\":[{\"gpu\":0,\"pid\":7}]}";
    assert_int_equal(snapshot_read(&x, line, strlen(line), &e), 0);
    screen_keep(&screen, &x);
    const char *s = drawn(24, 80);
    assert_null(strstr(s, " 0 %"));
    assert_null(strstr(s, "0.0"));
    assert_null(strstr(s, "0 W"));
    assert_non_null(strstr(s, "GPU  -"));
    assert_non_null(strstr(s, "is gone"));
    s = drawn(8, 80); /* drawn as lines */
    assert_null(strstr(s, " 0 %"));
    assert_non_null(strstr(s, "is gone"));
}

TEST(trouble_is_in_the_second_line)
{
    take(1, 1);
    screen.away = "gpufl-monitor has ended: no new values";
    assert_non_null(strstr(drawn(24, 80), "\ngpufl-monitor has ended: no new values\n"));
}

TEST(the_past_moves_to_the_left)
{
    for (int i = 0; i < PAST_MOST + 5; i++)
        take(2, 1);
    assert_int_equal(screen.past[1].count, PAST_MOST);
    assert_int_equal(screen.past[1].use[PAST_MOST - 1], 10);
    x.gpus[1].up = false;
    screen_keep(&screen, &x);
    assert_int_equal(screen.past[1].use[PAST_MOST - 1], -1);
    snprintf(x.gpus[1].uuid, sizeof x.gpus[1].uuid, "another");
    screen_keep(&screen, &x);
    assert_int_equal(screen.past[1].count, 1);
}

/* ---- order and keys -------------------------------------------------------------------------- */

static int64_t key_of(enum sort sort, const struct seen_process *p)
{
    return sort == SORT_MEMORY ? -p->memory_used
           : sort == SORT_USE  ? -p->sm_util
           : sort == SORT_GPU  ? p->gpu
                               : p->pid;
}

TEST(keys_sort)
{
    take(3, 40);
    for (int i = 0; i < SORT_COUNT; i++) {
        assert_true(screen_key(&screen, sort_keys[i].key, x.process_count));
        assert_int_equal(screen.sort, i);
        screen_sort(&screen, &x);
        for (size_t k = 1; k < x.process_count; k++) {
            const struct seen_process *a = &x.processes[k - 1], *b = &x.processes[k];
            if (i == SORT_NAME)
                assert_true(strcmp(a->name, b->name) <= 0);
            else if (i != SORT_USER)
                assert_true(key_of((enum sort)i, a) <= key_of((enum sort)i, b));
        }
    }
    assert_false(screen_key(&screen, 'z', x.process_count));
}

TEST(the_table_scrolls_to_its_end_and_not_beyond)
{
    take(1, 64);
    (void)drawn(24, 80);
    for (int i = 0; i < 100; i++)
        (void)screen_key(&screen, KEY_OF_DOWN, x.process_count);
    assert_int_equal(screen.first, 64 - screen.shown);
    assert_non_null(strstr(drawn(24, 80), "-64 of 64"));
    (void)screen_key(&screen, KEY_OF_PAGE_UP, x.process_count);
    assert_int_equal(screen.first, 64 - screen.shown - 10);
    take(1, 2); /* most of them have ended */
    (void)drawn(24, 80);
    assert_int_equal(screen.first, 0);
    (void)screen_key(&screen, KEY_OF_UP, x.process_count);
    assert_int_equal(screen.first, 0);
}

/* The session and the scope of a traced process, as far as there is room for both. */
TEST(what_a_traced_process_runs)
{
#define ID "01234567-89ab-cdef-0123-456789abcdef"
    static const struct {
        int columns;
        const char *scope, *shown;
    } cases[] = {{80, "", " 01234567\n"},
                 {80, "train step", " train step\n"},
                 {80, "a name that is long", " a name that"},
                 {120, "", " " ID "\n"},
                 {120, "train step", " 01234567 train step\n"},
                 {200, "", " " ID "\n"},
                 {200, "train step", " " ID " train step\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        take(1, 1);
        snprintf(x.processes[0].session, sizeof x.processes[0].session, "%s", ID);
        snprintf(x.processes[0].scope, sizeof x.processes[0].scope, "%s", cases[i].scope);
        const char *s = drawn(24, cases[i].columns);
        assert_non_null(strstr(s, "RUNS"));
        if (!strstr(s, cases[i].shown))
            fail_msg("not at %d columns: %s\n%s", cases[i].columns, cases[i].shown, s);
    }
}

TEST(help_is_shown_and_hidden)
{
    take(1, 1);
    assert_true(screen_key(&screen, 'h', 1));
    assert_non_null(strstr(drawn(24, 80), "ends the view"));
    assert_true(screen_key(&screen, 'h', 1));
    assert_null(strstr(drawn(24, 80), "ends the view"));
}

/* ---- lines that are not trusted -------------------------------------------------------------- */

TEST(names_are_cleaned)
{
    struct err e;
    static const char line[] =
        "{\"monitor\":\"1\",\"host\":\"a\\u001b[2Jb\",\"gpus\":[{\"index\":0,\"up\":true}],"
        "\"processes\":[{\"gpu\":0,\"pid\":1,\"name\":\"x\\u0000y\\u009b31m\\u202ez\"}]}";
    assert_int_equal(snapshot_read(&x, line, strlen(line), &e), 0);
    assert_string_equal(x.host, "a [2Jb");
    assert_null(strchr(x.processes[0].name, 0x1b));
    assert_null(strstr(x.processes[0].name, "\xc2\x9b"));
    assert_null(strstr(x.processes[0].name, "\xe2\x80\xae"));
    assert_non_null(strstr(x.processes[0].name, "31m"));
}

TEST(lines_of_something_else_are_refused)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"monitor\":\"1\"",
                                      "{\"monitor\":\"1\",\"gpus\":[{]}",
                                      "{\"monitor\":\"1\",\"processes\":[1]}",
                                      "HTTP/1.1 400 Bad Request"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        assert_int_equal(snapshot_read(&x, bad[i], strlen(bad[i]), &e), GPUFL_E_INVAL);
        assert_true(*e.text);
    }
}

TEST(counts_are_bounded_and_places_checked)
{
    struct err e;
    struct buf b;
    buf_init(&b, 4 << 20);
    buf_str(&b, "{\"monitor\":\"1\",\"gpus\":[");
    put_gpus(&b, SEEN_GPUS_MOST + 1);
    buf_str(&b, "]}");
    assert_int_equal(snapshot_read(&x, b.data, b.len, &e), GPUFL_E_INVAL);
    buf_fini(&b);
    static const char line[] =
        "{\"monitor\":\"1\",\"gpus\":[{\"index\":0}],\"processes\":[{\"gpu\":1},{\"gpu\":-1},{},"
        "{\"gpu\":0,\"pid\":9}]}";
    assert_int_equal(snapshot_read(&x, line, strlen(line), &e), 0);
    assert_int_equal(x.process_count, 1);
    assert_int_equal(x.processes[0].pid, 9);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_gpu_has_a_panel),
        CASE(a_gpu_of_amd_s),
        CASE(eight_gpus_have_lines_where_panels_do_not_fit),
        CASE(gpus_that_do_not_fit_are_counted),
        CASE(any_size),
        CASE(what_is_not_known_is_no_zero),
        CASE(trouble_is_in_the_second_line),
        CASE(the_past_moves_to_the_left),
        CASE(keys_sort),
        CASE(the_table_scrolls_to_its_end_and_not_beyond),
        CASE(what_a_traced_process_runs),
        CASE(help_is_shown_and_hidden),
        CASE(names_are_cleaned),
        CASE(lines_of_something_else_are_refused),
        CASE(counts_are_bounded_and_places_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

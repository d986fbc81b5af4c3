/* test_info_engines.c - tests the engines of `gpufl info`: the table fits the page, and has the
 * data of the schema and the vendor. */
#include "cli/info/engines.h"
#include "tests/test.h"

#include "backend/engine_texts.h"

#include <stdio.h>
#include <string.h>

enum { OUT_MOST = 1 << 20 };

static struct buf out;

static const char *shown_of(const struct backend *of, int width)
{
    buf_clear(&out);
    info_engines_text(&out, of, width);
    return buf_cstr(&out);
}

static const char *shown(int width)
{
    return shown_of(&backend_nvidia, width);
}

/* Returns the first line of an engine in the table, after the titles. */
static const char *row_of(const char *text, const char *engine)
{
    char key[40];
    const char *titles = strstr(text, "\n  engine ");
    assert_non_null(titles);
    snprintf(key, sizeof key, "\n  %s ", engine);
    const char *row = strstr(titles, key);
    assert_non_null(row);
    return row + 1;
}

TEST(lines_fit_the_page)
{
    static const struct backend *const of[] = {&backend_nvidia, &backend_amd};
    for (int i = 0; i < 6; i++) {
        int width = 100 + i / 2 * 50;
        for (const char *line = shown_of(of[i % 2], width); *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > (size_t)width)
                fail_msg("at %d: %.120s", width, line);
    }
}

/* Cells of a row begin where their titles do. */
TEST(cells_stand_below_their_titles)
{
    const char *text = shown(100), *titles = row_of(text, "engine");
    size_t next = (size_t)(strstr(titles, "falls back to") - titles);
    size_t needs = (size_t)(strstr(titles, "needs") - titles);
    for (const struct engine_row *r = engine_table; r->name; r++) {
        const char *row = row_of(text, r->name), *instead = engine_table[r->next].name;
        if (&engine_table[r->next] == r)
            instead = "-";
        assert_int_equal(strncmp(row + next, instead, strlen(instead)), 0);
        assert_int_equal(strncmp(row + needs, r->asks ? "CUPTI" : "-", r->asks ? 5 : 1), 0);
    }
}

/* The table describes AMD's GPUs in AMD's words, and names the engine that really runs instead. */
TEST(amd_has_words_of_its_own)
{
    static const char *const foreign[] = {
        "CUPTI", "CUDA",    "NVIDIA", "ncu",    "compute cap",   " SM", "warp",
        "NVREG", "context", "DCGM",   "GPUCTR", "window_detach", "x1.", "180 to"};
    const char *text = shown_of(&backend_amd, 100);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strstr(text, foreign[i]))
            fail_msg("'%s' in %s", foreign[i], text);
    static const struct {
        const char *engine, *instead;
    } rows[] = {{"Trace", "Monitor"},       {"PcSampling", "RangeProfiler"},
                {"Deep", "PcSampling"},     {"SassMetrics", "RangeProfiler"},
                {"RangeProfiler", "Trace"}, {"PmSampling", "Trace"},
                {"Sync", "Monitor"}};
    size_t column =
        (size_t)(strstr(row_of(text, "engine"), "falls back to") - row_of(text, "engine"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_memory_equal(row_of(text, rows[i].engine) + column, rows[i].instead,
                            strlen(rows[i].instead));
    assert_non_null(strstr(text, "engines (backend amd)\n"));
    assert_non_null(strstr(text, "rocprofiler-sdk"));
    assert_non_null(strstr(text, "not measured"));
    buf_clear(&out);
    info_engines_json(&out, &backend_amd);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_null(strstr(buf_cstr(&out), foreign[i]));
    assert_non_null(strstr(buf_cstr(&out), ",\"engines_of\":\"amd\",\"engines\":["));
}

/* The table says what keeps an engine from recording everything. */
TEST(obstacles_are_explained)
{
    static const char *const words[] = {"held by another tool", "ERR_NVGPUCTRPERM", "1 GiB",
                                        "begin late"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_non_null(strstr(shown(200), words[i]));
}

TEST(json_has_what_the_table_has)
{
    static const char *const members[] = {
        "\"name\":\"RangeProfiler\",",
        "\"costs\":\"the program waits for the device",
        "\"excludes\":[\"PcSampling\",\"SassMetrics\",\"Deep\",\"PmSampling\"]",
        "\"excludes\":[]",
        "\"late\":\"",
        "\"else\":\"Trace\"}",
        "\"engine_pairs\":[{\"a\":\"PcSampling\",\"b\":\"Trace\",\"rule\":\"first\""};
    buf_clear(&out);
    info_engines_json(&out, &backend_nvidia);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strstr(buf_cstr(&out), members[i]))
            fail_msg("no %s", members[i]);
}

/* A vendor may have metrics of its GPUs alone. */
TEST(a_backend_without_engines_says_so)
{
    const struct backend monitor = {.name = "toy"};
    struct buf b;
    buf_init(&b, 4096);
    info_engines_text(&b, &monitor, 100);
    assert_string_equal(buf_cstr(&b), "\nThe backend toy has no engines: it samples its GPUs.\n");
    buf_clear(&b);
    info_engines_json(&b, &monitor);
    assert_string_equal(buf_cstr(&b), ",\"engines_of\":\"toy\",\"engines\":[],\"engine_pairs\":[]");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_the_page),
        cmocka_unit_test(cells_stand_below_their_titles),
        cmocka_unit_test(amd_has_words_of_its_own),
        cmocka_unit_test(obstacles_are_explained),
        cmocka_unit_test(a_backend_without_engines_says_so),
        cmocka_unit_test(json_has_what_the_table_has),
    };
    buf_init(&out, OUT_MOST);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&out);
    return failed;
}

/* test_info_engines.c - the engines of `gpufl info`: the table fits the page, and holds what the
 * schema says. */
#include "cli/info/engines.h"
#include "tests/test.h"

#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

enum { OUT_MOST = 1 << 20 };

static struct buf out;

static const char *shown(int width)
{
    buf_clear(&out);
    info_engines_text(&out, width);
    return buf_cstr(&out);
}

/* The first line of an engine in the table: behind the titles. */
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
    for (int width = 100; width <= 200; width += 50)
        for (const char *line = shown(width); *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > (size_t)width)
                fail_msg("at %d: %.120s", width, line);
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

/* What keeps an engine from doing all of it. */
TEST(obstacles_are_explained)
{
    static const char *const words[] = {"held by another tool", "ERR_NVGPUCTRPERM", "1 GiB",
                                        "too late"};
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
    info_engines_json(&out);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strstr(buf_cstr(&out), members[i]))
            fail_msg("no %s", members[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_the_page),
        cmocka_unit_test(cells_stand_below_their_titles),
        cmocka_unit_test(obstacles_are_explained),
        cmocka_unit_test(json_has_what_the_table_has),
    };
    buf_init(&out, OUT_MOST);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&out);
    return failed;
}

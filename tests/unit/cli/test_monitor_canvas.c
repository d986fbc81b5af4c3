/* test_monitor_canvas.c - tests the contents of the screen: widths, wide characters, and no control
 * characters. */
#include "cli/monitor/canvas.h"
#include "tests/test.h"

#include <locale.h>
#include <string.h>

static struct canvas canvas;
static struct buf line;

static int setup(void **state)
{
    (void)state;
    buf_init(&line, 1 << 16);
    canvas.utf8 = true;
    return canvas_size(&canvas, 3, 10) || !setlocale(LC_CTYPE, "C.UTF-8");
}

static int teardown(void **state)
{
    (void)state;
    canvas_fini(&canvas);
    buf_fini(&line);
    return 0;
}

static const char *row(int n)
{
    buf_clear(&line);
    canvas_row(&canvas, n, &line);
    return buf_cstr(&line);
}

TEST(text_is_cut_at_its_width_and_at_the_canvas)
{
    assert_int_equal(canvas_text(&canvas, 0, 2, 3, STYLE_PLAIN, "abcdef"), 3);
    assert_string_equal(row(0), "  abc");
    assert_int_equal(canvas_text(&canvas, 1, 8, 100, STYLE_PLAIN, "abcdef"), 2);
    assert_string_equal(row(1), "        ab");
    assert_int_equal(canvas_text(&canvas, 3, 0, 5, STYLE_PLAIN, "x"), 0);
    assert_int_equal(canvas_text(&canvas, 0, 10, 5, STYLE_PLAIN, "x"), 0);
    assert_int_equal(canvas_text(&canvas, -1, -1, 5, STYLE_PLAIN, "x"), 0);
    canvas_right(&canvas, 2, 0, 10, STYLE_PLAIN, "12");
    assert_string_equal(row(2), "        12");
}

TEST(wide_characters_are_never_halved)
{
    assert_int_equal(canvas_columns(&canvas, "日本"), 4);
    assert_int_equal(canvas_text(&canvas, 0, 0, 3, STYLE_PLAIN, "日本"), 2);
    assert_string_equal(row(0), "日");
    (void)canvas_text(&canvas, 0, 0, 10, STYLE_PLAIN, "日本");
    (void)canvas_text(&canvas, 0, 1, 1, STYLE_PLAIN, "x"); /* over its right half */
    assert_string_equal(row(0), " x本");
    (void)canvas_text(&canvas, 0, 2, 1, STYLE_PLAIN, "y"); /* over a left half */
    assert_string_equal(row(0), " xy");
    (void)canvas_text(&canvas, 1, 9, 10, STYLE_PLAIN, "日"); /* no room for two columns */
    assert_string_equal(row(1), "");
    /* a combining accent has no column */
    assert_int_equal(canvas_columns(&canvas, "e\xcc\x81"), 1);
    assert_int_equal(canvas_text(&canvas, 2, 0, 10, STYLE_PLAIN, "e\xcc\x81z"), 2);
    assert_string_equal(row(2), "ez");
}

TEST(nothing_that_a_terminal_acts_on_is_shown)
{
    static const char *const hostile[] = {
        "\x1b[2Jx",           /* escape */
        "a\rb\nc\td\be\x07f", /* C0 */
        "\x7f",               /* DEL */
        "\xc2\x9b"
        "31m",              /* CSI as one C1 control */
        "\xe2\x80\xae.exe", /* right to left */
        "\xe2\x81\xa6x",    /* an isolate */
        "\xff\xfe\xc3",     /* not UTF-8 */
        "\xed\xa0\x80",     /* a surrogate */
        "\xe2\x80\xa8",     /* line separator */
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        (void)canvas_size(&canvas, 3, 10);
        (void)canvas_text(&canvas, 0, 0, 10, STYLE_PLAIN, hostile[i]);
        const char *shown = row(0);
        for (const char *s = shown; *s; s++)
            assert_true((unsigned char)*s >= 0x20 && *s != 0x7f);
        assert_null(strstr(shown, "\xc2\x9b"));
        assert_null(strstr(shown, "\xe2\x80"));
        assert_null(strstr(shown, "\xe2\x81"));
        assert_null(strstr(shown, "\xff"));
    }
}

TEST(ascii_alone_where_the_terminal_has_no_utf8)
{
    canvas.utf8 = false;
    (void)canvas_text(&canvas, 0, 0, 10, STYLE_PLAIN, "日a°b█");
    assert_string_equal(row(0), "?a?b?");
}

TEST(sizes_are_bounded)
{
    assert_int_equal(canvas_size(&canvas, 0, -5), 0);
    assert_int_equal(canvas.rows, 1);
    assert_int_equal(canvas.columns, 1);
    assert_int_equal(canvas_size(&canvas, 1 << 20, 1 << 20), 0);
    assert_int_equal(canvas.rows, CANVAS_ROWS_MOST);
    assert_int_equal(canvas.columns, CANVAS_COLUMNS_MOST);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(text_is_cut_at_its_width_and_at_the_canvas),
        CASE(wide_characters_are_never_halved),
        CASE(nothing_that_a_terminal_acts_on_is_shown),
        CASE(ascii_alone_where_the_terminal_has_no_utf8),
        CASE(sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

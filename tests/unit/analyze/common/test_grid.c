/* test_grid.c - tests tables that fit the page. */
#include "analyze/common/grid.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct grid_column columns[] = {
    {"count", GRID_RIGHT}, {"kernel", GRID_NAME}, {"kind", GRID_LEFT}};

static char *print(const struct grid *g, int width, bool color)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(grid_print(g, out, width, color), 0);
    fclose(out);
    return text;
}

TEST(test_aligned)
{
    struct grid g;
    grid_init(&g, columns, 3);
    grid_put(&g, "%d", 7);
    grid_put(&g, "%s", "void saxpy(int)");
    grid_put(&g, "a");
    grid_put(&g, "%d", 1234567);
    grid_put(&g, "%s", "gemm");
    grid_put(&g, "%s", "b");
    char *text = print(&g, 80, false);
    assert_string_equal(text, "    count  kernel           kind\n"
                              "        7  saxpy            a\n"
                              "  1234567  gemm             b\n");
    free(text);
    text = print(&g, 80, true);
    assert_non_null(strstr(text, "\033["));
    free(text);
    grid_fini(&g);
}

TEST(test_shrinks)
{
    struct grid g;
    grid_init(&g, columns, 3);
    grid_put(&g, "1");
    grid_put(&g, "%0300d", 0); /* longer than the cell's own buffer */
    grid_put(&g, "x");
    for (int width = 40; width < 200; width += 7) {
        char *text = print(&g, width, false);
        for (const char *line = text; *line;) {
            size_t len = strcspn(line, "\n");
            assert_true(len <= (size_t)width);
            line += len + 1;
        }
        assert_non_null(strstr(text, ".."));
        free(text);
    }
    grid_fini(&g);
}

TEST(test_printable)
{
    struct grid g;
    grid_init(&g, columns, 3);
    grid_put(&g, "1");
    grid_put(&g, "%s", "k<\n>");
    grid_put(&g, "%s",
             "\033[2J\xc2\x9b"
             "0m");
    char *text = print(&g, 80, false);
    assert_string_equal(text, "  count  kernel  kind\n"
                              "      1  k< >     [2J??0m\n");
    free(text);
    grid_fini(&g);
}

/* A name may be as long as a line of a log: it is cut in one pass, not in one pass a byte. */
TEST(test_long_text)
{
    static const struct grid_column one[] = {{"scope", GRID_TEXT}};
    struct grid g;
    char *name = malloc((4 << 20) + 1);
    assert_non_null(name);
    memset(name, 'x', 4 << 20);
    name[4 << 20] = '\0';
    grid_init(&g, one, 1);
    grid_put(&g, "%s", name);
    alarm(60);
    char *text = print(&g, 40, false);
    alarm(0);
    assert_int_equal(strcspn(strchr(text, '\n') + 1, "\n"), 40);
    assert_non_null(strstr(text, "xx.."));
    free(text);
    free(name);
    grid_fini(&g);
}

TEST(test_empty)
{
    struct grid g;
    grid_init(&g, columns, 3);
    char *text = print(&g, 80, false);
    assert_string_equal(text, "  count  kernel  kind\n");
    free(text);
    grid_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aligned), cmocka_unit_test(test_shrinks),
        cmocka_unit_test(test_printable), cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

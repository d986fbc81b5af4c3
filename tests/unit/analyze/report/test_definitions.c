/* test_definitions.c - tests where a report says that Triton's kernels are defined. */
#include "tests/test.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/reported.h"
#include "tests/unit/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

static void put_piece(struct program *p, const char *path, const char *text, int64_t offset,
                      size_t whole)
{
    struct source_row s = {.path = program_name(p, path),
                           .hash = 1,
                           .size = (int64_t)whole,
                           .mtime = CELL_NULL,
                           .offset = offset,
                           .text = program_name(p, text)};
    make_log_rows(&p->log, RECORD_source, &s, 1);
}

static void put_source(struct program *p, const char *path, const char *text)
{
    put_piece(p, path, text, 0, strlen(text));
}

static void run_kernel(struct program *p, const char *name)
{
    program_launch(p, (struct program_kernel){
                          .ns = 1000000, .thread = 1, .config = program_config(p, name, 64)});
}

/* Returns the place of a kernel as "FILE:LINE", of the report in JSON; "null": it has none. */
static const char *place_of(json_t *report, const char *kernel)
{
    static char text[256];
    json_t *names = json_object_get(json_object_get(report, "kernels"), "by_name"), *row;
    size_t i;
    json_array_foreach(names, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), kernel) != 0)
            continue;
        json_t *at = json_object_get(row, "defined");
        if (json_is_null(at))
            return "null";
        snprintf(text, sizeof text, "%s:%lld", json_string_value(json_object_get(at, "file")),
                 (long long)json_integer_value(json_object_get(at, "line")));
        return text;
    }
    fail_msg("no kernel %s", kernel);
    return NULL;
}

static json_t *report_of_session(const char *session)
{
    return report_parse(report_ok(tmpdir_path(session), GPUFL_REPORT_JSON, 120, false));
}

/* Returns the whole report as text, to be freed. */
static char *full_text(const char *session)
{
    struct gpufl_report_options o = report_options(GPUFL_REPORT_TEXT);
    o.width = 120;
    o.full = true;
    return report_with(tmpdir_path(session), &o, 0);
}

static const char vec[] = "import triton\n"
                          "\n"
                          "@triton.autotune(configs=[],\n"
                          "                 key=['n'])\n"
                          "@triton.jit\n"
                          "def add(x, y, n):\n"
                          "    pass\n"
                          "\n"
                          "@triton.jit(\n"
                          "    do_not_specialize=['n'],\n"
                          ")\n"
                          "# Scales.\n"
                          "def scale(x, n):\n"
                          "    pass\n"
                          "\n"
                          "class Kernels:\n"
                          "    @triton.jit\n"
                          "    def inside(x):\n"
                          "        pass\n"
                          "\n"
                          "def plain(x):\n"
                          "    pass\n"
                          "\n"
                          "@triton.jitter\n"
                          "def other(x):\n"
                          "    pass\n";

TEST(functions_below_the_mark)
{
    static const struct {
        const char *kernel, *place;
    } rows[] = {{"add", "/src/vec.py:6"}, {"scale", "/src/vec.py:13"}, {"inside", "/src/vec.py:18"},
                {"plain", "null"},        {"other", "null"},           {"absent", "null"}};
    struct program p;
    program_init(&p, "vec");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run_kernel(&p, rows[i].kernel);
    put_source(&p, "/src/vec.py", vec);
    program_write(&p);
    json_t *report = report_of_session("vec");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(place_of(report, rows[i].kernel), rows[i].place);
    json_decref(report);
    char *text = full_text("vec");
    assert_non_null(strstr(text, "Top kernel: add (vec.py:6), "));
    assert_non_null(strstr(text, "vec.py:13   scale\n"));
    assert_non_null(strstr(text, "            plain\n"));
    free(text);
}

/* torch.compile hands a name over, and the function in that text has the name in some versions. */
TEST(kernels_of_torch_compile)
{
    struct program p;
    program_init(&p, "compiled");
    run_kernel(&p, "triton_poi_fused_add_0");
    run_kernel(&p, "triton_red_fused_sum_1");
    put_source(&p, "/tmp/torchinductor_x/ab/cab.py",
               "triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''\n"
               "@triton.jit\n"
               "def triton_(in_ptr0):\n"
               "''')\n"
               "triton_red_fused_sum_1 = async_compile.triton('triton_red_fused_sum_1', '''\n"
               "@triton.jit\n"
               "def triton_red_fused_sum_1(in_ptr0):\n"
               "''')\n");
    program_write(&p);
    json_t *report = report_of_session("compiled");
    assert_string_equal(place_of(report, "triton_poi_fused_add_0"),
                        "/tmp/torchinductor_x/ab/cab.py:1");
    assert_string_equal(place_of(report, "triton_red_fused_sum_1"),
                        "/tmp/torchinductor_x/ab/cab.py:7");
    json_decref(report);
}

/* torch.compile names its files by a hash; another long name is cut as well, between letters. */
TEST(long_names_of_files)
{
    struct program p;
    program_init(&p, "long");
    run_kernel(&p, "add");
    run_kernel(&p, "scale");
    put_source(&p, "/src/cjasd7ymk5ggrmqvxpmvh7iesexkk6kangu3zdtjanyl4l35z6md.py",
               "@triton.jit\ndef add(x):\n");
    put_source(&p, "/src/kernels\u00e9s_of_the_attention_block.py", "@triton.jit\ndef scale(x):\n");
    program_write(&p);
    char *text = full_text("long");
    assert_non_null(strstr(text, "cjasd7ym….py:2  add\n"));
    assert_non_null(strstr(text, "kernels….py:2   scale\n"));
    free(text);
}

/* Which of several functions ran is not known; a text that is not whole, or no Python, says
 * nothing. */
TEST(what_is_not_known)
{
    struct program p;
    program_init(&p, "several");
    run_kernel(&p, "add");
    run_kernel(&p, "half");
    run_kernel(&p, "text");
    put_source(&p, "/a.py", "@triton.jit\ndef add(x):\n");
    put_source(&p, "/b.py", "@triton.jit\ndef add(x):\n");
    put_piece(&p, "/c.py", "@triton.jit\ndef half(x):\n", 0, 1000);
    put_source(&p, "/d.md", "@triton.jit\ndef text(x):\n");
    program_write(&p);
    json_t *report = report_of_session("several");
    assert_string_equal(place_of(report, "add"), "null");
    assert_string_equal(place_of(report, "half"), "null");
    assert_string_equal(place_of(report, "text"), "null");
    json_decref(report);
}

/* A text is kept in pieces, which may end in the middle of a line. */
TEST(texts_in_pieces)
{
    static const char first[] = "@triton.jit\nde", second[] = "f add(x):\n    pass\n";
    struct program p;
    program_init(&p, "pieces");
    run_kernel(&p, "add");
    put_piece(&p, "/a.py", second, sizeof first - 1, sizeof first + sizeof second - 2);
    put_piece(&p, "/a.py", first, 0, sizeof first + sizeof second - 2);
    program_write(&p);
    json_t *report = report_of_session("pieces");
    assert_string_equal(place_of(report, "add"), "/a.py:2");
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_below_the_mark), cmocka_unit_test(kernels_of_torch_compile),
        cmocka_unit_test(long_names_of_files),      cmocka_unit_test(what_is_not_known),
        cmocka_unit_test(texts_in_pieces),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}

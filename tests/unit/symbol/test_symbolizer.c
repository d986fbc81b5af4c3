/* test_symbolizer.c - addresses of real programs to functions, files and lines. */
#include "symbol/symbolizer.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "symbol/elf/debug_file.h"
#include "symbol/names/demangle.h"
#include "tests/unit/support/tmpdir.h"
#include "tests/unit/symbol/programs.h"

#include <unistd.h>

enum { LEVELS = 4 };

/* The line of a source of the programs that has the comment with that mark. */
static int64_t line_of(const char *source, const char *mark)
{
    char path[PATH_MAX], wanted[64], line[512];
    snprintf(path, sizeof path, "%s/tests/symbol/%s", getenv("GPUFL_SOURCE_DIR"), source);
    snprintf(wanted, sizeof wanted, "@%s ", mark);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int64_t number = 1, found = 0;
    for (; fgets(line, sizeof line, f); number++)
        if (strstr(line, wanted))
            found = number;
    fclose(f);
    assert_true(found > 0);
    return found;
}

/* ---- what is expected ------------------------------------------------------------------ */

struct expected {
    const char *mark;
    struct {
        const char *function; /* demangled; one of two spellings: "a|b" */
        const char *mark;     /* of the line; NULL: that of the call */
    } levels[LEVELS];
};

static const struct expected c_calls[] = {
    {"c_inner", {{"inner", NULL}, {"outer", "c_outer"}, {"twice", "c_twice"}}},
    {"c_plain", {{"plain", NULL}}},
    {"c_hidden", {{"hidden", NULL}}},
};

static const struct expected cc_calls[] = {
    {"template",
     {{"void train::fill<int, 0>(int)|train::fill<int, 0>", NULL},
      {"train::Step::inlined(int)", "in_member"},
      {"train::Step::run(int)", "in_run"}}},
    {"unnamed",
     {{"train::(anonymous namespace)::unnamed()|train::(anonymous namespace)::unnamed", NULL}}},
    {"unnamed_inline",
     {{"train::(anonymous namespace)::unnamed_inline()|"
       "train::(anonymous namespace)::unnamed_inline",
       NULL},
      {"main", "in_main"}}},
    {"lambda", {{"*operator()*", NULL}, {"train::with_lambda(int)", "with_lambda"}}},
    {"lambda_out", {{"*operator()*", NULL}}},
};

/* "*text*": somewhere inside; "a|b": one of the two. */
static bool is_spelled(const char *expected, const char *name)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s", expected);
    if (*wanted == '*') {
        wanted[strlen(wanted) - 1] = '\0';
        return strstr(name, wanted + 1) != NULL;
    }
    char *second = strchr(wanted, '|');
    if (second)
        *second++ = '\0';
    return !strcmp(wanted, name) || (second && !strcmp(second, name));
}

static void check_level(const struct symbol_level *l, const char *function, const char *source,
                        const char *mark)
{
    char path[PATH_MAX];
    struct buf name;
    snprintf(path, sizeof path, "%s/tests/symbol/%s", getenv("GPUFL_SOURCE_DIR"), source);
    buf_init(&name, DEMANGLE_ROOM);
    assert_non_null(l->function);
    demangle_put(&name, l->function);
    if (!is_spelled(function, buf_cstr(&name)))
        fail_msg("%s is called %s (%s)", function, buf_cstr(&name), l->function);
    buf_fini(&name);
    assert_int_equal(l->status, SYMBOL_LINE);
    assert_non_null(l->file);
    assert_string_equal(l->file, path);
    assert_int_equal(l->line, line_of(source, mark));
}

static void check_call(struct symbolizer *s, const struct symbol_module *m, uint64_t address,
                       const struct expected *x, const char *source)
{
    const struct symbol_level *levels;
    size_t count, n = 0;
    while (n < LEVELS && x->levels[n].function)
        n++;
    assert_int_equal(symbolizer_find(s, m, address, &levels, &count), 0);
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++)
        check_level(&levels[i], x->levels[i].function, source,
                    x->levels[i].mark ? x->levels[i].mark : x->mark);
}

static void check_program(const char *name)
{
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    bool c = name[1] != 'c';
    struct symbol_module m = programs_module(programs_path(name), &f);
    programs_run(programs_path(name), &calls);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    assert_null(symbolizer_lacks(s));
    const struct expected *x = c ? c_calls : cc_calls;
    size_t n = c ? sizeof c_calls / sizeof *c_calls : sizeof cc_calls / sizeof *cc_calls;
    for (size_t i = 0; i < n; i++)
        check_call(s, &m, programs_address(&calls, x[i].mark), &x[i], c ? "cases.c" : "cases.cc");
    symbolizer_close(s);
    elf_file_close(&f);
}

TEST(test_lines)
{
    static const char *const names[] = {"c5",        "c4",           "c0",           "cc5",
                                        "cc4",       "cc-types",     "cc-packed",    "cc-split",
                                        "cc-split4", "cc-no-id",     "cc-relative4", "cc-relative5",
                                        "cc-link",   "cc-no-id-link"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        print_message("         %s\n", names[i]);
        check_program(names[i]);
    }
    static const char *const some[] = {"cc-clang", "cc-lto",
                                       "cc-zstd"}; /* what this machine can build */
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (file_exists(programs_path(some[i])))
            check_program(some[i]);
}

/* Where split debug information is missing, a line is known and its function is not: the symbol
 * table names the outermost one, which is another where calls were inlined. */
TEST(test_split_is_missing)
{
    static const char *const programs[] = {"c-gone5", "c-gone4"};
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        struct calls calls;
        struct elf_file f;
        struct symbolizer *s;
        struct symbol_module m = programs_module(programs_path(programs[p]), &f);
        programs_run(programs_path(programs[p]), &calls);
        assert_int_equal(symbolizer_open(&s, tmpdir), 0);
        for (size_t i = 0; i < sizeof c_calls / sizeof *c_calls; i++) {
            const struct symbol_level *levels;
            size_t count;
            uint64_t address = programs_address(&calls, c_calls[i].mark);
            assert_int_equal(symbolizer_find(s, &m, address, &levels, &count), 0);
            assert_int_equal(count, 1);
            assert_int_equal(levels[0].status, SYMBOL_SPLIT);
            assert_null(levels[0].function);
            assert_int_equal(levels[0].line, line_of("cases.c", c_calls[i].mark));
        }
        symbolizer_close(s);
        elf_file_close(&f);
    }
}

/* A compiler's folder that is another one in every process: no file of ours is meant, least of all
 * one that is there. */
TEST(test_another_process_folder)
{
    static const char *const names[] = {"cc-cwd4", "cc-cwd5"};
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(getenv("GPUFL_SOURCE_DIR")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct symbol_level *levels;
        struct calls calls;
        struct symbolizer *s;
        struct elf_file f;
        size_t count;
        struct symbol_module m = programs_module(programs_path(names[i]), &f);
        programs_run(programs_path(names[i]), &calls);
        assert_int_equal(symbolizer_open(&s, tmpdir), 0);
        assert_int_equal(
            symbolizer_find(s, &m, programs_address(&calls, "unnamed"), &levels, &count), 0);
        assert_int_equal(levels[0].status, SYMBOL_LINE);
        assert_string_equal(levels[0].file, "tests/symbol/cases.cc");
        symbolizer_close(s);
        elf_file_close(&f);
    }
    assert_int_equal(chdir(here), 0);
}

/* ---- files that are not what they were -------------------------------------------------- */

/* The only level of one address. */
static struct symbol_level look(struct symbolizer *s, const struct symbol_module *m, uint64_t at)
{
    const struct symbol_level *levels;
    size_t count;
    assert_int_equal(symbolizer_find(s, m, at, &levels, &count), 0);
    assert_int_equal(count, 1);
    return levels[0];
}

static void copy_file(const char *from, const char *to)
{
    char *data;
    size_t len;
    assert_int_equal(file_read_all(from, 1 << 26, &data, &len, NULL), 0);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    mem_free(data);
}

TEST(test_stripped)
{
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    programs_run(programs_path("cc5"), &calls);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = programs_module(programs_path("cc-stripped"), &f);
    struct symbol_level l = look(s, &m, programs_address(&calls, "template"));
    assert_int_equal(l.status, SYMBOL_NOTHING); /* never the function before it */
    assert_null(l.function);
    elf_file_close(&f);
    programs_run(programs_path("cc-bare"), &calls);
    m = programs_module(programs_path("cc-bare"), &f);
    l = look(s, &m, programs_address(&calls, "template"));
    assert_int_equal(l.status, SYMBOL_FUNCTION);
    assert_string_equal(l.function, "_ZN5train4Step3runEi");
    assert_null(l.file);
    elf_file_close(&f);
    symbolizer_close(s);
}

/* A stripped program that carries a small symbol table: functions that nothing exports, too. */
TEST(test_small_table)
{
    static const char *const wanted[][2] = {{"template", "_ZN5train4Step3runEi"},
                                            {"unnamed", "_ZN5train12_GLOBAL__N_17unnamedEv"},
                                            {"lambda_out", "*lambda*"}};
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    programs_run(programs_path("cc-small"), &calls);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = programs_module(programs_path("cc-small"), &f);
    assert_null(elf_file_section(&f, ".symtab"));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct symbol_level l = look(s, &m, programs_address(&calls, wanted[i][0]));
        assert_int_equal(l.status, SYMBOL_FUNCTION);
        if (*wanted[i][1] != '*')
            assert_string_equal(l.function, wanted[i][1]);
        assert_null(l.file);
    }
    elf_file_close(&f);
    symbolizer_close(s);
}

TEST(test_identity)
{
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    programs_run(programs_path("cc5"), &calls);
    uint64_t at = programs_address(&calls, "unnamed");
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = programs_module(programs_path("cc5"), &f);
    m.mtime = m.size = 1; /* with a build id they tell nothing */
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    m.build_id = "00112233445566778899aabbccddeeff00112233";
    assert_int_equal(look(s, &m, at).status, SYMBOL_REPLACED);
    m.path = tmpdir_path("none");
    assert_int_equal(look(s, &m, at).status, SYMBOL_MISSING);
    m.path = tmpdir;
    assert_int_equal(look(s, &m, at).status, SYMBOL_UNREADABLE);
    m.path = tmpdir_write("text", "#!/bin/sh\n", 10);
    assert_int_equal(look(s, &m, at).status, SYMBOL_UNREADABLE);
    m.kind = SYMBOL_CODE;
    assert_int_equal(look(s, &m, at).status, SYMBOL_GENERATED);
    m.kind = SYMBOL_VDSO;
    assert_int_equal(look(s, &m, at).status, SYMBOL_MISSING);
    elf_file_close(&f);
    symbolizer_close(s);
}

/* A file without a build id must have the size and the time of then. */
TEST(test_identity_without_id)
{
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    programs_run(programs_path("cc-no-id"), &calls);
    uint64_t at = programs_address(&calls, "unnamed");
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = programs_module(programs_path("cc-no-id"), &f);
    assert_string_equal(m.build_id, "");
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    m.mtime++;
    assert_int_equal(look(s, &m, at).status, SYMBOL_REPLACED);
    m.mtime--;
    m.size++;
    assert_int_equal(look(s, &m, at).status, SYMBOL_REPLACED);
    m.size = m.mtime = INT64_MIN;
    assert_int_equal(look(s, &m, at).status, SYMBOL_REPLACED);
    elf_file_close(&f);
    symbolizer_close(s);
}

/* A file that had no name any more when it was mapped, and is there again. */
TEST(test_deleted)
{
    char path[PATH_MAX];
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    programs_run(programs_path("cc5"), &calls);
    uint64_t at = programs_address(&calls, "unnamed");
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = programs_module(programs_path("cc5"), &f);
    snprintf(path, sizeof path, "%s (deleted)", m.path);
    m.path = path;
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    m.build_id = "00112233";
    assert_int_equal(look(s, &m, at).status, SYMBOL_REPLACED);
    elf_file_close(&f);
    symbolizer_close(s);
}

/* The program is gone: its debug file is found by the build id. */
TEST(test_debug_file_by_id)
{
    char dir[PATH_MAX], path[2 * PATH_MAX];
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    programs_run(programs_path("cc5"), &calls);
    uint64_t at = programs_address(&calls, "unnamed");
    struct symbol_module m = programs_module(programs_path("cc-stripped"), &f);
    snprintf(dir, sizeof dir, "%s/.build-id/%.2s", tmpdir, m.build_id);
    assert_int_equal(file_mkdirs(dir, 0777, NULL), 0);
    snprintf(path, sizeof path, "%s/%s.debug", dir, m.build_id + 2);
    copy_file(programs_path("cc-link.debug"), path);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    m.path = "/nowhere/cc5";
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    copy_file(programs_path("cc-no-id.debug"), path); /* one of another program */
    symbolizer_close(s);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    assert_int_equal(look(s, &m, at).status, SYMBOL_MISSING);
    elf_file_close(&f);
    symbolizer_close(s);
}

/* A debug file next to a program without build id counts only with the checksum of the link. */
TEST(test_debug_link_checksum)
{
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    programs_run(programs_path("cc-no-id"), &calls);
    uint64_t at = programs_address(&calls, "unnamed");
    copy_file(programs_path("cc-no-id-link"), tmpdir_path("program"));
    copy_file(programs_path("cc-no-id.debug"), tmpdir_path("cc-no-id.debug"));
    struct symbol_module m = programs_module(tmpdir_path("program"), &f);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    symbolizer_close(s);
    FILE *debug = fopen(tmpdir_path("cc-no-id.debug"), "ab");
    assert_non_null(debug);
    fputc(0, debug);
    fclose(debug);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    assert_int_equal(look(s, &m, at).status, SYMBOL_NOTHING);
    elf_file_close(&f);
    symbolizer_close(s);
}

/* More files than are kept open, in turn. */
TEST(test_many_modules)
{
    enum { FILES = 20, ROUNDS = 3 };
    struct symbol_module m[FILES];
    struct elf_file f[FILES];
    struct calls calls;
    struct symbolizer *s;
    char name[32];
    programs_run(programs_path("cc5"), &calls);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "copy-%d", i);
        copy_file(programs_path("cc5"), tmpdir_path(name));
        m[i] = programs_module(tmpdir_path(name), &f[i]);
    }
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    for (int i = 0; i < ROUNDS * FILES; i++)
        assert_int_equal(look(s, &m[i % FILES], programs_address(&calls, "unnamed")).status,
                         SYMBOL_LINE);
    symbolizer_close(s);
    for (int i = 0; i < FILES; i++)
        elf_file_close(&f[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_split_is_missing, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_another_process_folder, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_stripped, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_small_table, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_identity, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_identity_without_id, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_deleted, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_debug_file_by_id, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_debug_link_checksum, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_many_modules, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_symbolizer.c - finds functions, files and lines for addresses of real programs. */
#include "symbol/symbolizer.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "symbol/elf/debug_file.h"
#include "symbol/names/demangle.h"
#include "tests/unit/support/tmpdir.h"
#include "tests/unit/symbol/programs.h"

#include <sys/resource.h>
#include <unistd.h>

enum { LEVELS = 4 };

/* Holds a program that ran, a file of its code, and a symbolizer. */
struct subject {
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    struct symbol_module m;
};

static void subject_open(struct subject *x, const char *ran, const char *file)
{
    programs_run(programs_path(ran), &x->calls);
    x->m = programs_module(file, &x->f);
    assert_int_equal(symbolizer_open(&x->s, tmpdir), 0);
}

/* Opens a new symbolizer, which has read nothing. */
static void subject_reopen(struct subject *x)
{
    symbolizer_close(x->s);
    assert_int_equal(symbolizer_open(&x->s, tmpdir), 0);
}

static void subject_close(struct subject *x)
{
    symbolizer_close(x->s);
    elf_file_close(&x->f);
}

static size_t find(struct subject *x, const char *mark, const struct symbol_level **levels)
{
    size_t count;
    uint64_t at = programs_address(&x->calls, mark);
    assert_int_equal(symbolizer_find(x->s, &x->m, at, levels, &count), 0);
    return count;
}

/* Returns the only level of a call. */
static struct symbol_level look(struct subject *x, const char *mark)
{
    const struct symbol_level *levels;
    assert_int_equal(find(x, mark, &levels), 1);
    return levels[0];
}

/* Returns the line of a program's source that has the comment with that mark. */
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
        const char *mark;     /* the line's; NULL: the call's */
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
    {"lambda", {{"*::'lambda|::$_*", NULL}, {"train::with_lambda(int)", "with_lambda"}}},
    {"lambda_out", {{"*::'lambda|::$_*", NULL}}},
};

/* "*text*": the name contains the text; "a|b", "*a|b*": one of the two. */
static bool is_spelled(const char *expected, const char *name)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s", expected);
    if (*wanted == '*')
        wanted[strlen(wanted) - 1] = '\0';
    char *second = strchr(wanted, '|');
    if (second)
        *second++ = '\0';
    if (*wanted == '*')
        return strstr(name, wanted + 1) || (second && strstr(name, second));
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

static void check_call(struct subject *x, const struct expected *call, const char *source)
{
    const struct symbol_level *levels;
    size_t n = 0;
    while (n < LEVELS && call->levels[n].function)
        n++;
    assert_int_equal(find(x, call->mark, &levels), n);
    for (size_t i = 0; i < n; i++)
        check_level(&levels[i], call->levels[i].function, source,
                    call->levels[i].mark ? call->levels[i].mark : call->mark);
}

static void check_program(const char *name)
{
    struct subject x;
    bool c = name[1] != 'c';
    subject_open(&x, name, programs_path(name));
    assert_null(symbolizer_lacks(x.s));
    const struct expected *call = c ? c_calls : cc_calls;
    size_t n = c ? sizeof c_calls / sizeof *c_calls : sizeof cc_calls / sizeof *cc_calls;
    for (size_t i = 0; i < n; i++)
        check_call(&x, &call[i], c ? "cases.c" : "cases.cc");
    subject_close(&x);
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
                                       "cc-zstd"}; /* if this machine can build them */
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (file_exists(programs_path(some[i])))
            check_program(some[i]);
}

/* If split debug information is missing, the line is known, but not its function: the symbol table
 * has the outermost one, which is another one if calls were inlined. */
TEST(test_split_is_missing)
{
    static const char *const programs[] = {"c-gone5", "c-gone4"};
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        struct subject x;
        subject_open(&x, programs[p], programs_path(programs[p]));
        for (size_t i = 0; i < sizeof c_calls / sizeof *c_calls; i++) {
            struct symbol_level l = look(&x, c_calls[i].mark);
            assert_int_equal(l.status, SYMBOL_SPLIT);
            assert_null(l.function);
            assert_int_equal(l.line, line_of("cases.c", c_calls[i].mark));
        }
        subject_close(&x);
    }
}

/* A program was compiled with a relative folder, so its source is another file in every process.
 * The path stays relative, even if this process has such a file. */
TEST(test_another_process_folder)
{
    static const char *const names[] = {"cc-cwd4", "cc-cwd5"};
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(getenv("GPUFL_SOURCE_DIR")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct symbol_level *levels;
        struct subject x;
        subject_open(&x, names[i], programs_path(names[i]));
        assert_true(find(&x, "unnamed", &levels) > 0);
        assert_int_equal(levels[0].status, SYMBOL_LINE);
        assert_string_equal(levels[0].file, "tests/symbol/cases.cc");
        subject_close(&x);
    }
    assert_int_equal(chdir(here), 0);
}

/* ---- files that have changed ------------------------------------------------------------ */

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
    struct subject x;
    subject_open(&x, "cc5", programs_path("cc-stripped"));
    struct symbol_level l = look(&x, "template");
    assert_int_equal(l.status, SYMBOL_NOTHING); /* not the function before it */
    assert_null(l.function);
    subject_close(&x);
    subject_open(&x, "cc-bare", programs_path("cc-bare"));
    l = look(&x, "template");
    assert_int_equal(l.status, SYMBOL_FUNCTION);
    assert_string_equal(l.function, "_ZN5train4Step3runEi");
    assert_null(l.file);
    subject_close(&x);
}

/* A stripped program with a small symbol table has functions that are not exported, too. */
TEST(test_small_table)
{
    static const char *const wanted[][2] = {{"template", "_ZN5train4Step3runEi"},
                                            {"unnamed", "_ZN5train12_GLOBAL__N_17unnamedEv"},
                                            {"lambda_out", "*lambda*"}};
    struct subject x;
    subject_open(&x, "cc-small", programs_path("cc-small"));
    assert_null(elf_file_section(&x.f, ".symtab"));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct symbol_level l = look(&x, wanted[i][0]);
        assert_int_equal(l.status, SYMBOL_FUNCTION);
        if (*wanted[i][1] != '*')
            assert_string_equal(l.function, wanted[i][1]);
        assert_null(l.file);
    }
    subject_close(&x);
}

/* The table is unpacked into a file in memory. If files may not grow, there is no table, and the
 * process does not end. */
TEST(test_small_table_under_a_limit)
{
    struct rlimit before, none;
    struct subject x;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 64;
    subject_open(&x, "cc-small", programs_path("cc-small"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    struct symbol_level l = look(&x, "template");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_not_equal(l.status, SYMBOL_LINE);
    assert_null(l.file);
    subject_close(&x);
}

TEST(test_identity)
{
    struct subject x;
    subject_open(&x, "cc5", programs_path("cc5"));
    x.m.mtime = x.m.size = 1; /* with a build id they do not count */
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_LINE);
    x.m.build_id = "00112233445566778899aabbccddeeff00112233";
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_REPLACED);
    x.m.path = tmpdir_path("none");
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_MISSING);
    x.m.path = tmpdir;
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_UNREADABLE);
    x.m.path = tmpdir_write("text", "#!/bin/sh\n", 10);
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_UNREADABLE);
    x.m.kind = SYMBOL_CODE;
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_GENERATED);
    x.m.kind = SYMBOL_VDSO;
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_MISSING);
    subject_close(&x);
}

/* A file without a build id must have the size and the time that were recorded. */
TEST(test_identity_without_id)
{
    struct subject x;
    subject_open(&x, "cc-no-id", programs_path("cc-no-id"));
    assert_string_equal(x.m.build_id, "");
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_LINE);
    x.m.mtime++;
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_REPLACED);
    x.m.mtime--;
    x.m.size++;
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_REPLACED);
    x.m.size = x.m.mtime = INT64_MIN;
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_REPLACED);
    subject_close(&x);
}

/* The file was deleted while it was mapped, and its path has a file again. */
TEST(test_deleted)
{
    char path[PATH_MAX];
    struct subject x;
    subject_open(&x, "cc5", programs_path("cc5"));
    snprintf(path, sizeof path, "%s (deleted)", x.m.path);
    x.m.path = path;
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_LINE);
    x.m.build_id = "00112233";
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_REPLACED);
    subject_close(&x);
}

/* The program is gone: its debug file is found by the build id. */
TEST(test_debug_file_by_id)
{
    char dir[PATH_MAX], path[2 * PATH_MAX];
    struct subject x;
    subject_open(&x, "cc5", programs_path("cc-stripped"));
    snprintf(dir, sizeof dir, "%s/.build-id/%.2s", tmpdir, x.m.build_id);
    assert_int_equal(file_mkdirs(dir, 0777, NULL), 0);
    snprintf(path, sizeof path, "%s/%s.debug", dir, x.m.build_id + 2);
    copy_file(programs_path("cc-link.debug"), path);
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_LINE);
    x.m.path = "/nowhere/cc5";
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_LINE);
    copy_file(programs_path("cc-no-id.debug"), path); /* another program's */
    subject_reopen(&x);
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_MISSING);
    subject_close(&x);
}

/* A debug file next to a program without a build id must have the checksum in the link. */
TEST(test_debug_link_checksum)
{
    struct subject x;
    copy_file(programs_path("cc-no-id-link"), tmpdir_path("program"));
    copy_file(programs_path("cc-no-id.debug"), tmpdir_path("cc-no-id.debug"));
    subject_open(&x, "cc-no-id", tmpdir_path("program"));
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_LINE);
    FILE *debug = fopen(tmpdir_path("cc-no-id.debug"), "ab");
    assert_non_null(debug);
    fputc(0, debug);
    fclose(debug);
    subject_reopen(&x);
    assert_int_equal(look(&x, "unnamed").status, SYMBOL_NOTHING);
    subject_close(&x);
}

/* More files than are kept open are used in turn. */
TEST(test_many_modules)
{
    enum { FILES = 20, ROUNDS = 3 };
    struct symbol_module m[FILES];
    struct elf_file f[FILES];
    struct subject x;
    char name[32];
    subject_open(&x, "cc5", programs_path("cc5"));
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "copy-%d", i);
        copy_file(programs_path("cc5"), tmpdir_path(name));
        m[i] = programs_module(tmpdir_path(name), &f[i]);
    }
    for (int i = 0; i < ROUNDS * FILES; i++) {
        x.m = m[i % FILES];
        assert_int_equal(look(&x, "unnamed").status, SYMBOL_LINE);
    }
    subject_close(&x);
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
        cmocka_unit_test_setup_teardown(test_small_table_under_a_limit, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_identity, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_identity_without_id, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_deleted, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_debug_file_by_id, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_debug_link_checksum, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_many_modules, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_symbolizer.c - addresses of real programs to functions, files and lines. */
#include "symbol/symbolizer.h"

#include "base/buf.h"
#include "base/file.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

/* ---- programs -------------------------------------------------------------------------- */

enum { CALLS = 16, LEVELS = 4 };

/* Where a program made its calls, as it says itself. */
struct calls {
    struct {
        char mark[32];
        uint64_t address;
    } items[CALLS];
    size_t count;
};

static const char *program(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/tests/symbol/%s", getenv("GPUFL_BINARY_DIR"), name);
    return path;
}

static void run(const char *path, struct calls *c)
{
    unsigned long address;
    FILE *f = popen(path, "r");
    assert_non_null(f);
    c->count = 0;
    while (c->count < CALLS && fscanf(f, "%31s %lx", c->items[c->count].mark, &address) == 2)
        c->items[c->count++].address = address;
    assert_int_equal(pclose(f), 0);
    assert_true(c->count > 0);
}

static uint64_t address_of(const struct calls *c, const char *mark)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].mark, mark))
            return c->items[i].address;
    fail_msg("the program did not call observe(\"%s\")", mark);
    return 0;
}

/* A file of code as a capture would describe it. */
static struct symbol_module module_of(const char *path, struct elf_file *f)
{
    struct err e = {0};
    if (elf_file_open(f, path, &e))
        fail_msg("%s", e.text);
    struct symbol_module m = {path, f->build_id, SYMBOL_ELF, f->size, f->mtime};
    return m;
}

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

/* Symbols of `as`, which may be a copy without code of its own, for what `name` did. */
static void check_program(const char *name)
{
    struct calls calls;
    struct symbolizer *s;
    struct elf_file f;
    bool c = name[1] != 'c';
    struct symbol_module m = module_of(program(name), &f);
    run(program(name), &calls);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    assert_null(symbolizer_lacks(s));
    const struct expected *x = c ? c_calls : cc_calls;
    size_t n = c ? sizeof c_calls / sizeof *c_calls : sizeof cc_calls / sizeof *cc_calls;
    for (size_t i = 0; i < n; i++)
        check_call(s, &m, address_of(&calls, x[i].mark), &x[i], c ? "cases.c" : "cases.cc");
    symbolizer_close(s);
    elf_file_close(&f);
}

static void test_lines(void **state)
{
    static const char *const names[] = {"c5",        "c4",       "c0",        "cc5",
                                        "cc4",       "cc-types", "cc-packed", "cc-split",
                                        "cc-split4", "cc-no-id", "cc-link",   "cc-no-id-link"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        print_message("         %s\n", names[i]);
        check_program(names[i]);
    }
    if (file_exists(program("cc-clang")))
        check_program("cc-clang");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

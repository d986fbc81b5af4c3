/* test_symbolizer.c - addresses of real programs to functions, files and lines. */
#include "symbol/symbolizer.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "symbol/elf/debug_file.h"
#include "symbol/names/demangle.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* The leak checker guesses where thread-local storage of opened libraries lies, and with libdw's
 * it guesses wrong and falls. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#else
#define SLOWER 1
#endif

/* ---- programs -------------------------------------------------------------------------- */

enum { CALLS = 16, LEVELS = 4 };

/* The places where a program made its calls, as it prints them. */
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
    struct symbol_module m = {path, f->build_id, SYMBOL_ELF, f->size, f->mtime, NULL};
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
        if (file_exists(program(some[i])))
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
        struct symbol_module m = module_of(program(programs[p]), &f);
        run(program(programs[p]), &calls);
        assert_int_equal(symbolizer_open(&s, tmpdir), 0);
        for (size_t i = 0; i < sizeof c_calls / sizeof *c_calls; i++) {
            const struct symbol_level *levels;
            size_t count;
            uint64_t address = address_of(&calls, c_calls[i].mark);
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
        struct symbol_module m = module_of(program(names[i]), &f);
        run(program(names[i]), &calls);
        assert_int_equal(symbolizer_open(&s, tmpdir), 0);
        assert_int_equal(symbolizer_find(s, &m, address_of(&calls, "unnamed"), &levels, &count), 0);
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
    run(program("cc5"), &calls);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = module_of(program("cc-stripped"), &f);
    struct symbol_level l = look(s, &m, address_of(&calls, "template"));
    assert_int_equal(l.status, SYMBOL_NOTHING); /* never the function before it */
    assert_null(l.function);
    elf_file_close(&f);
    run(program("cc-bare"), &calls);
    m = module_of(program("cc-bare"), &f);
    l = look(s, &m, address_of(&calls, "template"));
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
    run(program("cc-small"), &calls);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = module_of(program("cc-small"), &f);
    assert_null(elf_file_section(&f, ".symtab"));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct symbol_level l = look(s, &m, address_of(&calls, wanted[i][0]));
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
    run(program("cc5"), &calls);
    uint64_t at = address_of(&calls, "unnamed");
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = module_of(program("cc5"), &f);
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
    run(program("cc-no-id"), &calls);
    uint64_t at = address_of(&calls, "unnamed");
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = module_of(program("cc-no-id"), &f);
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
    run(program("cc5"), &calls);
    uint64_t at = address_of(&calls, "unnamed");
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    struct symbol_module m = module_of(program("cc5"), &f);
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
    run(program("cc5"), &calls);
    uint64_t at = address_of(&calls, "unnamed");
    struct symbol_module m = module_of(program("cc-stripped"), &f);
    snprintf(dir, sizeof dir, "%s/.build-id/%.2s", tmpdir, m.build_id);
    assert_int_equal(file_mkdirs(dir, 0777, NULL), 0);
    snprintf(path, sizeof path, "%s/%s.debug", dir, m.build_id + 2);
    copy_file(program("cc-link.debug"), path);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    m.path = "/nowhere/cc5";
    assert_int_equal(look(s, &m, at).status, SYMBOL_LINE);
    copy_file(program("cc-no-id.debug"), path); /* one of another program */
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
    run(program("cc-no-id"), &calls);
    uint64_t at = address_of(&calls, "unnamed");
    copy_file(program("cc-no-id-link"), tmpdir_path("program"));
    copy_file(program("cc-no-id.debug"), tmpdir_path("cc-no-id.debug"));
    struct symbol_module m = module_of(tmpdir_path("program"), &f);
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
    run(program("cc5"), &calls);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "copy-%d", i);
        copy_file(program("cc5"), tmpdir_path(name));
        m[i] = module_of(tmpdir_path(name), &f[i]);
    }
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    for (int i = 0; i < ROUNDS * FILES; i++)
        assert_int_equal(look(s, &m[i % FILES], address_of(&calls, "unnamed")).status, SYMBOL_LINE);
    symbolizer_close(s);
    for (int i = 0; i < FILES; i++)
        elf_file_close(&f[i]);
}

/* ---- damage ---------------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t roll(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

/* A place in the file; three of four times in a section that is read. */
static size_t place(const struct elf_file *f, size_t len)
{
    for (int tries = 0; roll(4) && tries < 64; tries++) {
        const Elf64_Shdr *s = &f->sections[roll((uint32_t)f->section_count)];
        const char *name = f->names + s->sh_name;
        bool read = strstr(name, "debug_") || s->sh_type == SHT_SYMTAB || s->sh_type == SHT_STRTAB;
        if (read && s->sh_type != SHT_NOBITS && s->sh_size)
            return s->sh_offset + roll((uint32_t)s->sh_size);
    }
    return roll((uint32_t)len);
}

/* Changes bytes of a file, or cuts it; the length that is left. */
static size_t damage(const struct elf_file *f, char *data, size_t len)
{
    static const unsigned char likely[] = {0, 1, 0x7f, 0x80, 0xff};
    unsigned kind = roll(8);
    if (kind == 0)
        return roll((uint32_t)len);
    size_t n = 1 + roll(kind < 4 ? 4 : 64), at = place(f, len);
    for (size_t i = 0; i < n; i++) {
        at = kind == 1 ? at + 1 : place(f, len); /* 1: next to each other */
        data[at % len] = (char)(kind & 1 ? likely[roll(sizeof likely)] : roll(256));
    }
    return len;
}

/* Any answer will do, as long as there is one, soon, and its texts can be read. */
static void ask_all(const char *path, const struct symbol_module *like, const struct calls *calls)
{
    const struct symbol_level *levels;
    struct symbolizer *s;
    size_t count, bytes = 0;
    struct symbol_module m = *like;
    m.path = path;
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    for (size_t i = 0; i < calls->count; i++) {
        assert_int_equal(symbolizer_find(s, &m, calls->items[i].address, &levels, &count), 0);
        assert_true(count >= 1 && count <= DWARF_LEVELS);
        for (size_t k = 0; k < count; k++) {
            bytes += levels[k].function ? strlen(levels[k].function) : 0;
            bytes += levels[k].file ? strlen(levels[k].file) : 0;
            assert_int_equal(levels[k].status == SYMBOL_LINE, levels[k].line > 0);
            assert_int_equal(levels[k].line > 0, levels[k].file != NULL);
        }
    }
    assert_true(bytes < 1 << 26);
    symbolizer_close(s);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void damage_program(const char *name, unsigned rounds)
{
    struct calls calls;
    struct elf_file f;
    char *whole;
    size_t len;
    double slowest = 0;
    run(program(name), &calls);
    struct symbol_module m = module_of(program(name), &f);
    assert_int_equal(file_read_all(program(name), 1 << 26, &whole, &len, NULL), 0);
    char *data = mem_alloc(len);
    assert_non_null(data);
    for (unsigned i = 0; i < rounds; i++) {
        random_state = 0x5eed + i;
        memcpy(data, whole, len);
        size_t left = damage(&f, data, len);
        double began = seconds();
        ask_all(tmpdir_write("damaged", data, left), &m, &calls);
        slowest = seconds() - began > slowest ? seconds() - began : slowest;
    }
    print_message("         %s: slowest %.3f s\n", name, slowest);
    assert_true(slowest < 10);
    mem_free(data);
    mem_free(whole);
    elf_file_close(&f);
}

TEST(test_damage)
{
    static const char *const names[] = {"c5",       "c4",        "cc5", "cc4",
                                        "cc-types", "cc-packed", "c0",  "cc-small"};
    const char *more = getenv("GPUFL_DAMAGE_ROUNDS");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        damage_program(names[i], more ? (unsigned)atoi(more) : 150);
}

/* A section that is no debug section and says that it unpacks to far more than there is room for:
 * what debug sections need is all that is set aside. */
TEST(test_a_note_that_unpacks_to_much)
{
    enum { SIZE = 64 << 20 };
    struct calls calls;
    struct elf_file f;
    char *data, *plain = mem_alloc(SIZE);
    size_t len, changed = 0;
    uLongf packed = compressBound(SIZE);
    Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = SIZE, .ch_addralign = 1};
    run(program("cc-packed"), &calls);
    struct symbol_module m = module_of(program("cc-packed"), &f);
    assert_int_equal(file_read_all(program("cc-packed"), 1 << 26, &data, &len, NULL), 0);
    char *whole = mem_alloc(len + sizeof head + packed);
    assert_true(plain && whole);
    memset(plain, 'x', SIZE);
    memcpy(whole, data, len);
    memcpy(whole + len, &head, sizeof head);
    assert_int_equal(compress((Bytef *)whole + len + sizeof head, &packed, (Bytef *)plain, SIZE),
                     Z_OK);
    for (size_t i = 0; i < f.section_count; i++) {
        Elf64_Shdr one = f.sections[i];
        if (strcmp(elf_file_name(&f, &one), ".note.ABI-tag") != 0)
            continue;
        one.sh_flags |= SHF_COMPRESSED;
        one.sh_offset = len;
        one.sh_size = sizeof head + packed;
        memcpy(whole + f.head.e_shoff + i * sizeof one, &one, sizeof one);
        changed++;
    }
    assert_int_equal(changed, 1);
    ask_all(tmpdir_write("note", whole, len + sizeof head + packed), &m, &calls);
    mem_free(whole);
    mem_free(plain);
    mem_free(data);
    elf_file_close(&f);
}

/* ---- speed ----------------------------------------------------------------------------- */

/* Every byte of this test's own code, as many times as it takes. */
TEST(test_speed)
{
    enum { ADDRESSES = 10000 };
    struct symbolizer *s;
    struct elf_file f;
    const struct symbol_level *levels;
    size_t count, lines = 0;
    struct symbol_module m = module_of("/proc/self/exe", &f);
    const Elf64_Shdr *text = elf_file_section(&f, ".text");
    assert_non_null(text);
    assert_int_equal(symbolizer_open(&s, tmpdir), 0);
    double began = seconds();
    for (uint64_t i = 0; i < ADDRESSES; i++) {
        uint64_t at = text->sh_addr + i * 7919 % text->sh_size;
        assert_int_equal(symbolizer_find(s, &m, at, &levels, &count), 0);
        lines += levels[0].status == SYMBOL_LINE;
    }
    double took = seconds() - began;
    print_message("         10 000 addresses: %.3f s, %zu with a line\n", took, lines);
    assert_true(lines > ADDRESSES / 2);
    assert_true(took < 1.0 * SLOWER);
    symbolizer_close(s);
    elf_file_close(&f);
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
        cmocka_unit_test_setup_teardown(test_damage, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_a_note_that_unpacks_to_much, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test_setup_teardown(test_speed, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_symbolizer_damage.c - lookups in damaged programs end soon and use little memory; 10 000
 * addresses of an undamaged program take less than a second. */
#include "symbol/symbolizer.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/unit/support/tmpdir.h"
#include "tests/unit/symbol/programs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#else
#define SLOWER 1
#endif

static uint64_t random_state;

static uint32_t roll(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

/* Returns a place in the file; three of four are in a section that is read. */
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

/* Changes bytes of a file, or cuts it; returns its new length. */
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

/* Looks up all calls. Any result is right, if its texts can be read. */
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

/* Returns the processor time, which a busy machine hardly lengthens. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void damage_program(const char *name, unsigned rounds)
{
    struct calls calls;
    struct elf_file f;
    char *whole;
    size_t len;
    double slowest = 0;
    programs_run(programs_path(name), &calls);
    struct symbol_module m = programs_module(programs_path(name), &f);
    assert_int_equal(file_read_all(programs_path(name), 1 << 26, &whole, &len, NULL), 0);
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

/* A section that is no debug section unpacks to far more than there is room for: room is made only
 * for debug sections. */
TEST(test_a_note_that_unpacks_to_much)
{
    enum { SIZE = 64 << 20 };
    struct calls calls;
    struct elf_file f;
    char *data, *plain = mem_alloc(SIZE);
    size_t len, changed = 0;
    uLongf packed = compressBound(SIZE);
    Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = SIZE, .ch_addralign = 1};
    programs_run(programs_path("cc-packed"), &calls);
    struct symbol_module m = programs_module(programs_path("cc-packed"), &f);
    assert_int_equal(file_read_all(programs_path("cc-packed"), 1 << 26, &data, &len, NULL), 0);
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

/* Looks up addresses all over this test's own code. */
TEST(test_speed)
{
    enum { ADDRESSES = 10000 };
    struct symbolizer *s;
    struct elf_file f;
    const struct symbol_level *levels;
    size_t count, lines = 0;
    struct symbol_module m = programs_module("/proc/self/exe", &f);
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
        cmocka_unit_test_setup_teardown(test_damage, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_a_note_that_unpacks_to_much, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test_setup_teardown(test_speed, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

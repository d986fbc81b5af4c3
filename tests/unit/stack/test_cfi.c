/* test_cfi.c - tests call frame programs: made here, of real libraries, and damaged. */
#include "stack/native/cfi.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { CODE = 0x4000, CODE_SIZE = 0x400, ROOM = 4096 };

/* Holds a table with one function, as a linker lays it out. */
struct table {
    uint8_t *bytes; /* ROOM of them, followed by a page that is not mapped */
    size_t n, frames;
    struct module m;
};

static void put(struct table *t, const void *bytes, size_t n)
{
    assert_true(t->n + n <= ROOM);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

static void put4(struct table *t, int32_t v)
{
    put(t, &v, 4);
}

static uintptr_t code(const struct table *t)
{
    return (uintptr_t)t->bytes + CODE;
}

/* Makes a header, a CIE (CFA = rsp + 8, return address at CFA - 8), an FDE with this program. */
static void table_make(struct table *t, const char *augmentation, const uint8_t *program, size_t n)
{
    static const uint8_t hdr[] = {1, 0x1b, 0x03, 0x3b};
    uint8_t *page =
        mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(mprotect(page + ROOM, ROOM, PROT_NONE), 0);
    *t = (struct table){.bytes = page};
    put(t, hdr, 4);
    put4(t, 20 - 4); /* .eh_frame, relative to here */
    put4(t, 1);
    put4(t, CODE);
    size_t fde_at = t->n;
    put4(t, 0);

    t->frames = t->n;
    size_t cie = t->n, names = strlen(augmentation) + 1;
    put4(t, 0); /* length, written below */
    put4(t, 0);
    put(t, "\1", 1);
    put(t, augmentation, names);
    put(t, "\1\x78\x10", 3); /* factors 1 and -8, column 16 */
    put(t, "\1\x1b", 2);     /* pointers: pcrel sdata4 */
    put(t, "\x0c\x07\x08\x90\x01", 5);
    while ((t->n - cie) % 8 != 4)
        put(t, "\0", 1);
    int32_t length = (int32_t)(t->n - cie - 4);
    memcpy(t->bytes + cie, &length, 4);

    int32_t fde = (int32_t)t->n;
    memcpy(t->bytes + fde_at, &fde, 4);
    put4(t, 0);
    put4(t, fde + 4 - (int32_t)cie);
    put4(t, CODE - (int32_t)t->n);
    put4(t, CODE_SIZE);
    put(t, "\0", 1);
    put(t, program, n);
    length = (int32_t)(t->n - (size_t)fde - 4);
    memcpy(t->bytes + fde, &length, 4);
    t->m.eh_hdr = t->m.pub.begin = (uintptr_t)t->bytes;
    t->m.eh_end = (uintptr_t)t->bytes + t->n;
    t->m.pub.end = code(t) + CODE_SIZE;
}

static void table_free(struct table *t)
{
    munmap(t->bytes, 2 * ROOM);
}

static struct cfi_row row_at(struct table *t, size_t at)
{
    struct cfi_row row;
    if (!cfi_find(&t->m, code(t) + at, &row))
        fail_msg("no row at %zu", at);
    return row;
}

static void expect_cfa(struct table *t, size_t at, int reg, int64_t offset, bool load)
{
    struct cfi_row row = row_at(t, at);
    if (row.cfa.reg != reg || row.cfa.offset != offset || row.cfa.load != load)
        fail_msg("at %zu: CFA is %d %+ld %d", at, row.cfa.reg, (long)row.cfa.offset, row.cfa.load);
}

static void expect_saved(struct table *t, size_t at, int reg, int base, int64_t offset)
{
    struct cfi_row row = row_at(t, at);
    struct cfi_place p = row.reg[reg];
    if (p.rule != CFI_AT || p.value.reg != base || p.value.offset != offset || p.value.load)
        fail_msg("at %zu: register %d is %d: %d %+ld", at, reg, p.rule, p.value.reg,
                 (long)p.value.offset);
}

TEST(test_pushes_and_epilogues)
{
    /* clang-format off */
    static const uint8_t program[] = {
        0x41, 0x0e, 16, 0x86, 2,               /* +1: push rbp */
        0x43, 0x0d, 6,                         /* +4: mov rbp, rsp */
        0x02, 0x10, 0x83, 3,                   /* +20: rbx saved */
        0x0a,                                  /* remember */
        0x03, 0x00, 0x01, 0xc6, 0x0c, 7, 8,    /* +276: leave, restored */
        0x41, 0x0b,                            /* +277: as remembered */
        0x04, 0x40, 0, 0, 0, 0x07, 3, 0x08, 6, /* +341: rbx undefined, rbp the same */
    };
    /* clang-format on */
    struct table t;
    table_make(&t, "zR", program, sizeof program);
    expect_cfa(&t, 0, 7, 8, false);
    expect_saved(&t, 0, 16, CFI_CFA, -8);
    assert_int_equal(row_at(&t, 0).reg[6].rule, CFI_SAME);
    expect_cfa(&t, 1, 7, 16, false);
    expect_cfa(&t, 3, 7, 16, false);
    expect_saved(&t, 3, 6, CFI_CFA, -16);
    expect_cfa(&t, 4, 6, 16, false);
    assert_int_equal(row_at(&t, 19).reg[3].rule, CFI_SAME);
    expect_saved(&t, 20, 3, CFI_CFA, -24);
    expect_cfa(&t, 275, 6, 16, false);
    expect_cfa(&t, 276, 7, 8, false);
    assert_int_equal(row_at(&t, 276).reg[6].rule, CFI_SAME);
    expect_cfa(&t, 277, 6, 16, false);
    expect_saved(&t, 277, 6, CFI_CFA, -16);
    assert_int_equal(row_at(&t, 341).reg[3].rule, CFI_UNDEFINED);
    assert_int_equal(row_at(&t, CODE_SIZE - 1).reg[6].rule, CFI_SAME);
    struct cfi_row none;
    assert_false(cfi_find(&t.m, code(&t) - 1, &none));
    assert_false(cfi_find(&t.m, code(&t) + CODE_SIZE, &none));
    uintptr_t begin, end;
    assert_true(cfi_range(&t.m, code(&t) + 5, &begin, &end));
    assert_int_equal(begin, code(&t));
    assert_int_equal(end, code(&t) + CODE_SIZE);
    table_free(&t);
}

TEST(test_expressions)
{
    /* clang-format off */
    static const uint8_t program[] = {
        /* +1: like a realigned frame: the CFA is stored at rbp - 16, rbp at rbp + 0 */
        0x41, 0x0f, 3, 0x76, 0x70, 0x06, 0x10, 6, 2, 0x76, 0,
        /* +2: like a PLT: rsp + 8, and 8 more from the 11th byte of 16 on */
        0x41, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
        /* +40: like a signal: the CFA is stored at rsp + 160, the return address at rsp + 168 */
        0x66, 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1,
        /* +41: with a number after the load; rbx is 32 below the CFA itself */
        0x41, 0x0f, 5, 0x77, 0x28, 0x06, 0x23, 8, 0x16, 3, 2, 0x08, 0x20,
        /* +42: not supported: two loads; a register that nobody needs */
        0x41, 0x10, 12, 4, 0x77, 0, 0x06, 0x06,
    };
    /* clang-format on */
    struct table t;
    table_make(&t, "zR", program, sizeof program);
    expect_cfa(&t, 1, 6, -16, true);
    expect_saved(&t, 1, 6, 6, 0);
    uintptr_t phase = code(&t) & 15;
    for (size_t at = 2; at < 40; at++)
        expect_cfa(&t, at, 7, ((phase + at) & 15) >= 11 ? 16 : 8, false);
    expect_cfa(&t, 40, 7, 160, true);
    expect_saved(&t, 40, 16, 7, 168);
    expect_cfa(&t, 41, 7, 40, true);
    assert_int_equal(row_at(&t, 41).cfa.after, 8);
    assert_int_equal(row_at(&t, 41).reg[3].rule, CFI_IS);
    assert_int_equal(row_at(&t, 42).reg[12].rule, CFI_UNDEFINED);
    table_free(&t);
}

TEST(test_signal_frames_and_outermost_ones)
{
    static const uint8_t program[] = {0x07, 16};
    struct table t;
    table_make(&t, "zRS", program, sizeof program);
    assert_true(row_at(&t, 0).signal);
    assert_int_equal(row_at(&t, 0).reg[16].rule, CFI_UNDEFINED);
    table_free(&t);
}

TEST(test_programs_that_are_refused)
{
    static const struct {
        const char *why;
        uint8_t program[12];
        size_t n;
    } rows[] = {
        {"an operation that does not exist", {0x3f}, 1},
        {"restored without having been saved", {0x0b}, 1},
        {"saved too deep", {0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a}, 10},
        {"a CFA in no register", {0x0c, 40, 8}, 3},
        {"an expression longer than the program", {0x0f, 99, 0x77, 8}, 4},
        {"an empty expression", {0x0f, 0}, 2},
        {"an expression beyond us", {0x0f, 5, 0x77, 0, 0x06, 0x06, 0x06}, 7},
        {"two registers added", {0x0f, 5, 0x77, 0, 0x76, 0, 0x22}, 7},
        {"a number cut off", {0x0e, 0x80}, 2},
        {"an advance cut off", {0x04, 1, 0}, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct table t;
        struct cfi_row row;
        table_make(&t, "zR", rows[i].program, rows[i].n);
        if (cfi_find(&t.m, code(&t) + 1, &row))
            fail_msg("%s is accepted", rows[i].why);
        table_free(&t);
    }
}

TEST(test_damage_gives_no_fault)
{
    static const uint8_t program[] = {0x41, 0x0e, 16, 0x86, 2,    0x43, 0x0d, 6,    0x0a, 0x44,
                                      0x0c, 7,    8,  0x0b, 0x0f, 3,    0x76, 0x70, 0x06};
    struct table t;
    unsigned seed = 5;
    size_t rows = 0, damaged = 200000;
    table_make(&t, "zR", program, sizeof program);
    uint8_t whole[512];
    assert_true(t.n < sizeof whole);
    memcpy(whole, t.bytes, t.n);
    for (size_t i = 0; i < damaged; i++) {
        /* The table ends where the mapping ends, so that a read beyond it faults. */
        uint8_t *at = t.bytes + ROOM - t.n;
        memcpy(at, whole, t.n);
        for (int k = rand_r(&seed) % 4; k >= 0; k--)
            at[(size_t)rand_r(&seed) % t.n] = (uint8_t)rand_r(&seed);
        struct module m = t.m;
        size_t cut = rand_r(&seed) % 8 ? 0 : (size_t)rand_r(&seed) % t.n;
        m.eh_hdr = (uintptr_t)at;
        m.pub.begin = (uintptr_t)t.bytes;
        m.eh_end = (uintptr_t)at + t.n - cut;
        struct cfi_row row;
        rows += cfi_find(&m, (uintptr_t)at + CODE + (size_t)rand_r(&seed) % 40, &row);
    }
    assert_in_range(rows, 1, damaged - 1);
    table_free(&t);
}
#endif

/* Every address of libc's functions has a row; where most functions begin, it is that after a
 * call. */
TEST(test_every_function_of_libc)
{
    modules_open(false);
    const struct module *m =
        modules_get(modules_find((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
    assert_non_null(m);
    const int32_t *table = (const int32_t *)(m->eh_hdr + 12);
    uint32_t n, plain = 0, all = 0;
    memcpy(&n, (const void *)(m->eh_hdr + 8), 4);
    assert_true(n > 1000);
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t begin, end, pc = m->eh_hdr + (uintptr_t)(intptr_t)table[2 * i];
        struct cfi_row row;
        if (!cfi_range(m, pc, &begin, &end))
            fail_msg("entry %u of %u", i, n);
        assert_int_equal(begin, pc);
        if (!cfi_find(m, pc, &row))
            fail_msg("row %u of %u", i, n);
        plain += row.cfa.reg == CPU_SP && !row.cfa.load;
        for (; pc < end && pc < begin + 300; pc++, all++)
            if (!cfi_find(m, pc, &row))
                fail_msg("row %u of %u, at %lu", i, n, (unsigned long)(pc - begin));
    }
    assert_true(plain > n - n / 10); /* cold parts of functions begin with a frame */
    assert_true(all > 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_pushes_and_epilogues),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_signal_frames_and_outermost_ones),
        cmocka_unit_test(test_programs_that_are_refused),
        cmocka_unit_test(test_damage_gives_no_fault),
#endif
        cmocka_unit_test(test_every_function_of_libc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

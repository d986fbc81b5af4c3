/* test_sampling.c - tests PC sampling of AMD GPUs, without a library: how often a GPU is sampled,
 * and which function of a code object an instruction is in. */
#include "backend/amd/trace/elf_functions.h"
#include "backend/amd/trace/sampling_choice.h"
#include "base/alloc.h"
#include "tests/test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how often ------------------------------------------------------------------------ */

TEST(intervals)
{
    static const struct rocp_sampling trap = {40, ROCP_HOST_TRAP, ROCP_TIME, 1, 1 << 20, 0},
                                      stopped = {40,  ROCP_STOCHASTIC,   ROCP_CYCLES,
                                                 256, UINT64_C(1) << 31, ROCP_POWER_OF_TWO};
    static const struct {
        const struct rocp_sampling *offer;
        int64_t units, mhz;
        unsigned period;
        uint64_t interval;
    } cases[] = {
        {&stopped, 304, 2100, 0, 1 << 22},  /* 152 000 samples a second; twice that is too many */
        {&stopped, 104, 1700, 0, 1 << 20},  /* 168 600 a second */
        {&stopped, 104, 1700, 16, 1 << 16}, /* the requested interval */
        {&stopped, 104, 1700, 5, 256},      /* the offer's least */
        {&trap, 104, 1700, 20, 616},        /* 2^20 cycles at 1.7 GHz, us */
        {&trap, 104, 1700, 5, 1},
        {&trap, 104, CELL_NULL, 20, 1048}, /* 1 GHz if no clock is known */
        {&trap, 104, 1700, 31, 1 << 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct agent a = {.row = {.sm_count = cases[i].units, .clock_max_sm = cases[i].mhz}};
        assert_int_equal(sampling_choice_interval(cases[i].offer, &a, cases[i].period),
                         cases[i].interval);
    }
}

/* Bounds that are no powers of two, and an offer of one interval. */
TEST(powers_within_bounds)
{
    struct agent a = {.row = {.sm_count = 104, .clock_max_sm = 1700}};
    struct rocp_sampling odd = {40, ROCP_STOCHASTIC, ROCP_CYCLES, 300, 1000, ROCP_POWER_OF_TWO};
    assert_int_equal(sampling_choice_interval(&odd, &a, 5), 512);
    assert_int_equal(sampling_choice_interval(&odd, &a, 20), 512);
    struct rocp_sampling one = {40, ROCP_HOST_TRAP, ROCP_TIME, 777, 777, 0};
    assert_int_equal(sampling_choice_interval(&one, &a, 20), 777);
}

/* ---- functions ------------------------------------------------------------------------ */

enum { FIRST = 0x1700, SECOND = 0x1800, FIRST_SIZE = 168, SECOND_SIZE = 108 };

/* Describes an ELF file with two functions, an object, a function of another file, and one without
 * a name. */
struct file {
    Elf64_Ehdr head;
    Elf64_Shdr sections[3];
    Elf64_Sym symbols[6];
    char names[32];
};

static Elf64_Sym symbol(uint32_t name, int type, uint16_t section, uint64_t value, uint64_t size)
{
    return (Elf64_Sym){.st_name = name,
                       .st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
                       .st_shndx = section,
                       .st_value = value,
                       .st_size = size};
}

static struct file make_file(uint32_t table)
{
    struct file f;
    memset(&f, 0, sizeof f);
    memcpy(f.head.e_ident, ELFMAG, SELFMAG);
    f.head.e_ident[EI_CLASS] = ELFCLASS64;
    f.head.e_shoff = offsetof(struct file, sections);
    f.head.e_shentsize = sizeof *f.sections;
    f.head.e_shnum = 3;
    f.sections[1] = (Elf64_Shdr){.sh_type = table,
                                 .sh_offset = offsetof(struct file, symbols),
                                 .sh_size = sizeof f.symbols,
                                 .sh_link = 2};
    f.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                 .sh_offset = offsetof(struct file, names),
                                 .sh_size = sizeof f.names};
    memcpy(f.names, "\0second\0first\0data", 19);
    f.symbols[1] = symbol(1, STT_FUNC, 7, SECOND, SECOND_SIZE);
    f.symbols[2] = symbol(8, STT_FUNC, 7, FIRST, FIRST_SIZE);
    f.symbols[3] = symbol(14, STT_OBJECT, 7, FIRST, 64);
    f.symbols[4] = symbol(14, STT_FUNC, SHN_UNDEF, 0x1900, 64);
    f.symbols[5] = symbol(0, STT_FUNC, 7, 0x1a00, 64);
    return f;
}

TEST(functions_by_address)
{
    static const uint32_t tables[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (int i = 0; i < 2; i++) {
        struct file f = make_file(tables[i]);
        struct elf_functions s;
        assert_int_equal(elf_functions_read(&f, sizeof f, &s), 0);
        assert_int_equal(s.count, 2);
        assert_string_equal(elf_functions_at(&s, FIRST)->name, "first");
        assert_string_equal(elf_functions_at(&s, FIRST + FIRST_SIZE - 1)->name, "first");
        assert_null(elf_functions_at(&s, FIRST + FIRST_SIZE)); /* between them */
        assert_string_equal(elf_functions_at(&s, SECOND + 4)->name, "second");
        assert_null(elf_functions_at(&s, SECOND + SECOND_SIZE));
        assert_null(elf_functions_at(&s, 0));
        elf_functions_free(&s);
    }
}

/* A file is read within its bounds, even if it is cut anywhere or any byte is wrong. */
TEST(damaged_files)
{
    struct elf_functions s;
    for (size_t size = 0; size < sizeof(struct file); size++) {
        struct file f = make_file(SHT_SYMTAB);
        void *cut = malloc(size + 1);
        memcpy(cut, &f, size);
        if (elf_functions_read(cut, size, &s) == 0)
            elf_functions_free(&s);
        free(cut);
    }
    for (size_t i = 0; i < sizeof(struct file); i++) {
        struct file f = make_file(SHT_SYMTAB), *other = malloc(sizeof f);
        memcpy(other, &f, sizeof f);
        ((unsigned char *)other)[i] ^= 0xff;
        if (elf_functions_read(other, sizeof f, &s) == 0)
            elf_functions_free(&s);
        free(other);
    }
    struct file f = make_file(SHT_RELA);
    assert_int_equal(elf_functions_read(&f, sizeof f, &s), GPUFL_E_CORRUPT);
    assert_null(s.items);
}

TEST(no_memory)
{
    struct file f = make_file(SHT_SYMTAB);
    struct elf_functions s;
    for (int64_t n = 0; n < 3; n++) {
        mem_fail_at(n);
        int rc = elf_functions_read(&f, sizeof f, &s);
        mem_fail_at(-1);
        assert_int_equal(rc, GPUFL_E_NOMEM);
        assert_null(s.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals),
        cmocka_unit_test(powers_within_bounds),
        cmocka_unit_test(functions_by_address),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

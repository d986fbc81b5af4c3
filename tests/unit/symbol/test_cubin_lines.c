/* test_cubin_lines.c - tests lines of the cubin that nvcc of CUDA 13.0 wrote for
 * examples/cuda/train_loop.cu, also damaged. tests/e2e/lines_without_nvdisasm.py compares every
 * instruction with nvdisasm. */
#include "symbol/cubin/lines.h"
#include "symbol/device/symbols.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <elf.h>
#include <glob.h>

#define IN_FILE "_ZN42_GLOBAL__N__0867aadc_13_train_loop_cu_main"

enum { MATMUL, SQUARED_ERROR, DIVISION, FUNCTIONS };

static const char *const names[FUNCTIONS] = {
    IN_FILE "6matmulILb0ELb1EEEvPKfS2_Pfiii", IN_FILE "13squared_errorEPKfS1_PfS2_i",
    "$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath", /* after the one before, without lines */
};

static char *cubin; /* owned: its bytes */
static size_t cubin_size;
static uint32_t numbers[FUNCTIONS];

static int read_cubin(void **state)
{
    char path[PATH_MAX];
    glob_t found;
    struct err e = {0};
    struct code_symbols symbols;
    snprintf(path, sizeof path, "%s/examples/data/train_loop_engines/2-PcSampling/*/*.cubin",
             getenv("GPUFL_SOURCE_DIR"));
    if (glob(path, 0, NULL, &found) || tmpdir_open(state))
        return -1;
    FILE *f = fopen(found.gl_pathv[0], "re");
    cubin = malloc(1 << 20);
    cubin_size = f && cubin ? fread(cubin, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    if (code_symbols_open(&symbols, found.gl_pathv[0], &e))
        return -1;
    for (size_t i = 0; i < FUNCTIONS; i++)
        numbers[i] = code_symbols_find(&symbols, names[i]);
    code_symbols_close(&symbols);
    globfree(&found);
    return cubin_size ? 0 : -1;
}

static int detach(void **state)
{
    free(cubin);
    return tmpdir_close(state);
}

struct reported {
    size_t all, of[FUNCTIONS];
    const char *asked; /* the function whose places are kept */
    uint64_t offset;
    char places[512];
};

static void on_instruction(void *arg, const struct disassembled *d)
{
    struct reported *t = arg;
    size_t len = 0;
    t->all++;
    assert_string_equal(d->text, "");
    assert_true(d->place_count > 0);
    for (size_t i = 0; i < FUNCTIONS; i++)
        t->of[i] += strcmp(d->function, names[i]) == 0;
    if (!t->asked || strcmp(d->function, t->asked) || d->offset != t->offset)
        return;
    for (size_t i = 0; i < d->place_count && len < sizeof t->places; i++)
        len += (size_t)snprintf(t->places + len, sizeof t->places - len, "%s%s:%d", i ? " < " : "",
                                strrchr(d->places[i].file, '/') + 1, (int)d->places[i].line);
}

static int lines_of(const char *bytes, size_t size, struct reported *t)
{
    struct err e = {0};
    return cubin_lines(tmpdir_write("x.cubin", bytes, size), numbers, FUNCTIONS, on_instruction, t,
                       &e);
}

TEST(test_places)
{
    static const struct {
        int function;
        uint64_t offset;
        const char *places; /* innermost first */
    } cases[] = {
        {MATMUL, 0x0, "train_loop.cu:42"},
        {MATMUL, 0x10, "train_loop.cu:47"},
        {MATMUL, 0x20, "train_loop.cu:45"},
        {MATMUL, 0x30, "train_loop.cu:45"}, /* it has no entry of its own */
        {SQUARED_ERROR, 0x4d0, "sm_20_atomic_functions.hpp:84 < train_loop.cu:92"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reported t = {.asked = names[cases[i].function], .offset = cases[i].offset};
        assert_int_equal(lines_of(cubin, cubin_size, &t), 0);
        assert_string_equal(t.places, cases[i].places);
        assert_int_equal(t.of[MATMUL], 120);
        assert_int_equal(t.of[SQUARED_ERROR], 0x520 / 16);
        assert_int_equal(t.of[DIVISION], 0);
    }
}

/* A file that is cut anywhere, or has wrong bytes anywhere, ends with a result. A cut file has no
 * more instructions than it has bytes for. */
TEST(test_damaged)
{
    char *bytes = malloc(cubin_size);
    unsigned random = 1;
    assert_non_null(bytes);
    for (size_t size = 0; size < cubin_size; size += 997) {
        struct reported t = {0};
        lines_of(cubin, size, &t);
        assert_true(t.all <= cubin_size / 16 * FUNCTIONS);
    }
    for (int i = 0; i < 400; i++) {
        struct reported t = {0};
        memcpy(bytes, cubin, cubin_size);
        for (int k = 0; k < 1 << i % 8;
             k++) { /* most of them at the beginning, in names and lines */
            random = random * 1103515245 + 12345;
            size_t at = (random >> 8) % (i % 2 ? cubin_size : 0x2000);
            bytes[at] = (char)(random >> 3);
        }
        lines_of(bytes, cubin_size, &t);
    }
    free(bytes);
}

/* ---- files that are made to take long -------------------------------------------------------- */

static Elf64_Shdr *section_of(char *bytes, const char *name)
{
    Elf64_Ehdr head;
    memcpy(&head, bytes, sizeof head);
    Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + head.e_shoff); /* 8-aligned there */
    const char *texts = bytes + sections[head.e_shstrndx].sh_offset;
    for (size_t i = 0; i < head.e_shnum; i++)
        if (!strcmp(texts + sections[i].sh_name, name))
            return &sections[i];
    fail_msg("no section %s", name);
    return NULL;
}

/* Functions at the end of the address space. */
TEST(test_far_symbols)
{
    char *bytes = malloc(cubin_size);
    struct reported t = {0};
    assert_non_null(bytes);
    memcpy(bytes, cubin, cubin_size);
    const Elf64_Shdr *s = section_of(bytes, ".symtab");
    Elf64_Sym *symbols = (Elf64_Sym *)(bytes + s->sh_offset);
    for (size_t i = 0; i < s->sh_size / sizeof *symbols; i++) {
        symbols[i].st_value = UINT64_MAX - 15;
        symbols[i].st_size = 15;
    }
    assert_int_equal(lines_of(bytes, cubin_size, &t), 0);
    assert_int_equal(t.all, 0);
    free(bytes);
}

/* Very many sequences, each of which covers all of a function. */
TEST(test_many_sequences)
{
    enum { SEQUENCES = 50000, HEADER = 164, ONE = 11 + 1 + 6 + 3 };
    static const unsigned char end[] = {1 /* copy */, 2, 0xff, 0xff, 0xff, 0xff, 0xf, 0, 1, 1};
    size_t lines = HEADER + (size_t)SEQUENCES * ONE, relocations = SEQUENCES * sizeof(Elf64_Rela);
    size_t at = (cubin_size + 15) / 16 * 16, place = at + (lines + 15) / 16 * 16;
    char *bytes = calloc(1, place + relocations);
    struct reported t = {0};
    assert_non_null(bytes);
    memcpy(bytes, cubin, cubin_size);
    Elf64_Shdr *table = section_of(bytes, ".debug_line");
    Elf64_Shdr *relocated = section_of(bytes, ".rela.debug_line");
    const Elf64_Rela first = *(const Elf64_Rela *)(bytes + relocated->sh_offset);
    memcpy(bytes + at, cubin + table->sh_offset, HEADER); /* its directories and files */
    uint32_t length = (uint32_t)lines - 4;
    memcpy(bytes + at, &length, sizeof length);
    for (size_t i = 0; i < SEQUENCES; i++) {
        char *p = bytes + at + HEADER + i * ONE;
        memcpy(p, "\0\11\2", 3); /* set address */
        memcpy(p + 11, end, sizeof end);
        Elf64_Rela r = first;
        r.r_offset = HEADER + i * ONE + 3;
        memcpy(bytes + place + i * sizeof r, &r, sizeof r);
    }
    table->sh_offset = at;
    table->sh_size = lines;
    relocated->sh_offset = place;
    relocated->sh_size = relocations;
    assert_int_equal(lines_of(bytes, place + relocations, &t), GPUFL_E_CORRUPT);
    assert_in_range(t.all, 1, 100000);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_far_symbols),
        cmocka_unit_test(test_many_sequences),
    };
    return cmocka_run_group_tests(tests, read_cubin, detach);
}

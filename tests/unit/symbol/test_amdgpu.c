/* test_amdgpu.c - instructions and lines of real code objects of AMD GPUs, read with the installed
 * llvm-objdump; and an llvm-objdump that crashes, is too old, or is missing. */
#include "backend/vendor.h"
#include "base/clock.h"
#include "symbol/amdgpu/disassemble.h"
#include "symbol/code_reader.h"
#include "symbol/device/disassembler.h"
#include "symbol/device/symbols.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>

extern const struct vendor vendor_amd;

#define LATE   (clock_mono() + 60 * INT64_C(1000000000))
#define SOURCE "kernels.hip.c"

static const char GEMM[] = "_Z9fake_gemmPfS_S_i", RELU[] = "_Z9fake_reluPfi";

/* Counts what was reported of a function, and which lines of the source were seen. */
struct reported {
    const char *function;
    size_t count, with_text, at_product, in_leaky, ends;
    uint64_t last, size;
    bool ordered, inside, multiplies;
};

static int line_of(const char *mark)
{
    char path[PATH_MAX], line[512];
    int number = 0;
    snprintf(path, sizeof path, "%s/tests/symbol/" SOURCE, getenv("GPUFL_SOURCE_DIR"));
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        number++;
        if (strstr(line, mark)) {
            fclose(f);
            return number;
        }
    }
    fail_msg("no line has %s", mark);
    return 0;
}

static bool is_at(const struct disassembled_place *p, const char *mark)
{
    const char *slash = strrchr(p->file, '/');
    return slash && !strcmp(slash + 1, SOURCE) && p->line == line_of(mark);
}

static void take(void *arg, const struct disassembled *d)
{
    struct reported *t = arg;
    if (strcmp(d->function, t->function) != 0)
        return;
    t->ordered &= !t->count || d->offset > t->last;
    t->inside &= d->offset < t->size;
    t->last = d->offset;
    t->count++;
    t->with_text += *d->text != '\0';
    t->multiplies |= strstr(d->text, "v_mul") || strstr(d->text, "v_fma");
    t->ends += strstr(d->text, "s_endpgm") != NULL;
    t->at_product += d->place_count == 1 && is_at(&d->places[0], "/* the product */");
    t->in_leaky += d->place_count == 2 && is_at(&d->places[0], "/* inlined here */") &&
                   is_at(&d->places[1], "/* calls leaky */");
}

static const char *object_of(const char *target)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tests/amdgpu/%s.hsaco", getenv("GPUFL_BINARY_DIR"), target);
    return path;
}

/* Returns false, with a message, if the compiler is not installed. */
static bool have_objects(void)
{
    if (access(object_of("gfx1100"), R_OK) == 0)
        return true;
    print_message("no clang for AMD GPUs is installed (clang-16, lld-16): not tested\n");
    return false;
}

static uint32_t number_of(const char *file, const char *name, uint64_t *size)
{
    struct code_symbols s;
    struct err e = {0};
    Elf64_Sym symbol = {0};
    assert_int_equal(code_symbols_open(&s, file, &e), 0);
    uint32_t number = code_symbols_find(&s, name);
    assert_true(number);
    assert_string_equal(code_symbols_at(&s, number, &symbol), name);
    assert_null(code_symbols_at(&s, 1 << 20, &symbol));
    code_symbols_at(&s, number, &symbol);
    *size = symbol.st_size;
    code_symbols_close(&s);
    return number;
}

static int run(const char *program, const char *file, const char *function, struct reported *t,
               struct err *e)
{
    *t = (struct reported){.function = function, .ordered = true, .inside = true};
    const uint32_t number = number_of(file, function, &t->size);
    const struct disassemble_request q = {file, &number, 1,
                                          take, t,       vendor_amd.disassembler.advice};
    return program ? amdgpu_disassemble(program, &q, LATE, e) : amdgpu_lines(&q, LATE, e);
}

static void check_text(const struct reported *t)
{
    assert_true(t->count > 8);
    assert_int_equal(t->with_text, t->count);
    assert_true(t->ordered && t->inside && t->multiplies);
    assert_true(t->ends > 0); /* the end is there, the padding after it is not */
}

TEST(instructions_and_lines)
{
    static const char *const targets[] = {"gfx90a", "gfx1100"};
    char program[PATH_MAX];
    struct err e = {0};
    struct reported t;
    if (!have_objects())
        skip();
    assert_int_equal(disassembler_find(&vendor_amd.disassembler, program, sizeof program, &e), 0);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_int_equal(run(program, object_of(targets[i]), GEMM, &t, &e), 0);
        check_text(&t);
        assert_true(t.at_product > 0);
        assert_int_equal(run(program, object_of(targets[i]), RELU, &t, &e), 0);
        check_text(&t);
        assert_true(t.in_leaky > 0); /* the inlined call has both places */
    }
}

/* Without llvm-objdump there are only lines, at the instructions where they begin. */
TEST(lines_alone)
{
    struct err e = {0};
    struct reported t;
    if (!have_objects())
        skip();
    assert_int_equal(run(NULL, object_of("gfx1100"), GEMM, &t, &e), 0);
    assert_true(t.at_product > 0 && t.ordered && t.inside && !t.with_text);
    assert_int_equal(run(NULL, object_of("gfx90a"), RELU, &t, &e), 0);
    assert_true(t.in_leaky > 0);
}

static const char *script(const char *name, const char *body)
{
    static char path[PATH_MAX];
    char whole[4096];
    int n = snprintf(whole, sizeof whole, "#!/bin/sh\n%s\n", body);
    snprintf(path, sizeof path, "%s", tmpdir_write(name, whole, (size_t)n));
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* A program may crash, as LLVM 14's does on gfx1100, or not know the target. */
TEST(programs_that_fail)
{
    struct err e = {0};
    struct reported t;
    if (!have_objects())
        skip();
    const char *old = "/usr/bin/llvm-objdump-14";
    const char *crashing =
        access(old, X_OK) == 0 ? old : script("llvm-objdump-14", "kill -SEGV $$");
    assert_int_equal(run(crashing, object_of("gfx1100"), GEMM, &t, &e), GPUFL_E_CORRUPT);
    assert_non_null(strstr(e.text, "llvm-objdump-14 crashes (signal"));
    assert_non_null(strstr(e.text, "too old for its GPU: install a newer one"));
    assert_int_equal(run(script("llvm-objdump-9", "exit 1"), object_of("gfx90a"), GEMM, &t, &e),
                     GPUFL_E_CORRUPT);
    assert_non_null(strstr(e.text, "llvm-objdump-9 cannot read gfx90a.hsaco"));
    assert_int_equal(
        run(script("llvm-objdump-9", "kill -KILL $$"), object_of("gfx90a"), GEMM, &t, &e),
        GPUFL_E_IO);
    assert_string_equal(e.text, "llvm-objdump-9 was killed (signal 9) while it read gfx90a.hsaco: "
                                "the machine may be short of memory");
    assert_int_equal(t.count, 0);
}

/* A toolkit's program comes first, then the highest version, then a name without a number. A
 * variable may name another program. */
TEST(the_newest_is_taken)
{
    char path[PATH_MAX], before[PATH_MAX], toolkits[PATH_MAX];
    struct err e = {0};
    struct vendor_disassembler here = vendor_amd.disassembler;
    snprintf(toolkits, sizeof toolkits, "%s", tmpdir_path("rocm*"));
    here.toolkits = toolkits; /* not the toolkits of this machine */
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    setenv("PATH", tmpdir, 1);
    setenv("ROCM_PATH", tmpdir, 1);
    script("llvm-objdump", "");
    remove(tmpdir_path("llvm-objdump-9"));
    remove(tmpdir_path("llvm-objdump-14"));
    assert_int_equal(disassembler_find(&here, path, sizeof path, &e), 0);
    assert_string_equal(path, tmpdir_path("llvm-objdump"));
    script("llvm-objdump-9", "");
    script("llvm-objdump-16", "");
    script("llvm-objdump-9x", "");
    script("llvm-objdump-14", "");
    assert_int_equal(disassembler_find(&here, path, sizeof path, &e), 0);
    assert_string_equal(path, tmpdir_path("llvm-objdump-16"));
    mkdir(tmpdir_path("llvm"), 0755);
    mkdir(tmpdir_path("llvm/bin"), 0755);
    script("llvm/bin/llvm-objdump", "");
    assert_int_equal(disassembler_find(&here, path, sizeof path, &e), 0);
    assert_string_equal(path, tmpdir_path("llvm/bin/llvm-objdump"));
    unsetenv("ROCM_PATH"); /* without it the vendor's usual folders are searched */
    mkdir(tmpdir_path("rocm-9.9"), 0755);
    mkdir(tmpdir_path("rocm-9.9/llvm"), 0755);
    mkdir(tmpdir_path("rocm-9.9/llvm/bin"), 0755);
    script("rocm-9.9/llvm/bin/llvm-objdump", "");
    assert_int_equal(disassembler_find(&here, path, sizeof path, &e), 0);
    assert_string_equal(path, tmpdir_path("rocm-9.9/llvm/bin/llvm-objdump"));
    setenv("GPUFL_LLVM_OBJDUMP", script("mine", ""), 1);
    assert_int_equal(disassembler_find(&here, path, sizeof path, &e), 0);
    assert_string_equal(path, tmpdir_path("mine"));
    setenv("GPUFL_LLVM_OBJDUMP", "/nowhere", 1);
    assert_int_equal(disassembler_find(&here, path, sizeof path, &e), GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "GPUFL_LLVM_OBJDUMP=/nowhere cannot be run"));
    unsetenv("GPUFL_LLVM_OBJDUMP");
    setenv("PATH", before, 1);
}

static size_t read_object(char *bytes, size_t room)
{
    FILE *f = fopen(object_of("gfx90a"), "re");
    assert_non_null(f);
    size_t size = fread(bytes, 1, room, f);
    fclose(f);
    return size;
}

/* Sets the length of all functions in an object. */
static void stretch(char *bytes, size_t size, uint64_t length)
{
    Elf64_Ehdr head;
    Elf64_Shdr section;
    Elf64_Sym symbol;
    size_t changed = 0;
    memcpy(&head, bytes, sizeof head);
    for (size_t i = 0; i < head.e_shnum; i++) {
        memcpy(&section, bytes + head.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM)
            continue;
        for (size_t at = section.sh_offset; at < section.sh_offset + section.sh_size;
             at += sizeof symbol) {
            assert_true(at + sizeof symbol <= size);
            memcpy(&symbol, bytes + at, sizeof symbol);
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
                continue;
            symbol.st_size = length;
            memcpy(bytes + at, &symbol, sizeof symbol);
            changed++;
        }
    }
    assert_true(changed > 0);
}

/* A function that is longer than its file is not read to its end; earlier lines are kept. A
 * deadline that has passed ends the reading, too. */
TEST(functions_longer_than_the_file)
{
    static char bytes[1 << 20];
    struct err e = {0};
    struct reported t;
    if (!have_objects())
        skip();
    size_t size = read_object(bytes, sizeof bytes);
    stretch(bytes, size, UINT64_C(1) << 40);
    const char *path = tmpdir_write("long.hsaco", bytes, size);
    assert_int_equal(run(NULL, path, GEMM, &t, &e), GPUFL_E_CORRUPT);
    assert_non_null(strstr(e.text, "long.hsaco is damaged: its functions are longer than"));
    assert_true(t.at_product > 0);
    const uint32_t number = number_of(path, GEMM, &t.size);
    const struct disassemble_request q = {path, &number, 1, take, &t, ""};
    assert_int_equal(amdgpu_lines(&q, clock_mono() - 1, &e), GPUFL_E_TIMEOUT);
    assert_non_null(strstr(e.text, "took too long"));
}

/* A program that never stops printing is ended long before the deadline. */
TEST(a_program_that_prints_without_end)
{
    struct err e = {0};
    struct reported t;
    if (!have_objects())
        skip();
    const char *program = script("llvm-objdump-99", "yes '	 v_nop // 00000000: 0'");
    assert_int_equal(run(program, object_of("gfx90a"), GEMM, &t, &e), GPUFL_E_CORRUPT);
    assert_non_null(strstr(e.text, "llvm-objdump-99 prints more for gfx90a.hsaco than"));
}

/* A damaged object is an error, or has fewer lines. */
TEST(damaged)
{
    static char bytes[1 << 20];
    struct err e = {0};
    struct reported t = {.function = GEMM};
    const uint32_t number = 1;
    struct disassemble_request q = {NULL, &number, 1, take, &t, ""};
    if (!have_objects())
        skip();
    size_t size = read_object(bytes, sizeof bytes);
    for (size_t cut = 0; cut < size; cut += size / 61 + 1) {
        q.file = tmpdir_write("cut.hsaco", bytes, cut);
        (void)amdgpu_lines(&q, LATE, &e);
        bytes[cut] ^= 0x55;
        q.file = tmpdir_write("changed.hsaco", bytes, size);
        (void)amdgpu_lines(&q, LATE, &e);
        bytes[cut] ^= 0x55;
    }
}

TEST(vendors_by_ending)
{
    size_t stem = 0;
    assert_ptr_equal(code_reader_vendor("0123.hsaco", &stem), &vendor_amd);
    assert_int_equal(stem, 4);
    assert_string_equal(code_reader_vendor("ab.cubin", NULL)->name, "nvidia");
    assert_null(code_reader_vendor(".hsaco", NULL));
    assert_null(code_reader_vendor("ab.cubin.x", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_and_lines),
        cmocka_unit_test(lines_alone),
        cmocka_unit_test(programs_that_fail),
        cmocka_unit_test(the_newest_is_taken),
        cmocka_unit_test(functions_longer_than_the_file),
        cmocka_unit_test(a_program_that_prints_without_end),
        cmocka_unit_test(damaged),
        cmocka_unit_test(vendors_by_ending),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}

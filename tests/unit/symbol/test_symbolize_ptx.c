/* test_symbolize_ptx.c - PTX in a kept cubin becomes a source with its function's name. */
#include "tests/test.h"
#include "tests/unit/support/symbolize_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_FUNCTION = 50, NAME_CUBIN };

static const char ptx[] = "\0.version 9.0\0.visible .entry _Z4workPf(\0)\0{\0ret;\0}\0";

/* Writes an ELF file of a cubin with one section. */
static void write_cubin(const char *section)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr sections[3]; /* the null section, the text, the names */
        char names[64], text[sizeof ptx];
    } file = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_EXEC,
                       .e_machine = EM_CUDA,
                       .e_shoff = offsetof(typeof(file), sections),
                       .e_shentsize = sizeof *file.sections,
                       .e_shnum = 3,
                       .e_shstrndx = 2}};
    int n = snprintf(file.names + 1, sizeof file.names - 1, "%s", section);
    file.sections[1] = (Elf64_Shdr){.sh_name = 1,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_offset = offsetof(typeof(file), text),
                                    .sh_size = sizeof ptx - 1};
    file.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                    .sh_offset = offsetof(typeof(file), names),
                                    .sh_size = (size_t)n + 2};
    memcpy(file.text, ptx, sizeof ptx);
    FILE *f = fopen(in_session("0000000000000abc.cubin"), "we");
    assert_non_null(f);
    assert_int_equal(fwrite(&file, sizeof file, 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

/* Writes a session with one function, whose code is in its directory. */
static void write_sampled(const struct how *how, const char *section)
{
    static const uint32_t ids[] = {NAME_FUNCTION, NAME_CUBIN};
    static const char *const texts[] = {"_Z4workPf", "0000000000000abc.cubin"};
    struct make_log l;
    struct code_object_row object = {.id = 1, .crc = 0xabc, .file = NAME_CUBIN};
    struct function_row function = {.id = 1, .object = 1, .name = NAME_FUNCTION, .index = 12};
    write_session(how);
    remove(in_session("code.log"));
    make_log_init(&l, SESSION);
    l.host = symbolize_fix.host;
    make_log_header(&l, "device", 1);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        size_t len = strlen(texts[i]);
        encode_names(&l.lines, &ids[i], &texts[i], &len, 1);
    }
    make_log_rows(&l, RECORD_code_object, &object, 1);
    make_log_rows(&l, RECORD_function, &function, 1);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    write_cubin(section);
}

/* Returns true if the added lines contain these words. */
static bool said(const char *words)
{
    static char text[1 << 20];
    FILE *f = fopen(in_session("code.log"), "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    return strstr(text, words) != NULL;
}

TEST(test_kept)
{
    write_sampled(&(struct how){0}, ".nv_debug_ptx_txt");
    symbolize(0);
    assert_true(said("\"_Z4workPf.ptx\""));
    assert_true(said("\".visible .entry _Z4workPf(\\n)\\n{\\nret;\\n}\""));
    int64_t size = code_size();
    symbolize(0); /* adds nothing again */
    assert_int_equal(code_size(), size);
}

TEST(test_not_kept)
{
    static const struct {
        struct how how;
        const char *section;
    } cases[] = {{{.no_sources = true}, ".nv_debug_ptx_txt"},
                 {{.running = true}, ".nv_debug_ptx_txt"},
                 {{0}, ".text._Z4workPf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_sampled(&cases[i].how, cases[i].section);
        symbolize(0);
        assert_false(said(".ptx"));
    }
}

static int without_nvdisasm(void **state)
{
    setenv("GPUFL_NVDISASM", "/nowhere", 1);
    return set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_not_kept),
    };
    return cmocka_run_group_tests(tests, without_nvdisasm, tear_down);
}

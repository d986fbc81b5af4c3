/* test_symbolize_code.c - tests device code of a session: disassembled once, after its end, with
 * the text of its source; and if nvdisasm is missing or fails, the session says so and is
 * complete. */
#include "tests/test.h"
#include "tests/unit/support/symbolize_fixture.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_FUNCTION = 50, NAME_CUBIN, NAME_ARCH };

static void put_names(struct make_log *l, const char *cubin)
{
    const uint32_t ids[] = {NAME_FUNCTION, NAME_CUBIN, NAME_ARCH};
    const char *const texts[] = {"_Z4workPf", cubin, "sm_90"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        size_t len = strlen(texts[i]);
        encode_names(&l->lines, &ids[i], &texts[i], &len, 1);
    }
}

/* Makes a cubin that has only symbols; the last one is the function's. */
static size_t make_cubin(char out[1024])
{
    static const char names[] = "\0other\0_Z4workPf\0.symtab\0.strtab";
    const Elf64_Sym symbols[] = {{0},
                                 {.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1},
                                 {.st_name = 7, .st_info = STT_OBJECT, .st_shndx = 1},
                                 {.st_name = 7, .st_info = STT_FUNC, .st_shndx = 1}};
    Elf64_Ehdr head = {.e_type = ET_EXEC, .e_machine = EM_CUDA};
    Elf64_Shdr sections[3] = {
        {0},
        {.sh_name = 17, .sh_type = SHT_SYMTAB, .sh_size = sizeof symbols, .sh_link = 2},
        {.sh_name = 25, .sh_type = SHT_STRTAB, .sh_size = sizeof names}};
    memcpy(head.e_ident, "\177ELF\2\1\1", 7);
    head.e_shoff = sizeof head;
    head.e_shentsize = sizeof *sections;
    head.e_shnum = 3;
    head.e_shstrndx = 2;
    sections[1].sh_offset = sizeof head + sizeof sections;
    sections[2].sh_offset = sections[1].sh_offset + sizeof symbols;
    memcpy(out, &head, sizeof head);
    memcpy(out + head.e_shoff, sections, sizeof sections);
    memcpy(out + sections[1].sh_offset, symbols, sizeof symbols);
    memcpy(out + sections[2].sh_offset, names, sizeof names);
    return (size_t)(sections[2].sh_offset + sizeof names);
}

static void write_cubin(size_t cut)
{
    char bytes[1024];
    size_t size = make_cubin(bytes);
    FILE *f = fopen(in_session("0000000000000abc.cubin"), "we");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size - cut, f), size - cut);
    assert_int_equal(fclose(f), 0);
}

/* Writes a session with one function, whose code is in its directory. index: its symbol's. */
static void write_sampled_as(const char *cubin, int64_t index)
{
    struct make_log l;
    struct code_object_row object = {
        .id = 1, .crc = 0xabc, .arch = NAME_ARCH, .size = 4, .file = NAME_CUBIN};
    struct function_row function = {.id = 1, .object = 1, .name = NAME_FUNCTION, .index = index};
    remove(in_session("code.log"));
    make_log_init(&l, SESSION);
    l.host = symbolize_fix.host;
    make_log_header(&l, "device", 1);
    put_names(&l, cubin);
    make_log_rows(&l, RECORD_code_object, &object, 1);
    make_log_rows(&l, RECORD_function, &function, 1);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    FILE *f = fopen(in_session("0000000000000abc.cubin"), "we");
    assert_non_null(f);
    assert_int_equal(fputs("code", f) >= 0, 1);
    assert_int_equal(fclose(f), 0);
}

static void write_sampled(const char *cubin)
{
    write_sampled_as(cubin, 12);
}

/* Makes a script that replaces nvdisasm, and notes each of its runs in a file. */
static void set_program(const char *body)
{
    char whole[4096];
    int n = snprintf(whole, sizeof whole, "#!/bin/sh\necho >> %s/runs\n%s\n", tmpdir, body);
    const char *path = tmpdir_write("nvdisasm", whole, (size_t)n);
    assert_int_equal(chmod(path, 0755), 0);
    setenv("GPUFL_NVDISASM", path, 1);
}

static long runs(void)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/runs", tmpdir);
    long count = stat(path, &st) ? 0 : (long)st.st_size;
    remove(path);
    return count;
}

static char *code_text(void)
{
    static char text[1 << 20];
    FILE *f = fopen(in_session("code.log"), "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    return text;
}

TEST(test_once)
{
    char source[256], body[4096];
    tmpdir_write("work.cu", "a\nb\nc\n", 6);
    snprintf(source, sizeof source, "%s/work.cu", tmpdir);
    snprintf(body, sizeof body,
             "printf '\\t.section\\t.text._Z4workPf,\"ax\"\\n_Z4workPf:\\n"
             "\\t//## File \"%s\", line 3\\n /*0000*/ EXIT ;\\n'",
             source);
    write_session(&(struct how){0});
    write_sampled("0000000000000abc.cubin");
    set_program(body);
    struct gpufl_symbolized s = symbolize(0);
    assert_string_equal(s.note, "");
    assert_int_equal(runs(), 1);
    const char *text = code_text();
    assert_non_null(strstr(text, "EXIT ;"));
    assert_non_null(strstr(text, "\"type\":\"instruction\""));
    assert_non_null(strstr(text, "a\\nb\\nc\\n"));
    symbolize(0);
    assert_int_equal(runs(), 0);
}

TEST(test_failing)
{
    write_session(&(struct how){0});
    write_sampled("0000000000000abc.cubin");
    set_program("exit 1");
    struct gpufl_symbolized s = symbolize(0);
    assert_non_null(strstr(s.note, "nvdisasm cannot read 0000000000000abc.cubin"));
    assert_null(strstr(code_text(), "\"type\":\"instruction\""));
    setenv("GPUFL_NVDISASM", "/nowhere", 1);
    assert_non_null(strstr(symbolize(0).note, "GPUFL_NVDISASM"));
    runs();
}

/* Checks that the report says why the function has no instructions. */
static void check_why(const char *why)
{
    struct gpufl_report_options o;
    char *text = NULL, error[512] = "", path[PATH_MAX], expected[512];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    gpufl_report_options_init(&o, sizeof o);
    o.kernel = "work";
    o.width = 1000;
    snprintf(path, sizeof path, "%s/" SESSION, tmpdir);
    snprintf(expected, sizeof expected, "No instruction of it is in the session: %s", why);
    assert_int_equal(gpufl_report(path, &o, out, error, sizeof error), 0);
    fclose(out);
    if (!strstr(text, expected))
        fail_msg("no '%s' in:\n%s", expected, text);
    free(text);
}

TEST(test_why)
{
    write_session(&(struct how){0});
    write_sampled("0000000000000abc.cubin");
    setenv("GPUFL_NVDISASM", "/nowhere", 1);
    check_why("GPUFL_NVDISASM=/nowhere cannot be run: set it to the path of nvdisasm");
    set_program("exit 1");
    check_why("nvdisasm cannot read 0000000000000abc.cubin: it is damaged");
    remove(in_session("0000000000000abc.cubin"));
    check_why("the code that was kept is not in the session's directory any more: 0");
    write_session(&(struct how){.running = true});
    write_sampled("0000000000000abc.cubin");
    check_why("the session has not ended");
    write_session(&(struct how){.host = "elsewhere"});
    check_why("the session was written on another host (elsewhere)");
    runs();
}

/* A function is looked up by its symbol's number, or by its name if the number is unknown or 0. */
TEST(test_by_name)
{
    static const struct {
        int64_t index;
        size_t cut; /* bytes that the cubin lacks */
        const char *asked, *note;
    } cases[] = {
        {0, 0, "3", ""},
        {CELL_NULL, 0, "3", ""},
        {12, 0, "12", ""},
        {0, 64, NULL, ""},                                      /* without names of symbols */
        {0, 340, NULL, "some device code has no instructions"}, /* without half of its header */
    };
    char body[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_session(&(struct how){0});
        write_sampled_as("0000000000000abc.cubin", cases[i].index);
        write_cubin(cases[i].cut);
        snprintf(body, sizeof body,
                 "printf '\\t.section\\t.text._Z4workPf,\"ax\"\\n_Z4workPf:\\n /*0000*/ EXIT %%s ;"
                 "\\n' \"$4\"");
        set_program(body);
        struct gpufl_symbolized s = symbolize(0);
        assert_non_null(strstr(s.note, cases[i].note));
        assert_int_equal(runs(), cases[i].asked != NULL);
        char expected[64];
        snprintf(expected, sizeof expected, "EXIT %s ;", cases[i].asked ? cases[i].asked : "");
        assert_true(!cases[i].asked || strstr(code_text(), expected));
    }
}

/* Only files with names like those of a capture are disassembled. */
TEST(test_names)
{
    static const char *const names[] = {"../0000000000000abc.cubin", "/etc/passwd", ".cubin", "x",
                                        "0000000000000abc.cubin/.."};
    set_program("exit 1");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_session(&(struct how){0});
        write_sampled(names[i]);
        symbolize(0);
        assert_int_equal(runs(), 0);
    }
}

/* Code is not disassembled while the program runs. */
TEST(test_running)
{
    write_session(&(struct how){.running = true});
    write_sampled("0000000000000abc.cubin");
    set_program("exit 1");
    symbolize(0);
    assert_int_equal(runs(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),  cmocka_unit_test(test_failing),
        cmocka_unit_test(test_why),   cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_names), cmocka_unit_test(test_running),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* test_symbolize_code.c - device code of a session: taken apart once, after its end, with the text
 * of its source; and where nvdisasm is missing or fails, the session says so and is whole. */
#include "symbolize_fixture.h"
#include "tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

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

/* A session with samples of one function, whose code lies beside its log. */
static void write_sampled(const char *cubin)
{
    struct make_log l;
    struct code_object_row object = {
        .id = 1, .crc = 0xabc, .arch = NAME_ARCH, .size = 4, .file = NAME_CUBIN};
    struct function_row function = {.id = 1, .object = 1, .name = NAME_FUNCTION, .index = 12};
    remove(in_session("code.log"));
    make_log_init(&l, SESSION);
    l.host = fix.host;
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

/* Stands in for nvdisasm: notes each run in a file. */
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

static void test_once(void **state)
{
    char source[256], body[4096];
    (void)state;
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

static void test_failing(void **state)
{
    (void)state;
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

/* No other file than those that a capture writes is ever opened. */
static void test_names(void **state)
{
    static const char *const names[] = {"../0000000000000abc.cubin", "/etc/passwd", ".cubin", "x",
                                        "0000000000000abc.cubin/.."};
    (void)state;
    set_program("exit 1");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_session(&(struct how){0});
        write_sampled(names[i]);
        symbolize(0);
        assert_int_equal(runs(), 0);
    }
}

/* Never beside the program. */
static void test_running(void **state)
{
    (void)state;
    write_session(&(struct how){.running = true});
    write_sampled("0000000000000abc.cubin");
    set_program("exit 1");
    symbolize(0);
    assert_int_equal(runs(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_running),
    };
    return cmocka_run_group_tests_name("symbolize_code", tests, set_up, tear_down);
}

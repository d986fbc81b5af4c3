/* test_disassemble.c - nvdisasm's text is read, and nvdisasm may be missing, fail, or never end: a
 * script replaces it. */
#include "backend/vendor.h"
#include "base/clock.h"
#include "symbol/cubin/disassemble.h"
#include "symbol/device/disassembler.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>
#include <sys/wait.h>

#define SECOND INT64_C(1000000000)

extern const struct vendor vendor_nvidia;

/* The text is CUDA 13.0's, printed with -c -gi, shortened. */
static const char text[] =
    "\t.target\tsm_90\n"
    "//--------------------- .text._Z4workPf --------------------------\n"
    "\t.section\t.text._Z4workPf,\"ax\",@progbits\n"
    "\t.align\t128\n"
    ".text._Z4workPf:\n"
    "        .type           _Z4workPf,@function\n"
    "_Z4workPf:\n"
    "\t//## File \"/src/work.cu\", line 3\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "\t//## File \"/src/half.hpp\", line 626 inlined at \"/src/work.cu\", line 5\n"
    "\t//## File \"/src/work.cu\", line 5\n"
    "        /*0010*/                   IMAD R5, R5, UR4, R0 ;       /* 0x0000000405057c24 */\n"
    "                                                                /* 0x001fe2000f8e0200 */\n"
    ".L_x_0:\n"
    "        /*0020*/              @!P0 BRA `(.L_x_0) ;\n"
    "$__internal_0_$sqrt:\n"
    "        /*0030*/                   NOP;\n"
    "        /*0040*/                   RET.REL.NODEC R2 `(_Z4workPf) ;\n"
    "\t.section\t.nv.constant0._Z4workPf,\"a\",@progbits\n"
    "        /*0000*/        .byte\t0x00 ;\n"
    "        /*zz*/ broken ;\n";

struct reported {
    size_t count;
    char function[16][32], text[16][64], file[16][2][32];
    uint64_t offset[16];
    int64_t line[16][2];
    size_t places[16];
};

static void take(void *arg, const struct disassembled *d)
{
    struct reported *t = arg;
    size_t i = t->count++;
    assert_true(i < 16 && d->place_count <= 2);
    snprintf(t->function[i], sizeof t->function[i], "%s", d->function);
    snprintf(t->text[i], sizeof t->text[i], "%s", d->text);
    t->offset[i] = d->offset;
    t->places[i] = d->place_count;
    for (size_t k = 0; k < d->place_count; k++) {
        snprintf(t->file[i][k], sizeof t->file[i][k], "%s", d->places[k].file);
        t->line[i][k] = d->places[k].line;
    }
}

static void check(const struct reported *t)
{
    assert_int_equal(t->count, 7);
    assert_string_equal(t->function[0], "_Z4workPf");
    assert_string_equal(t->text[0], "LDC R1, c[0x0][0x28] ;");
    assert_int_equal(t->line[0][0], 3);
    assert_string_equal(t->text[1], "IMAD R5, R5, UR4, R0 ;");
    assert_int_equal(t->places[1], 2);
    assert_string_equal(t->file[1][0], "/src/half.hpp");
    assert_int_equal(t->line[1][0], 626);
    assert_string_equal(t->file[1][1], "/src/work.cu");
    assert_int_equal(t->line[1][1], 5);
    assert_string_equal(t->text[2], "@!P0 BRA `(.L_x_0) ;");
    assert_int_equal(t->places[2], 2); /* places last until the next ones */
    /* A function in the kernel's section is reported with both names. */
    assert_string_equal(t->function[3], "_Z4workPf");
    assert_int_equal(t->offset[3], 0x30);
    assert_string_equal(t->function[4], "$__internal_0_$sqrt");
    assert_int_equal(t->offset[4], 0);
    assert_int_equal(t->offset[6], 0x10);
    assert_int_equal(t->places[6], 0);
}

TEST(test_text)
{
    struct reported t = {0};
    struct disassembly *r = disassembly_open(take, &t);
    char copy[sizeof text], *save;
    assert_non_null(r);
    memcpy(copy, text, sizeof text);
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        disassembly_line(r, line);
    disassembly_close(r);
    check(&t);
}

/* A line may contain anything. */
TEST(test_damaged)
{
    struct reported t = {0};
    struct disassembly *r = disassembly_open(take, &t);
    static const char *const lines[] = {
        "",
        ":",
        "/*",
        "/*0*/",
        "\t.section",
        "\t.section\t.text.",
        "/*0*/",
        "//## File \"",
        "//## File \"a\", line ",
        "\t.section\t.text.,",
        "/*10*/ ;",
        "x:",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char copy[64];
        snprintf(copy, sizeof copy, "%s", lines[i]);
        disassembly_line(r, copy);
    }
    disassembly_close(r);
    assert_int_equal(t.count, 0);
}

/* Makes a shell script that replaces nvdisasm; returns its path. */
static const char *script(const char *body)
{
    static char path[PATH_MAX];
    char whole[4096];
    int n = snprintf(whole, sizeof whole, "#!/bin/sh\n%s\n", body);
    snprintf(path, sizeof path, "%s", tmpdir_write("nvdisasm", whole, (size_t)n));
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

TEST(test_program)
{
    struct reported t = {0};
    struct err e = {0};
    const uint32_t functions[] = {12, 148};
    char body[4096];
    tmpdir_write("text", text, sizeof text - 1);
    snprintf(body, sizeof body,
             "test \"$*\" = \"-c -gi -fun 12,148 some.cubin\" && exec cat %s/text", tmpdir);
    const struct disassemble_request q = {"some.cubin", functions, 2, take, &t, ""};
    assert_int_equal(cubin_disassemble(script(body), &q, clock_mono() + 60 * SECOND, &e), 0);
    check(&t);
}

TEST(test_failures)
{
    struct reported t = {0};
    struct err e = {0};
    const uint32_t one = 1;
    const struct disassemble_request q = {"a.cubin", &one, 1, take, &t, ""};
    int64_t late = clock_mono() + 60 * SECOND;
    assert_int_equal(cubin_disassemble(script("exit 1"), &q, late, &e), GPUFL_E_CORRUPT);
    assert_non_null(strstr(e.text, "cannot read a.cubin"));
    assert_int_equal(cubin_disassemble(script("exec sleep 60"), &q, clock_mono() + SECOND / 5, &e),
                     GPUFL_E_TIMEOUT);
    assert_int_equal(
        cubin_disassemble(script("exec 1>&-; exec sleep 60"), &q, clock_mono() + SECOND / 5, &e),
        GPUFL_E_TIMEOUT);
    assert_int_equal(cubin_disassemble("/nowhere/nvdisasm", &q, late, &e), GPUFL_E_NOENT);
    assert_int_equal(t.count, 0);
}

/* Programs that were started ahead run at the same time: the first one ends only after the second
 * one has begun, and each is started once. Those that nobody reads are ended. */
TEST(test_ahead)
{
    struct reported first = {0}, second = {0};
    struct err e = {0};
    const uint32_t functions[] = {12, 148};
    char body[4096];
    int64_t late = clock_mono() + 60 * SECOND;
    tmpdir_write("text", text, sizeof text - 1);
    snprintf(body, sizeof body,
             "echo run >> %s/runs; case $5 in a.*) read go < %s/fifo;; b.*) echo go > %s/fifo;; "
             "*) exec sleep 1000;; esac; exec cat %s/text",
             tmpdir, tmpdir, tmpdir, tmpdir);
    const char *program = script(body);
    assert_int_equal(mkfifo(tmpdir_path("fifo"), 0600), 0);
    const struct disassemble_request a = {"a.cubin", functions, 2, take, &first, ""},
                                     b = {"b.cubin", functions, 2, take, &second, ""},
                                     c = {"c.cubin", functions, 2, take, &second, ""};
    cubin_disassemble_ahead(program, &a);
    cubin_disassemble_ahead(program, &b);
    assert_int_equal(cubin_disassemble(program, &a, late, &e), 0);
    assert_int_equal(cubin_disassemble(program, &b, late, &e), 0);
    check(&first);
    check(&second);
    for (int i = 0; i < 2 * DISASSEMBLERS_AHEAD; i++)
        cubin_disassemble_ahead(program, &c);
    disassembler_forget();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    struct stat runs;
    assert_int_equal(stat(tmpdir_path("runs"), &runs), 0);
    assert_in_range(runs.st_size, 2 * 4, (2 + DISASSEMBLERS_AHEAD) * 4);
}

TEST(test_find)
{
    char path[PATH_MAX];
    struct err e = {0};
    const char *mine = script("exit 0");
    setenv("GPUFL_NVDISASM", mine, 1);
    assert_int_equal(disassembler_find(&vendor_nvidia.disassembler, path, sizeof path, &e), 0);
    assert_string_equal(path, mine);
    setenv("GPUFL_NVDISASM", "/nowhere/nvdisasm", 1);
    assert_int_equal(disassembler_find(&vendor_nvidia.disassembler, path, sizeof path, &e),
                     GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "GPUFL_NVDISASM"));
    unsetenv("GPUFL_NVDISASM");
    setenv("PATH", tmpdir, 1);
    assert_int_equal(disassembler_find(&vendor_nvidia.disassembler, path, sizeof path, &e), 0);
    assert_string_equal(path, mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),    cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_program), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_ahead),   cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}

/* test_trace_why.c - tests facts about a program from its file, with files made for the test: no
 * compiler and no other libc is needed. */
#include "cli/trace/outcome/here.h"
#include "cli/trace/outcome/why.h"
#include "tests/test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    char loader[64];
};

/* An ELF file of this machine that asks for a loader, or for none. */
static struct image make_image(const char *loader)
{
    struct image m = {0};
    struct image self;
    FILE *f = fopen("/proc/self/exe", "rb");
    assert_non_null(f);
    assert_int_equal(fread(&self.header, sizeof self.header, 1, f), 1);
    fclose(f);
    memcpy(m.header.e_ident, self.header.e_ident, EI_NIDENT);
    m.header.e_machine = self.header.e_machine;
    m.header.e_phoff = offsetof(struct image, segments);
    m.header.e_phentsize = sizeof m.segments[0];
    m.header.e_phnum = 2;
    m.segments[0].p_type = PT_LOAD;
    m.segments[1].p_type = loader ? PT_INTERP : PT_LOAD;
    m.segments[1].p_offset = offsetof(struct image, loader);
    if (loader)
        snprintf(m.loader, sizeof m.loader, "%s", loader);
    return m;
}

static enum why_binary look_at(const struct image *m, size_t size)
{
    return why_look_at(tmpdir_write("program", m, size));
}

TEST(elf_files)
{
    struct image m = make_image("/lib64/ld-linux-x86-64.so.2");
    assert_int_equal(why_look_at("/proc/self/exe"), WHY_DYNAMIC);
    assert_int_equal(look_at(&m, sizeof m), WHY_DYNAMIC);
    assert_int_equal(look_at(&m, sizeof m.header), WHY_UNKNOWN); /* cut off */
    m.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(look_at(&m, sizeof m), WHY_FOREIGN);
    m = make_image("/lib/ld-musl-x86_64.so.1");
    assert_int_equal(look_at(&m, sizeof m), WHY_MUSL);
    m = make_image(NULL);
    assert_int_equal(look_at(&m, sizeof m), WHY_STATIC);
    m.header.e_machine = EM_RISCV;
    assert_int_equal(look_at(&m, sizeof m), WHY_FOREIGN);
}

TEST(scripts)
{
    char text[PATH_MAX + 8];
    struct image m = make_image(NULL);
    const char *program = tmpdir_write("program", &m, sizeof m);
    snprintf(text, sizeof text, "#! %s -x\n", program);
    assert_int_equal(why_look_at(tmpdir_write("script", text, strlen(text))), WHY_STATIC);
    snprintf(text, sizeof text, "#!%s\n", tmpdir_path("itself"));
    assert_int_equal(why_look_at(tmpdir_write("itself", text, strlen(text))), WHY_UNKNOWN);
    assert_int_equal(why_look_at(tmpdir_write("empty", "", 0)), WHY_UNKNOWN);
    assert_int_equal(why_look_at(tmpdir_write("text", "hello\n", 6)), WHY_UNKNOWN);
    assert_int_equal(why_look_at(tmpdir_write("bang", "#!\n", 3)), WHY_UNKNOWN);
    assert_int_equal(why_look_at(tmpdir_path("none")), WHY_UNKNOWN);
}

TEST(commands_are_found)
{
    char path[PATH_MAX], found[PATH_MAX];
    chmod(tmpdir_write("tool", "x", 1), 0700);
    tmpdir_write("data", "x", 1);
    snprintf(path, sizeof path, "/nowhere:%s", tmpdir);
    setenv("PATH", path, 1);
    assert_true(why_resolve("tool", found, sizeof found));
    assert_string_equal(found, tmpdir_path("tool"));
    assert_false(why_resolve("data", found, sizeof found));
    assert_false(why_resolve("none", found, sizeof found));
    assert_int_equal(chdir(tmpdir), 0);
    assert_true(why_resolve("./tool", found, sizeof found));
    setenv("PATH", "/nowhere:", 1); /* an empty entry is the current directory */
    assert_true(why_resolve("tool", found, sizeof found));
    unsetenv("PATH");
    assert_true(why_resolve("sh", found, sizeof found));
}

/* One situation has one reason; what the tester's machine has must not matter. */
TEST(reasons)
{
    char *command[] = {(char *)"sudo", (char *)"train", NULL};
    struct trace_request r = {.command = command};
    struct place p = {0};
    struct why w = {.request = &r, .place = &p};
    struct buf b;
    buf_init(&b, 4096);
    snprintf(p.dir, sizeof p.dir, "%s", tmpdir);
    why_no_session(&w, &b);
    assert_non_null(strstr(buf_cstr(&b), "sudo … gpufl trace"));

    buf_clear(&b);
    setenv("GPUFL_DISABLED", "1", 1);
    why_no_session(&w, &b);
    assert_non_null(strstr(buf_cstr(&b), "GPUFL_DISABLED"));
    setenv("GPUFL_DISABLED", "0", 1);

    struct image m = make_image(NULL);
    const char *program = tmpdir_write("program", &m, sizeof m);
    chmod(program, 0700);
    command[0] = (char *)program;
    buf_clear(&b);
    why_no_session(&w, &b);
    assert_non_null(strstr(buf_cstr(&b), "statically linked"));

    command[0] = (char *)"/proc/self/exe";
    snprintf(p.dir, sizeof p.dir, "%s/gone", tmpdir);
    buf_clear(&b);
    why_no_session(&w, &b);
    assert_non_null(strstr(buf_cstr(&b), "cannot be written"));

    snprintf(p.dir, sizeof p.dir, "%s", tmpdir);
    setenv("GPUFL_LOG_MIN_FREE_BYTES", "8388607T", 1);
    buf_clear(&b);
    why_no_session(&w, &b);
    assert_non_null(strstr(buf_cstr(&b), "log_min_free_bytes"));
    setenv("GPUFL_LOG_MIN_FREE_BYTES", "0", 1);

    snprintf(p.library, sizeof p.library, "/etc/passwd");
    buf_clear(&b);
    why_no_session(&w, &b);
    assert_non_null(strstr(buf_cstr(&b), "does not load"));
    buf_fini(&b);
}

/* ---- sentences ------------------------------------------------------------------------------ */

struct known {
    struct evidence e;
    unsigned blank;
    int status; /* wait status: code << 8, or the signal */
    const char *command[4];
    const char *says; /* what the sentence must have */
};

static void check(const struct known *k)
{
    static struct trace_request request;
    static struct place place;
    struct buf text;
    request.command = k->command[0] ? (char **)(uintptr_t)k->command
                                    : (char *[]){(char *)(uintptr_t) "/proc/self/exe", NULL};
    /* the next cause names it if no other is found */
    snprintf(place.dir, sizeof place.dir, "/nonexistent");
    struct why w = {.request = &request,
                    .place = &place,
                    .evidence = &k->e,
                    .blank = k->blank,
                    .status = k->status};
    buf_init(&text, 4096);
    why_no_session(&w, &text);
    if (!strstr(buf_cstr(&text), k->says))
        fail_msg("not '%s': %s", k->says, buf_cstr(&text));
    assert_null(strstr(buf_cstr(&text), "never used the GPU"));
    buf_fini(&text);
}

#define SEEN           .seen = {.fd = 3, .library = 1, .driver_count = 1}
#define SEEN_WITH(...) .seen = {.fd = 3, .library = 1, .driver_count = 1, __VA_ARGS__}

TEST(sentences_from_evidence)
{
    const struct known all[] = {
        {.e = {.marks = {.fd = 4, .loaded = 3, .failed = 2, .why = "no threads; raise it"}},
         .says = "capture could not begin: no threads; raise it (so in 2 processes)"},
        {.e = {.marks = {.fd = 4, .disabled = 1, .disabler = "GPUFL_DISABLED"}},
         .says = "switched off inside the program by GPUFL_DISABLED"},
        {.e = {.marks = {.fd = 4, .loaded = 1, .began = 1, .dir = "/logs/x"}},
         .says = "1 session began, and the files are gone"},
        {.e = {.marks = {.fd = 4, .loaded = 1, .began = 1}},
         .blank = 1,
         .status = 11,
         .says = "(signal 11, Segmentation fault) before the first records were written"},
        {.e = {.marks = {.fd = 4, .loaded = 1}},
         .status = 3 << 8,
         .says = "(exit code 3) while capture began"},
        {.e = {SEEN},
         .status = 127 << 8,
         .says = "the program ended with exit code 127, and no session began in it"},
        {.e = {SEEN_WITH(.driver_opened = true)},
         .command = {"env", "A=1", "sudo"},
         .says = "sudo starts programs in an environment of their own"},
        {.e = {SEEN}, .command = {"docker", "run"}, .says = "docker starts programs"},
        {.e = {.marks = {.fd = 4},
               SEEN_WITH(.driver_opened = true, .library_opened = true, .memory_limit = 60 << 20)},
         .says = "limited to 60 MiB of addresses"},
        {.e = {.marks = {.fd = 4},
               SEEN_WITH(.driver_opened = true, .environment_lost = true, .name = "train")},
         .says = "but train ran without the variables"},
        /* none of these: the next cause of the table */
        {.e = {.marks = {.fd = -1}, SEEN}, .command = {"sudo", "./x"}, .says = "/nonexistent"},
        {.e = {.marks = {.fd = 4}, SEEN_WITH(.library_opened = true)}, .says = "/nonexistent"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(&all[i]);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static const char *lack_of(const char *backend)
{
    const char *why = here_lacks(backend);
    return why ? why : "nothing";
}

static const char *runtime_of(const char *backend)
{
    static char text[64];
    return here_runtime(backend, text, sizeof text);
}

/* The text names the missing library or device, in the words of the vendor whose GPU is here. The
 * folder stands in for /dev; NVIDIA's library is wherever the tester's machine has it. */
TEST(what_a_machine_lacks)
{
    static const char *const no_sdk = "rocprofiler-sdk was not found: install it (ROCm 6.2 or "
                                      "later) or set GPUFL_ROCPROFILER_PATH";
    here_root = tmpdir;
    setenv("GPUFL_ROCPROFILER_PATH", "/nonexistent", 1);
    assert_non_null(strstr(lack_of("amd"), "/dev/kfd is missing"));
    assert_non_null(strstr(lack_of("NVIDIA"), "NVIDIA driver"));
    assert_non_null(strstr(lack_of(NULL), "NVIDIA driver"));
    assert_string_equal(runtime_of(NULL), "CUDA");
    assert_string_equal(runtime_of("Amd"), "HIP");

    assert_int_equal(mkdir(tmpdir_path("dev"), 0700), 0);
    tmpdir_write("dev/kfd", "", 0);
    assert_string_equal(lack_of("amd"), no_sdk);
    assert_string_equal(lack_of(NULL), no_sdk);
    assert_string_equal(lack_of("auto"), no_sdk);
    assert_string_equal(runtime_of(NULL), "HIP");
    assert_string_equal(runtime_of("nvidia"), "CUDA");

    setenv("GPUFL_ROCPROFILER_PATH", tmpdir_write("librocprofiler-sdk.so.1", "", 0), 1);
    assert_string_equal(lack_of("amd"), "nothing");
    assert_string_equal(lack_of(NULL), "nothing");

    tmpdir_write("dev/nvidiactl", "", 0);
    assert_string_equal(lack_of(NULL), "nothing");
    assert_string_equal(runtime_of(NULL), "CUDA or HIP");
    unsetenv("GPUFL_ROCPROFILER_PATH");
    here_root = "";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(elf_files, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(scripts, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(commands_are_found, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(reasons, tmpdir_open, tmpdir_close),
        cmocka_unit_test(sentences_from_evidence),
        cmocka_unit_test_setup_teardown(what_a_machine_lacks, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

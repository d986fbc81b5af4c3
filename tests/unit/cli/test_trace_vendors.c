/* test_trace_vendors.c - tests sentences about vendors that leave out facts of struct vendor. The
 * toy vendor of tests/unit/backend is in place of AMD's: it has no name for its runtime. */
#include "cli/trace/outcome/here.h"
#include "cli/trace/outcome/why.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/support/tmpdir.h"

extern const struct vendor vendor_toy;

static const char *runtime_of(const char *backend)
{
    static char text[64];
    return here_runtime(backend, text, sizeof text);
}

TEST(a_runtime_without_a_name_has_the_vendor_s)
{
    assert_null(vendor_toy.runtime);
    assert_string_equal(vendor_runtime(&vendor_toy), "toy");
    assert_string_equal(runtime_of("toy"), "toy");
    assert_string_equal(runtime_of("nvidia"), "CUDA");

    here_root = tmpdir; /* the toy vendor has no device files, so its GPUs are always here */
    assert_string_equal(runtime_of(NULL), "toy");
    assert_int_equal(mkdir(tmpdir_path("dev"), 0700), 0);
    tmpdir_write("dev/nvidiactl", "", 0);
    assert_string_equal(runtime_of(NULL), "CUDA or toy");
    here_root = "";
}

/* Returns why there is no session, if what was seen is this. */
static const char *why_of(struct evidence *e, const struct vendor *vendor)
{
    static char text[4096];
    static struct trace_request request;
    static struct place place;
    char self[] = "/proc/self/exe", *command[] = {self, NULL};
    struct buf out;
    request.command = command;
    snprintf(place.dir, sizeof place.dir, "%s", tmpdir);
    snprintf(place.library, sizeof place.library, "%s", LIBRARY);
    e->seen.vendor = vendor;
    struct why w = {.request = &request, .place = &place, .evidence = e};
    buf_init(&out, sizeof text);
    why_no_session(&w, &out);
    snprintf(text, sizeof text, "%s", buf_cstr(&out));
    buf_fini(&out);
    return text;
}

#define SEEN .fd = 3, .library = 1, .driver_count = 1

static void check(struct evidence *e, const struct vendor *vendor, const char *says)
{
    const char *why = why_of(e, vendor);
    if (!strstr(why, says) || strstr(why, "(null)"))
        fail_msg("not '%s': %s", says, why);
}

TEST(sentences_name_the_vendor_s_driver)
{
    static const struct vendor bare = {.name = "bare"};
    struct evidence lost = {
        .seen = {SEEN, .driver_opened = true, .environment_lost = true, .name = "train"}};
    struct evidence opened = {.seen = {SEEN, .driver_opened = true}};
    struct evidence mapped = {.seen = {SEEN, .driver_opened = true, .driver_mapped = true}};
    struct evidence unused = {.seen = {SEEN, .driver = "/lib/libtoydrv.so.1"}};
    setenv("GPUFL_BACKEND", "toy", 1); /* so that NVIDIA's missing driver is not the cause */

    check(&lost, &vendor_toy, "the toy driver was opened, but train ran without the variables");
    check(&lost, &vendor_toy, "needs (TOY_TOOLS_LIB, GPUFL_TRACE_OPTIONS): something");
    check(&lost, &bare, "the bare driver was opened, but train");
    check(&lost, &bare, "needs (GPUFL_TRACE_OPTIONS): something");
    check(&opened, &vendor_toy, "the toy driver was opened, by the program");
    check(&opened, &bare, "needs (GPUFL_TRACE_OPTIONS); it ended");
    check(&mapped, &vendor_toy, "the program did not initialize toy, or failed to");
    check(&unused, &vendor_toy, "no process opened the toy driver (/lib/libtoydrv.so.1)");
    unsetenv("GPUFL_BACKEND");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_runtime_without_a_name_has_the_vendor_s, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test_setup_teardown(sentences_name_the_vendor_s_driver, tmpdir_open,
                                        tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

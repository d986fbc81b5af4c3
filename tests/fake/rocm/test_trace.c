/* test_trace.c - tests `gpufl trace` over a HIP program and the fake rocprofiler-sdk, in both forms
 * of its structs: the program's work is in the report, and lost records are counted. */
#include "tests/fake/rocm/run_rocm.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY LIST("--option", "enable_memory_tracking=true")

TEST(ledger_closes)
{
    static const struct {
        int rocm;
        const char *script;
    } cases[] = {{NEW, "FAKE_ROCP="},
                 {OLD, "FAKE_ROCP="},
                 {NEW, "FAKE_ROCP=shuffle,late=7"},
                 {OLD, "FAKE_ROCP=version=400,late=3"}, /* ROCm 6.2 */
                 {NEW, "FAKE_ROCP=version=10300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        run_rocm(&r, cases[i].rocm, cases[i].script, NULL,
                 LIST("300", "threads=3", "copies=4", "fills=2", "fail=5", "peers=1"));
        check_counts(&r, "complete", 900, 3 * (4 * 3 + 2 + 1));
        run_free(&r);
    }
}

/* The session says what it is of. */
TEST(nothing_claims_hardware)
{
    struct run r;
    struct child c;
    run_rocm(&r, NEW, "FAKE_ROCP=", NULL, LIST("10"));
    check_counts(&r, "complete", 10, 0);
    assert_string_equal(text_at(r.report, "session.engine"), "Trace");
    check_contains(&r, message_of(&r, "backend.unverified"), "not verified on hardware");
    assert_int_equal(gpufl_run(&r.w, &c, NULL, NULL, LIST("report", r.logs)), 0);
    check_contains(&r, c.text[CHILD_OUT].data,
                   "  caution   the backend Amd is not verified on hardware");
    child_free(&c);
    run_free(&r);
}

static json_t *kernel_named(const struct run *r, const char *symbol)
{
    size_t i;
    json_t *one;
    json_array_foreach(at(r->report, "kernels.by_name"), i, one)
    {
        if (!strcmp(text_at(one, "symbol"), symbol))
            return one;
    }
    fail_msg("there is no kernel %s", symbol);
    return NULL;
}

/* Names, launch shapes, times, occupancy, directions. */
TEST(details)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", NULL, LIST("20", "copies=2", "fills=3"));
    check_counts(&r, "complete", 20, 9);
    json_t *gemm = kernel_named(&r, "_Z9fake_gemmPfS_S_i");
    assert_int_equal(int_at(gemm, "count"), 10);
    assert_int_equal(int_at(gemm, "min_ns"), 200000);
    assert_int_equal(int_at(gemm, "configs.0.grid_x"), 64);
    assert_int_equal(int_at(gemm, "configs.0.block_x"), 256);
    assert_int_equal(int_at(gemm, "configs.0.registers"), 96);
    assert_int_equal(int_at(gemm, "configs.0.shared_static"), 32768);
    assert_string_equal(text_at(gemm, "configs.0.occ_limiter"), "lds");
    assert_int_equal(int_at(gemm, "configs.0.occ_warps"), 8);
    assert_int_equal(int_at(gemm, "configs.0.occ_max_warps"), 32);
    assert_int_equal(int_at(kernel_named(&r, "_Z9fake_reluPfi"), "configs.0.local_per_thread"), 16);
    assert_int_equal(int_at(r.report, "copies.by_kind.HtoD.bytes"), 2 << 16);
    assert_int_equal(int_at(r.report, "copies.by_kind.DtoH.bytes"), 2 << 16);
    assert_int_equal(int_at(r.report, "copies.by_kind.DtoD.bytes"), 2 << 16); /* by a kernel */
    assert_int_equal(int_at(r.report, "fills.count"), 3);
    assert_int_equal(int_at(r.report, "fills.bytes"), 3 << 16);
    assert_string_equal(text_at(r.report, "devices.0.name"), "AMD Instinct MI210");
    assert_int_equal(int_at(r.report, "devices.0.kernels"), 20);
    run_free(&r);
}

/* The library has not reported a kernel: registers and occupancy are unknown, not 0 or 100 %. */
TEST(kernel_without_a_symbol)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=nameless=2", NULL, LIST("20"));
    check_counts(&r, "complete", 20, 0);
    json_t *other = kernel_named(&r, "(no name)");
    assert_int_equal(int_at(other, "count"), 10);
    assert_int_equal(int_at(other, "configs.0.block_x"), 256);
    assert_true(unknown_at(other, "configs.0.registers"));
    assert_true(unknown_at(other, "configs.0.shared_static"));
    assert_true(unknown_at(other, "configs.0.occ_warps"));
    assert_true(unknown_at(other, "configs.0.occ_max_warps"));
    assert_string_equal(text_at(other, "configs.0.occ_limiter"), "");
    run_free(&r);
}

/* A free has an address and no size: its block has the size. */
TEST(memory_is_freed)
{
    static const uint32_t versions[] = {600, 10000};
    for (size_t i = 0; i < 2; i++) {
        struct run r;
        char script[32];
        snprintf(script, sizeof script, "FAKE_ROCP=version=%u", versions[i]);
        run_rocm(&r, i ? NEW : OLD, script, MEMORY, LIST("0", "allocs=30"));
        check_counts(&r, "complete", 30, 0);
        assert_int_equal(int_at(r.report, "memory.allocations"), 31);
        assert_int_equal(int_at(r.report, "memory.frees"), 31);
        assert_int_equal(int_at(r.report, "memory.allocated_bytes"), 30000000 + (1 << 16));
        assert_int_equal(int_at(r.report, "memory.freed_bytes"), 30000000 + (1 << 16));
        assert_int_equal(int_at(r.report, "memory.peak_bytes"), 1000000 + (1 << 16));
        run_free(&r);
    }
}

/* Without the option there is no row of an allocation. A record that is not wanted is no loss. */
TEST(memory_is_an_option)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", NULL, LIST("0", "allocs=30"));
    check_counts(&r, "complete", 30, 0);
    assert_string_equal(capability_of(&r, "memory", "status"), "not_requested");
    assert_true(json_is_null(at(r.report, "memory.allocations")));
    assert_int_equal(int_at(r.report, "ledger.unknown_records"), 0);
    run_free(&r);
}

/* Findings use AMD's words: LDS, wavefronts, compute units. */
TEST(occupancy_is_a_finding)
{
    struct run r;
    size_t i;
    json_t *one;
    const char *text = NULL;
    run_rocm(&r, NEW, "FAKE_ROCP=", NULL, LIST("40"));
    check_counts(&r, "complete", 40, 0);
    json_array_foreach(at(r.report, "insights"), i, one)
    {
        if (!strcmp(text_at(one, "id"), "occupancy"))
            text = text_at(one, "text");
    }
    check_contains(&r, text, "8 of 32 wavefronts of a compute unit at most");
    check_contains(&r, text, "limited by LDS");
    run_free(&r);
}

/* The report has AMD's words: no unit, call or option of NVIDIA's. */
TEST(words_are_amds)
{
    static const char *const others[] = {" SMs",    "warp",         "SASS",     "CUDA",
                                         "cuda",    "maxrregcount", " blocks ", "  context  ",
                                         "Context", "nvtx",         " shared ", "a thread "};
    struct run r;
    struct child c;
    const char *const slower[] = {"FAKE_ROCM=slower=20", NULL, NULL}; /* findings need 1 % of it */
    run_with(&r, NEW, slower, NULL, LIST("40", "graphs=2", "device=3"));
    check_counts(&r, "complete", 46, 2);
    assert_int_equal(int_at(r.report, "synchronizations.by_kind.context.count"), 3);
    assert_int_equal(gpufl_run(&r.w, &c, NULL, NULL, LIST("report", r.logs, "--full")), 0);
    const char *text = c.text[CHILD_OUT].data;
    check_contains(&r, text, "104 CUs");
    check_contains(&r, text, "HIP graphs");
    check_contains(&r, text, "DeviceSynchronize × 3 at program.c");
    check_contains(&r, text, "\n  device      3 ");
    check_contains(&r, text, "Scratch memory: 16 B a work-item");
    check_contains(&r, text, "each work-item keeps 16 B in scratch memory");
    check_contains(&r, text, "bytes of a work-item in memory");
    check_contains(&r, text, "  #  work-items  registers");
    check_contains(&r, text, "workgroups that fit on a compute unit");
    check_contains(&r, text, "grid  workgroup  regs       LDS  scratch");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(text, others[i]))
            fail_msg("'%s' in:\n%s", others[i], text);
    child_free(&c);
    run_free(&r);
}

/* The line that waits, and why the GPU was idle. */
TEST(waits_have_lines_and_causes)
{
    struct run r;
    size_t i;
    json_t *row;
    bool waits = false, copies = false;
    run_rocm(&r, OLD, "FAKE_ROCP=", NULL, LIST("50", "copies=2"));
    check_counts(&r, "complete", 50, 6);
    assert_int_equal(int_at(r.report, "synchronizations.by_kind.stream.count"), 1);
    json_array_foreach(at(r.report, "synchronization_lines.lines"), i, row)
    {
        char *text = json_dumps(row, 0);
        waits |= strstr(text, "fake_hip_waits") != NULL;
        copies |= strstr(text, "copy_all") != NULL;
        free(text);
    }
    assert_true(waits);
    assert_true(copies);
    assert_true(json_array_size(at(r.report, "idle.causes")) > 0);
    run_free(&r);
}

static json_t *scope_named(const struct run *r, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(at(r->report, "scopes"), i, one)
    {
        if (!strcmp(text_at(one, "name"), name))
            return one;
    }
    fail_msg("there is no scope %s", name);
    return NULL;
}

/* Inside windows all is recorded, outside nothing, and the ledger closes: a window by launches,
 * while others launch, too, and windows that open and close again and again. */
TEST(windows_by_launches)
{
    for (int rocm = OLD; rocm <= NEW; rocm++) {
        struct run r;
        run_rocm(&r, rocm, "FAKE_ROCP=", LIST("--after-launches", "100", "--launches", "50"),
                 LIST("1000"));
        check_program(&r, 0);
        assert_int_equal(int_at(r.report, "windows.opened"), 1);
        assert_int_equal(int_at(r.report, "kernels.count"), 50);
        assert_int_equal(int_at(r.report, "ledger.kernels_written"), 50);
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        assert_string_equal(capability_of(&r, "windows", "status"), "collected");
        run_free(&r);
        run_rocm(&r, rocm, "FAKE_ROCP=late=3", LIST("--launches", "200"),
                 LIST("1000", "threads=4", "graphs=2", "copies=2"));
        check_program(&r, 0);
        assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
        assert_in_range(int_at(r.report, "kernels.count"), 1, 200);
        run_free(&r);
    }
}

TEST(windows_by_scope)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=",
             LIST("--option", "window_scope=step", "--option", "flush_interval_ms=10"),
             LIST("500", "ranges=6"));
    check_program(&r, 0);
    assert_int_equal(int_at(r.report, "windows.opened"), 6);
    assert_int_equal(int_at(r.report, "kernels.count"), 6); /* one in each range */
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    run_free(&r);
}

TEST(roctx_ranges_are_scopes_and_marks_are_marks)
{
    for (int rocm = OLD; rocm <= NEW; rocm++) {
        struct run r;
        run_rocm(&r, rocm, "FAKE_ROCP=", NULL, LIST("10", "ranges=4"));
        check_counts(&r, "complete", 14, 0);
        json_t *step = scope_named(&r, "step"), *whole = scope_named(&r, "whole");
        assert_int_equal(int_at(step, "calls"), 4);
        assert_int_equal(int_at(step, "kernels"), 4);
        assert_string_equal(text_at(step, "tag"), "roctx");
        assert_string_equal(capability_of(&r, "roctx", "status"), "collected");
        assert_string_equal(capability_of(&r, "nvtx", "status"), "");
        assert_int_equal(int_at(r.report, "marks.count"), 4);
        json_t *most = at(r.report, "marks.by_name.0"), *other = at(r.report, "marks.by_name.1");
        assert_string_equal(text_at(most, "name"), "in a step");
        assert_string_equal(text_at(most, "domain"), "roctx");
        assert_int_equal(int_at(most, "count"), 3);
        assert_string_equal(text_at(other, "name"), "(unnamed)");
        assert_int_equal(int_at(whole, "calls"), 1);
        assert_int_equal(int_at(whole, "kernels"), 4);
        run_free(&r);
    }
}

/* What the end of the session decodes is in its scopes, too. With gpufl_shutdown the library is
 * not finalized before, so that the end decodes all of it; with `gpufl trace` either may come
 * first. */
TEST(kernels_of_the_end_have_scopes)
{
    static char library[PATH_MAX + 32], sdk[PATH_MAX + 32];
    snprintf(library, sizeof library, "LD_LIBRARY_PATH=%s", built_file("fake/rocm"));
    snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file("fake/rocm/7"));
    for (int i = 0; i < 10; i++) {
        struct run r;
        if (i % 2)
            run_rocm(
                &r, NEW, "FAKE_ROCP=",
                LIST("--option", "flush_interval_ms=10000", "--option", "flush_first_ms=10000"),
                LIST("30", "ranges=6", "copies=20"));
        else
            run_all(&r,
                    &(struct run_setup){
                        .env = LIST(library, sdk, "GPUFL_LOG_PATH=logs", "GPUFL_BACKEND=Amd",
                                    "GPUFL_FLUSH_INTERVAL_MS=10000", "GPUFL_FLUSH_FIRST_MS=10000"),
                        .alone = true,
                        .program = LIST("30", "ranges=6", "copies=20"),
                        .binary = "fake/rocm/fake_hip_linked"});
        check_counts(&r, "complete", 36, 60);
        assert_int_equal(int_at(scope_named(&r, "step"), "kernels"), 6);
        assert_int_equal(int_at(scope_named(&r, "whole"), "kernels"), 6);
        run_free(&r);
    }
}

static void check_code(struct run *r)
{
    static char text[1 << 18];
    json_t *one, *report = read_kernel(r, "fake_relu", text, sizeof text);
    json_t *code = at(report, "code");
    size_t i, texts = 0;
    assert_int_equal(json_array_size(code), 1);
    json_array_foreach(at(code, "0.instructions"), i, one) texts +=
        json_is_string(json_object_get(one, "text"));
    if (texts <= 8)
        fail_msg("%zu instructions have text:\n%s", texts, text);
    assert_true(unknown_at(code, "0.no_text"));
    check_contains(r, text, "s_endpgm");
    check_contains(r, text, "kernels.hip.c");
    check_contains(r, text, "calls leaky");
    assert_null(strstr(text, "PTX")); /* NVIDIA's */
    assert_null(strstr(text, "SASS"));
    json_decref(report);
}

/* A file that has the object after a page of other bytes, as in a bundle. */
static const char *put_after_a_page(const char *object)
{
    static char path[] = "/tmp/gpufl-bundle-XXXXXX", bytes[1 << 20];
    FILE *from = fopen(object, "re");
    int fd = mkstemp(path);
    assert_true(from && fd >= 0);
    size_t n = fread(bytes + 4096, 1, sizeof bytes - 4096, from);
    assert_int_equal(write(fd, bytes, n + 4096), n + 4096);
    fclose(from);
    close(fd);
    return path;
}

/* Code objects are in the session, named as memory or by their file, and are disassembled with the
 * lines of their source. */
TEST(code_is_disassembled)
{
    static char code[PATH_MAX + 32], script[64], path[PATH_MAX + 8];
    const char *object = built_file("tests/amdgpu/gfx90a.hsaco");
    if (access(object, R_OK) != 0) {
        print_message("no clang for AMD GPUs is installed (clang-16, lld-16): not tested\n");
        skip();
    }
    const char *bundle = put_after_a_page(object);
    for (int by_file = 0; by_file < 2; by_file++) {
        struct run r;
        snprintf(code, sizeof code, "FAKE_CODE=%s", by_file ? bundle : object);
        snprintf(script, sizeof script, "FAKE_ROCP=%s", by_file ? "codefile" : "");
        snprintf(path, sizeof path, "PATH=%s", getenv("PATH")); /* llvm-objdump's */
        run_with(&r, by_file ? OLD : NEW, LIST(script, code, path), NULL, LIST("20"));
        check_counts(&r, "complete", 20, 0);
        check_code(&r);
        run_free(&r);
    }
    remove(bundle);
}

TEST(two_devices)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", NULL, LIST("40", "threads=4", "second"));
    check_counts(&r, "complete", 160, 0);
    assert_int_equal(int_at(r.report, "devices.0.kernels"), 80);
    assert_int_equal(int_at(r.report, "devices.1.kernels"), 80);
    size_t i;
    json_t *device;
    json_array_foreach(at(r.report, "devices"), i, device) assert_string_equal(
        text_at(device, "arch"), int_at(device, "index") ? "gfx1100" : "gfx90a");
    run_free(&r);
}

/* AMD SMI and rocprofiler-sdk number the GPUs in different orders: the address on the bus says
 * which GPU is which. */
TEST(devices_are_joined_by_address)
{
    static char smi[PATH_MAX + 32];
    struct run r;
    size_t i, with_kernels = 0;
    json_t *device;
    snprintf(smi, sizeof smi, "GPUFL_AMD_SMI_PATH=%s", built_file("fake/amd-7"));
    run_with(&r, NEW, LIST("FAKE_ROCP=crossed", smi, NULL), NULL, LIST("20"));
    check_counts(&r, "complete", 20, 0);
    assert_int_equal(json_array_size(at(r.report, "devices")), 2);
    json_array_foreach(at(r.report, "devices"), i, device)
    {
        bool is_first_of_sdk = !strcmp(text_at(device, "pci"), "0001:63:00.0");
        assert_int_equal(int_at(device, "kernels"), is_first_of_sdk ? 20 : 0);
        assert_int_equal(int_at(device, "index"), is_first_of_sdk ? 1 : 0); /* by address */
        assert_true(strlen(text_at(device, "uuid")) > 4);
        with_kernels += int_at(device, "kernels") > 0;
    }
    assert_int_equal(with_kernels, 1);
    run_free(&r);
}

TEST(losses_are_counted)
{
    static const struct {
        const char *script, *column;
        int64_t lost;
        bool missing;
    } cases[] = {{"FAKE_ROCP=drop=10", "ledger.lost_driver", 39, true},
                 {"FAKE_ROCP=notime=8", "ledger.lost_time", 49, true},
                 {"FAKE_ROCP=alien=20", "ledger.unknown_records", 19, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        /* With the allocation and the free there are 399 records. The last of them are not dropped:
         * the library reports drops only with the next records. */
        run_rocm(&r, OLD, cases[i].script, MEMORY, LIST("397"));
        check_program(&r, 0);
        assert_int_equal(int_at(r.report, "ledger.launches"), 397);
        assert_int_equal(int_at(r.report, cases[i].column), cases[i].lost);
        assert_string_equal(text_at(r.report, "ledger.verdict"),
                            cases[i].missing ? "incomplete" : "complete");
        run_free(&r);
    }
}

TEST(children_are_followed)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=", NULL, LIST("20", "fork"));
    check_program(&r, 0);
    assert_int_equal(json_array_size(at(r.report, "sessions")), 2);
    assert_int_equal(int_at(r.report, "kernels.count"), 25);
    run_free(&r);
}

/* The tool of somebody else keeps its place in the list, after ours. */
TEST(other_tools_stay)
{
    struct run r;
    static char tool[PATH_MAX + 32];
    snprintf(tool, sizeof tool, "ROCP_TOOL_LIBRARIES=%s", built_file("fake/rocm/libfake-tool.so"));
    run_rocm(&r, NEW, tool, NULL, LIST("20"));
    check_counts(&r, "complete", 20, 0);
    check_contains(&r, r.c.text[CHILD_ERR].data, "the other tool is number 1 of version 10000");
    run_free(&r);
}

/* On a machine with GPUs of both vendors the program's own GPU is recorded, and the session says
 * so. */
TEST(mixed_machine)
{
    struct run r;
    static char both[2 * PATH_MAX + 32], sdk[PATH_MAX + 32];
    snprintf(both, sizeof both, "LD_LIBRARY_PATH=%s:%s", built_file("fake"),
             built_file("fake/rocm"));
    snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file("fake/rocm/7"));
    run_all(&r, &(struct run_setup){
                    .env = LIST(both, sdk), .program = LIST("20"), .binary = "fake/rocm/fake_hip"});
    check_counts(&r, "complete", 20, 0);
    char *messages = json_dumps(at(r.report, "messages"), 0);
    check_contains(&r, messages, "this session records those of amd, whose runtime");
    free(messages);
    run_free(&r);
}

/* Every record that is delivered is a row, or counted as one without room. */
TEST(small_pool)
{
    struct run r;
    run_rocm(&r, NEW, "FAKE_ROCP=",
             LIST("--option", "activity_buffer_bytes=65536", "--option",
                  "activity_pool_bytes=65536", "--option", "flush_interval_ms=10000", "--option",
                  "flush_first_ms=10000", "--option", "enable_memory_tracking=true"),
             LIST("2000", "copies=2"));
    check_program(&r, 0);
    int64_t lost = int_at(r.report, "ledger.lost_pool");
    assert_true(lost > 0);
    assert_int_equal(
        int_at(r.report, "ledger.kernels_written") + int_at(r.report, "ledger.copies_written") +
            int_at(r.report, "memory.allocations") + int_at(r.report, "memory.frees") + lost,
        2000 + 6 + 2);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "incomplete");
    run_free(&r);
}

/* A function of the library that fails: the program ends as it would, and the session says what is
 * missing. */
TEST(a_library_that_refuses)
{
    static const char *const functions[] = {"create_context",
                                            "create_buffer",
                                            "create_callback_thread",
                                            "assign_callback_thread",
                                            "configure_buffer_tracing_service",
                                            "configure_callback_tracing_service",
                                            "iterate_buffer_tracing_kinds",
                                            "iterate_callback_tracing_kinds",
                                            "query_available_agents",
                                            "start_context"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct run r;
        char script[96];
        snprintf(script, sizeof script, "FAKE_ROCP=fail=%s:0", functions[i]);
        run_rocm(&r, i & 1 ? OLD : NEW, script, NULL, LIST("20", "exit=3"));
        check_program(&r, 3);
        assert_non_null(r.report);
        const char *text = message_of(&r, "trace_unavailable");
        text = text ? text : message_of(&r, "trace_failed");
        check_contains(&r, text, "no kernels are recorded");
        assert_null(strstr(text, "status -1")); /* which is not one of the library's */
        assert_true(strstr(text, "ROCPROFILER_LOG_LEVEL=info") || strstr(text, "install"));
        run_free(&r);
    }
}

/* Structs of a library from before ROCm 6.2 are not known: one sentence, and the program runs. */
TEST(a_library_that_is_too_old)
{
    struct run r;
    run_rocm(&r, OLD, "FAKE_ROCP=version=300", NULL, LIST("20", "exit=3"));
    check_program(&r, 3);
    assert_non_null(r.report);
    assert_true(unknown_at(r.report, "kernels.count")); /* not 0 */
    const char *text = message_of(&r, "trace_unavailable");
    check_contains(&r, text ? text : "", "is rocprofiler-sdk 0.3.0: ROCm 6.2 or later is needed");
    run_free(&r);
}

/* Without the library nothing is injected: the variable would end the program. */
TEST(no_library)
{
    struct run r;
    static char library[PATH_MAX + 32];
    snprintf(library, sizeof library, "LD_LIBRARY_PATH=%s", built_file("fake/rocm"));
    run_all(&r, &(struct run_setup){.env = LIST(library, "GPUFL_ROCPROFILER_PATH=/nonexistent"),
                                    .program = LIST("20"),
                                    .binary = "fake/rocm/fake_hip"});
    check_program(&r, 0);
    assert_null(r.report);
    run_free(&r);
}

/* init before the first HIP call, without gpufl trace. */
TEST(linked)
{
    struct run r;
    static char library[PATH_MAX + 32], sdk[PATH_MAX + 32], logs[PATH_MAX + 32];
    for (int rocm = OLD; rocm <= NEW; rocm++) {
        char folder[16];
        snprintf(folder, sizeof folder, "fake/rocm/%d", rocm);
        snprintf(library, sizeof library, "LD_LIBRARY_PATH=%s", built_file("fake/rocm"));
        snprintf(sdk, sizeof sdk, "GPUFL_ROCPROFILER_PATH=%s", built_file(folder));
        snprintf(logs, sizeof logs, "GPUFL_LOG_PATH=logs");
        run_all(&r, &(struct run_setup){.env = LIST(library, sdk, logs, "GPUFL_BACKEND=Amd"),
                                        .alone = true,
                                        .program = LIST("20", "copies=1"),
                                        .binary = "fake/rocm/fake_hip_linked"});
        check_counts(&r, "complete", 20, 3);
        assert_int_equal(int_at(scope_named(&r, "work"), "calls"), 1);
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledger_closes),
        cmocka_unit_test(nothing_claims_hardware),
        cmocka_unit_test(details),
        cmocka_unit_test(memory_is_freed),
        cmocka_unit_test(memory_is_an_option),
        cmocka_unit_test(kernel_without_a_symbol),
        cmocka_unit_test(occupancy_is_a_finding),
        cmocka_unit_test(words_are_amds),
        cmocka_unit_test(waits_have_lines_and_causes),
        cmocka_unit_test(windows_by_launches),
        cmocka_unit_test(windows_by_scope),
        cmocka_unit_test(roctx_ranges_are_scopes_and_marks_are_marks),
        cmocka_unit_test(kernels_of_the_end_have_scopes),
        cmocka_unit_test(code_is_disassembled),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(devices_are_joined_by_address),
        cmocka_unit_test(losses_are_counted),
        cmocka_unit_test(children_are_followed),
        cmocka_unit_test(other_tools_stay),
        cmocka_unit_test(mixed_machine),
        cmocka_unit_test(small_pool),
        cmocka_unit_test(a_library_that_refuses),
        cmocka_unit_test(a_library_that_is_too_old),
        cmocka_unit_test(no_library),
        cmocka_unit_test(linked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

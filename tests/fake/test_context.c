/* test_context.c - tests the marks of programs and frameworks besides scopes: NVTX ranges and ids
 * of operations; and records that options turn on: graphs as a whole, managed memory,
 * allocations. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

/* Finds the scope of that name; NULL: there is none. */
static json_t *scope_of(const struct run *r, const char *name)
{
    size_t i;
    json_t *scope;
    json_array_foreach(at(r->report, "scopes"), i, scope)
    {
        if (!strcmp(text_at(scope, "name"), name))
            return scope;
    }
    return NULL;
}

static void check_scope(const struct run *r, const char *name, const char *tag, int64_t calls,
                        int64_t own_kernels)
{
    json_t *scope = scope_of(r, name);
    if (!scope)
        fail_msg("there is no scope %s", name);
    if (tag)
        assert_string_equal(text_at(scope, "tag"), tag);
    assert_int_equal(int_at(scope, "calls"), calls);
    assert_int_equal(int_at(scope, "open"), 0);
    assert_int_equal(int_at(scope, "self_kernels"), own_kernels);
}

static void run_nvtx(struct run *r, const char *what, const char *const *env,
                     const char *const *options)
{
    run_all(r,
            &(struct run_setup){
                .binary = "fake/fake_nvtx", .env = env, .options = options, .program = LIST(what)});
    check_program(r, 0);
    check_complete(r);
}

TEST(pushed_ranges)
{
    struct run r;
    run_nvtx(&r, "nested", NULL, NULL);
    check_scope(&r, "step", "nvtx", 1, 1 + 16);
    check_scope(&r, "gr\u00f6\u00dfe \u20ac \U0001f680", "nvtx", 1, 2);
    check_scope(&r, "batch", "loader", 1, 4 + 8);
    assert_int_equal(int_at(scope_of(&r, "step"), "kernels"), 31);
    assert_int_equal(int_at(r.report, "outside_scopes.kernels"), 32);
    assert_string_equal(capability_of(&r, "nvtx", "status"), "collected");
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    run_free(&r);
}

TEST(started_ranges)
{
    struct run r;
    run_nvtx(&r, "started", NULL, NULL);
    check_scope(&r, "first", "nvtx", 1, 1);
    check_scope(&r, "second", "nvtx", 1, 2 + 4);
    check_scope(&r, "inside", "nvtx", 1, 8 + 16);
    assert_int_equal(int_at(r.report, "outside_scopes.kernels"), 32);
    run_free(&r);
}

/* The part that PyTorch appends to an operation's name is left out, so that calls add up. */
TEST(operations)
{
    struct run r;
    run_nvtx(&r, "ops", NULL, NULL);
    check_scope(&r, "aten::mm", "nvtx", 500, 500);
    check_scope(&r, "aten::relu", "nvtx", 500, 500);
    assert_int_equal(int_at(r.report, "scope_paths"), 3);
    run_free(&r);
}

/* A mark's row of the report; NULL: there is none of that name and domain. */
static json_t *mark_of(const struct run *r, const char *name, const char *domain)
{
    size_t i;
    json_t *mark;
    json_array_foreach(at(r->report, "marks.by_name"), i, mark)
    {
        if (!strcmp(text_at(mark, "name"), name) && !strcmp(text_at(mark, "domain"), domain))
            return mark;
    }
    return NULL;
}

static void check_mark(const struct run *r, const char *name, const char *domain, int64_t count)
{
    json_t *mark = mark_of(r, name, domain);
    if (!mark)
        fail_msg("there is no mark %s of %s", name, domain);
    assert_int_equal(int_at(mark, "count"), count);
    assert_true(int_at(mark, "first_ns") >= 0 &&
                int_at(mark, "last_ns") >= int_at(mark, "first_ns"));
}

TEST(marks_of_a_program)
{
    struct run r;
    run_nvtx(&r, "marks", NULL, NULL);
    assert_int_equal(int_at(r.report, "marks.count"), 11);
    check_mark(&r, "epoch 1 begins", "nvtx", 1);
    check_mark(&r, "epoch 3 begins", "nvtx", 1);
    check_mark(&r, "loss", "nvtx", 3);
    check_mark(&r, "batch", "loader", 3);
    check_mark(&r, "gr\u00f6\u00dfe \u20ac", "nvtx", 1);
    check_mark(&r, "(unnamed)", "nvtx", 1);
    assert_true(int_at(mark_of(&r, "epoch 1 begins", "nvtx"), "last_ns") <
                int_at(mark_of(&r, "epoch 2 begins", "nvtx"), "first_ns"));
    check_scope(&r, "epoch", "nvtx", 3, 3); /* marks are no scopes */
    assert_int_equal(int_at(r.report, "scope_paths"), 1);
    assert_int_equal(int_at(r.report, "ledger.marks_recorded"), 11);
    assert_int_equal(int_at(r.report, "ledger.marks_written"), 11);
    assert_string_equal(capability_of(&r, "nvtx", "status"), "collected");
    check_section(&r, "marks", "epoch 2 begins");
    run_free(&r);
}

/* What the ring has no room for is counted, and the report says so. */
TEST(marks_as_fast_as_they_come)
{
    struct run r;
    run_all(&r, &(struct run_setup){.binary = "fake/fake_nvtx", .program = LIST("marks-many")});
    check_program(&r, 0);
    int64_t written = int_at(r.report, "ledger.marks_written");
    int64_t lost = int_at(r.report, "ledger.marks_lost");
    assert_int_equal(written + lost, 100000);
    assert_int_equal(int_at(r.report, "ledger.marks_recorded"), written);
    assert_int_equal(int_at(r.report, "marks.count"), written);
    assert_int_equal(int_at(r.report, "ledger.rows_read.mark"), written);
    if (lost)
        check_section(&r, "ledger", "not recorded: a thread's ring was full");
    run_free(&r);
}

TEST(marks_before_the_session)
{
    struct run r;
    run_nvtx(&r, "early-mark", NULL, NULL);
    assert_int_equal(int_at(r.report, "marks.count"), 0);
    run_free(&r);
    run_nvtx(&r, "marks", NULL, LIST("--option", "nvtx_ranges=false"));
    assert_int_equal(int_at(r.report, "marks.count"), 0);
    assert_int_equal(int_at(r.report, "ledger.marks_lost"), 0);
    run_free(&r);
}

/* A range from before the session is not in it, and takes no other range's place. */
TEST(before_the_session)
{
    struct run r;
    run_nvtx(&r, "early", NULL, NULL);
    check_scope(&r, "late", "nvtx", 1, 1);
    check_scope(&r, "later", "nvtx", 1, 2);
    assert_null(scope_of(&r, "early"));
    run_free(&r);
}

TEST(hostile_program)
{
    struct run r;
    run_nvtx(&r, "hostile", NULL, NULL);
    check_scope(&r, "after all", "nvtx", 1, 1);
    check_scope(&r, "range", "nvtx", 1, 0);
    run_free(&r);
}

/* Without a tool nobody reads these texts, so that such a program runs. */
TEST(misused_texts)
{
    struct run r;
    run_nvtx(&r, "misused", NULL, NULL);
    check_scope(&r, "as text", "nvtx", 1, 3);
    check_scope(&r, "(unnamed)", "nvtx", 4, 5);
    run_free(&r);
}

TEST(switched_off)
{
    struct run r;
    run_nvtx(&r, "nested", NULL, LIST("--option", "nvtx_ranges=false"));
    assert_int_equal(json_array_size(at(r.report, "scopes")), 0);
    assert_string_equal(capability_of(&r, "nvtx", "status"), "");
    run_free(&r);
    run_all(&r, &(struct run_setup){.binary = "fake/fake_nvtx",
                                    .env = LIST("GPUFL_DISABLED=1"),
                                    .program = LIST("nested")});
    check_program(&r, 0);
    assert_null(r.report);
    assert_true(json_is_false(at(r.said, "0.tool")));
    run_free(&r);
}

/* A tool that the user has set up for NVTX keeps it, and the session says so. */
TEST(another_tool)
{
    struct run r;
    char variable[PATH_MAX + 32];
    snprintf(variable, sizeof variable, "NVTX_INJECTION64_PATH=%s",
             built_file("fake/libnvidia-ml.so.1"));
    run_nvtx(&r, "nested", LIST(variable), NULL);
    assert_int_equal(json_array_size(at(r.report, "scopes")), 0);
    assert_true(json_is_false(at(r.said, "0.tool")));
    assert_string_equal(capability_of(&r, "nvtx", "status"), "unavailable");
    check_contains(&r, message_of(&r, "nvtx.other_tool"), "libnvidia-ml.so.1");
    run_free(&r);
}

static void check_id(json_t *by_id, size_t count, const char *kind, const char *id, int64_t kernels)
{
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_array_get(by_id, i);
        if (strcmp(text_at(one, "kind"), kind) != 0 || strcmp(text_at(one, "id"), id) != 0)
            continue;
        assert_int_equal(int_at(one, "kernels"), kernels);
        assert_true(int_at(one, "total_ns") > 0);
        return;
    }
    fail_msg("there is no %s %s", kind, id);
}

/* Kernels have the ids that the program pushed. */
TEST(pushed_ids)
{
    static const char *const scripts[] = {"FAKE_CUPTI=", "FAKE_CUPTI=late=50"};
    for (size_t i = 0; i < 2; i++) {
        struct run r;
        run_nvtx(&r, "pushed", LIST(scripts[i]), NULL);
        json_t *ids = at(r.report, "external_correlation");
        assert_int_equal(int_at(ids, "kernels"), 40);
        assert_int_equal(int_at(ids, "ids"), 12);
        check_id(at(ids, "by_id"), 12, "custom0", "1000", 1);
        check_id(at(ids, "by_id"), 12, "custom0", "18446744073709551615", 20);
        check_id(at(ids, "by_id"), 12, "custom2", "1", 10);
        assert_string_equal(capability_of(&r, "external_correlation", "status"), "collected");
        run_free(&r);
    }
    struct run r;
    /* After so many calls without ids the library looks for them only if it is asked to. */
    run_nvtx(&r, "pushed-late", NULL, NULL);
    assert_int_equal(int_at(r.report, "external_correlation.kernels"), 0);
    check_contains(&r, capability_of(&r, "external_correlation", "reason"),
                   "first 20 000 launches");
    run_free(&r);
    run_nvtx(&r, "pushed-late", NULL, LIST("--option", "enable_external_correlation=true"));
    assert_int_equal(int_at(r.report, "external_correlation.kernels"), 40);
    run_free(&r);
    run_nvtx(&r, "pushed", NULL, LIST("--option", "enable_external_correlation=false"));
    assert_int_equal(int_at(r.report, "external_correlation.kernels"), 0);
    run_free(&r);
}

/* A library that can record all calls or none has ids only if the user asks for them. */
TEST(pushed_ids_of_an_older_library)
{
    static const char cuda[] = "FAKE_CUDA_VERSION=12060";
    char path[PATH_MAX + 32];
    struct run r;
    snprintf(path, sizeof path, "GPUFL_CUPTI_PATH=%s", built_file("fake/libcupti.so.12"));
    run_nvtx(&r, "pushed", LIST(path, cuda), NULL);
    assert_int_equal(int_at(r.report, "external_correlation.kernels"), 0);
    check_contains(&r, capability_of(&r, "external_correlation", "reason"), "before CUDA 12.5");
    run_free(&r);
    run_nvtx(&r, "pushed", LIST(path, cuda), LIST("--option", "enable_external_correlation=true"));
    assert_int_equal(int_at(r.report, "external_correlation.kernels"), 40);
    assert_string_equal(capability_of(&r, "external_correlation", "status"), "collected");
    run_free(&r);
}

/* ---- graphs as a whole, managed memory ------------------------------------------------------- */

enum { GRAPHS = 40, GRAPH_NODES = 5 };

/* Recorded by node, a graph has every kernel, and its launches are put together from them. */
TEST(graphs_by_node)
{
    struct run r;
    run_all(&r, &(struct run_setup){.program = LIST("100", "graphs=40")});
    check_program(&r, 0);
    check_complete(&r);
    assert_string_equal(text_at(r.report, "graphs.activity"), "nodes");
    assert_int_equal(int_at(r.report, "graphs.runs"), GRAPHS);
    assert_true(int_at(r.report, "graphs.gpu_ns") >= GRAPHS * (3 * 400 + 2 * 700));
    assert_int_equal(int_at(r.report, "graphs.by_graph.0.kernels"), GRAPH_NODES);
    assert_true(json_is_null(at(r.report, "ledger.graphs_recorded")));
    assert_string_equal(capability_of(&r, "graph_runs", "status"), "not_requested");
    run_free(&r);
}

/* Recorded as a whole, a graph has one record a launch and none of its kernels; the ledger
 * closes. */
TEST(graphs_as_a_whole)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--option", "cuda_graph_activity=launches"),
                                    .program = LIST("100", "graphs=40")});
    check_program(&r, 0);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    assert_string_equal(text_at(r.report, "graphs.activity"), "launches");
    assert_int_equal(int_at(r.report, "graphs.runs"), GRAPHS);
    assert_true(int_at(r.report, "graphs.gpu_ns") >= GRAPHS * (3 * 400 + 2 * 700));
    assert_int_equal(int_at(r.report, "ledger.graph_launches"), GRAPHS);
    assert_int_equal(int_at(r.report, "ledger.graphs_recorded"), GRAPHS);
    assert_int_equal(int_at(r.report, "ledger.graphs_written"), GRAPHS);
    assert_int_equal(int_at(r.report, "kernels.count"), int_at(r.said, "0.launches"));
    assert_string_equal(capability_of(&r, "graph_runs", "status"), "collected");
    run_free(&r);
}

/* A library that cannot record graphs as a whole records by node, which the session says. */
TEST(graphs_of_an_old_library)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=version=14"),
                                    .options = LIST("--option", "cuda_graph_activity=launches"),
                                    .program = LIST("100", "graphs=40")});
    check_program(&r, 0);
    assert_string_equal(text_at(r.report, "graphs.activity"), "nodes");
    assert_string_equal(capability_of(&r, "graph_runs", "status"), "unavailable");
    assert_int_equal(int_at(r.report, "kernels.count"),
                     int_at(r.said, "0.launches") + GRAPHS * GRAPH_NODES);
    run_free(&r);
}

/* A session with windows records by node, and says so: CUPTI would end the program. */
TEST(graphs_in_windows)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = LIST("GPUFL_CUDA_GRAPH_ACTIVITY=launches"),
                                    .options = LIST("--after", "0ms", "--for", "60s"),
                                    .program = LIST("100", "graphs=40")});
    check_program(&r, 0);
    assert_string_equal(capability_of(&r, "graph_runs", "status"), "unavailable");
    check_contains(&r, capability_of(&r, "graph_runs", "reason"), "this session has windows");
    assert_int_equal(int_at(r.report, "windows.opened"), 1);
    assert_int_equal(int_at(r.report, "ledger.rows_read.graph_run"), 0);
    run_free(&r);
}

/* Both kinds of copies make a graph fault (the fake library does that): copies to another device
 * are recorded if they are asked for; else the session says that there were some. */
TEST(peer_copies)
{
    struct run r;
    run_all(&r, &(struct run_setup){.program = LIST("100", "graphs=3", "peers=7")});
    check_program(&r, 0);
    check_complete(&r);
    assert_string_equal(capability_of(&r, "copies", "status"), "collected");
    assert_string_equal(capability_of(&r, "peer_copies", "status"), "not_requested");
    assert_int_equal(json_array_size(at(r.report, "messages")), 1);
    check_contains(&r, text_at(r.report, "messages.0.text"), "peer_copies=true records them");
    assert_null(json_object_get(at(r.report, "copies.by_kind"), "PtoP"));
    run_free(&r);
    run_all(&r, &(struct run_setup){.options = LIST("--option", "peer_copies=true"),
                                    .program = LIST("100", "peers=7")});
    check_program(&r, 0);
    assert_string_equal(text_at(r.report, "ledger.verdict"), "complete");
    assert_string_equal(capability_of(&r, "peer_copies", "status"), "collected");
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    assert_int_equal(int_at(r.report, "copies.by_kind.PtoP.bytes"), 7 * 4096);
    run_free(&r);
}

TEST(managed_memory)
{
    struct run r;
    run_all(&r, &(struct run_setup){.options = LIST("--option", "managed_memory=true"),
                                    .program = LIST("100", "managed=7")});
    check_program(&r, 0);
    check_complete(&r);
    assert_string_equal(capability_of(&r, "managed_memory", "status"), "collected");
    assert_int_equal(int_at(r.report, "managed_memory.to_device.bytes"), 7 * 65536);
    assert_int_equal(int_at(r.report, "managed_memory.to_host.bytes"), 7 * 4096);
    assert_int_equal(int_at(r.report, "managed_memory.device_faults.faults"), 7 * 3);
    assert_int_equal(int_at(r.report, "managed_memory.host_faults.faults"), 7);
    assert_true(int_at(r.report, "managed_memory.to_device.total_ns") > 0);
    assert_int_equal(int_at(r.report, "ledger.unknown_records"), 0);
    run_free(&r);
    /* as the real one before the first context */
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=fail="
                                                "cuptiActivityConfigureUnifiedMemoryCounter:1:13"),
                                    .options = LIST("--option", "managed_memory=true"),
                                    .program = LIST("100", "managed=7", "contexts=1")});
    check_program(&r, 0);
    assert_string_equal(capability_of(&r, "managed_memory", "status"), "collected");
    assert_int_equal(int_at(r.report, "managed_memory.to_device.bytes"), 7 * 65536);
    assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    run_free(&r);
    run_all(&r, &(struct run_setup){.env = LIST("FAKE_CUPTI=fail="
                                                "cuptiActivityConfigureUnifiedMemoryCounter:0:35"),
                                    .options = LIST("--option", "managed_memory=true"),
                                    .program = LIST("100", "managed=7")});
    check_program(&r, 0);
    check_complete(&r);
    assert_string_equal(capability_of(&r, "managed_memory", "status"), "unavailable");
    assert_true(unknown_at(r.report, "managed_memory.to_device.bytes"));
    run_free(&r);
}

/* What the report says of allocations is what the program did. */
static void check_allocations(const struct run *r)
{
    static const char *const same[][2] = {{"memory.allocations", "0.allocations"},
                                          {"memory.allocated_bytes", "0.allocated"},
                                          {"memory.frees", "0.frees"},
                                          {"memory.freed_bytes", "0.freed"},
                                          {"memory.peak_bytes", "0.peak"}};
    check_program(r, 0);
    check_complete(r);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_int_equal(int_at(r->report, same[i][0]), int_at(r->said, same[i][1]));
    assert_int_equal(int_at(r->report, "memory.allocations"), 100);
    assert_int_equal(int_at(r->report, "memory.frees"), 66);
    assert_string_equal(capability_of(r, "memory", "status"), "collected");
    /* The older library has one message: that it is not verified. */
    assert_int_equal(json_array_size(at(r->report, "messages")),
                     message_of(r, "cupti.unverified") != NULL);
}

TEST(allocations)
{
    static const char *const on[] = {"--option", "enable_memory_tracking=true", NULL};
    struct run r;
    char older[PATH_MAX + 32];
    run_all(&r, &(struct run_setup){.options = on, .program = LIST("100", "allocate=100")});
    check_allocations(&r);
    run_free(&r);
    snprintf(older, sizeof older, "GPUFL_CUPTI_PATH=%s", built_file("fake/libcupti.so.12"));
    run_all(&r, &(struct run_setup){.env = LIST(older, "FAKE_CUDA_VERSION=12060"),
                                    .options = on,
                                    .program = LIST("100", "allocate=100")});
    check_allocations(&r);
    run_free(&r);
}

/* Allocations are not recorded if nobody asks; if somebody asks and there are none, the session
 * says so. */
TEST(no_allocations)
{
    struct run r;
    run_all(&r, &(struct run_setup){.program = LIST("100", "allocate=100")});
    check_program(&r, 0);
    check_complete(&r);
    assert_true(unknown_at(r.report, "memory.allocations"));
    assert_string_equal(capability_of(&r, "memory", "status"), "not_requested");
    run_free(&r);
    run_all(&r, &(struct run_setup){.options = LIST("--option", "enable_memory_tracking=true"),
                                    .program = LIST("100")});
    check_program(&r, 0);
    check_complete(&r);
    assert_int_equal(int_at(r.report, "memory.allocations"), 0);
    assert_string_equal(capability_of(&r, "memory", "status"), "enabled_no_data");
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_ranges),
        cmocka_unit_test(started_ranges),
        cmocka_unit_test(operations),
        cmocka_unit_test(marks_of_a_program),
        cmocka_unit_test(marks_as_fast_as_they_come),
        cmocka_unit_test(marks_before_the_session),
        cmocka_unit_test(before_the_session),
        cmocka_unit_test(hostile_program),
        cmocka_unit_test(misused_texts),
        cmocka_unit_test(switched_off),
        cmocka_unit_test(another_tool),
        cmocka_unit_test(pushed_ids),
        cmocka_unit_test(pushed_ids_of_an_older_library),
        cmocka_unit_test(graphs_by_node),
        cmocka_unit_test(graphs_as_a_whole),
        cmocka_unit_test(graphs_of_an_old_library),
        cmocka_unit_test(graphs_in_windows),
        cmocka_unit_test(peer_copies),
        cmocka_unit_test(managed_memory),
        cmocka_unit_test(allocations),
        cmocka_unit_test(no_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

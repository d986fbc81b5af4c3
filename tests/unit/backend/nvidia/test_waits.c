/* test_waits.c - which calls are reported as waits, and their values. */
#include <stdio.h>
#include <string.h>

#include "backend/nvidia/record/launches.h"
#include "backend/nvidia/record/waits.h"
#include "base/clock.h"
#include "tests/test.h"

#define MS 1000000

/* ---- a sink that remembers ------------------------------------------------------------- */

static struct wait waits[8];
static struct launch launches[8];
static int wait_count, launch_count, stacks_taken;

static bool sink_launch(struct sink *s, const struct launch *l)
{
    (void)s;
    launches[launch_count++] = *l;
    return true;
}

static bool scope_open;

static bool sink_in_scope(struct sink *s)
{
    (void)s;
    return scope_open;
}

static uint32_t sink_stack(struct sink *s)
{
    (void)s;
    return 65535 + (uint32_t)++stacks_taken; /* the greatest ids have to fit */
}

static void sink_wait(struct sink *s, const struct wait *w)
{
    (void)s;
    waits[wait_count++] = *w;
}

static const struct sink_ops sink_ops = {
    .launch = sink_launch, .in_scope = sink_in_scope, .stack = sink_stack, .wait = sink_wait};
static struct sink sink = {.ops = &sink_ops};

/* ---- a CUPTI with two contexts --------------------------------------------------------- */

static int device_questions;

static int fake_device(cuda_context context, uint32_t *device)
{
    device_questions++;
    *device = context == (cuda_context)(uintptr_t)0x200 ? 1 : 0;
    return CUPTI_OK;
}

static int fake_stream(cuda_context context, cuda_stream stream, uint8_t per_thread,
                       uint32_t *number)
{
    (void)context;
    *number = stream ? (uint32_t)(uintptr_t)stream : per_thread ? 99 : 7;
    return CUPTI_OK;
}

static const struct cupti cupti = {.cuptiGetDeviceId = fake_device,
                                   .cuptiGetStreamIdEx = fake_stream};
static struct trace trace;

enum {
#define ID(name, id) name##_id = id,
    CUPTI_COPY_CALLS(ID) CUPTI_SYNC_CALLS(ID) CUPTI_MEMORY_CALLS(ID) CUPTI_CODE_CALLS(ID)
        CUPTI_MAY_WAIT_CALLS(ID)
#undef ID
};

static int setup(void **state)
{
    (void)state;
    memset(&trace, 0, sizeof trace);
    waits_init();
    trace.cupti = &cupti;
    atomic_store(&trace.live, &sink);
    atomic_store(&trace.waits, true);
    wait_count = launch_count = stacks_taken = 0;
    scope_open = false;
    return 0;
}

/* Makes a driver call that takes at least ns. */
static void call(uint32_t id, uint32_t context, const void *params, int64_t ns)
{
    uint64_t data = 0;
    int result = CUDA_OK;
    struct cupti_callback c = {.site = CUPTI_SITE_ENTER,
                               .params = params,
                               .data = &data,
                               .context = (cuda_context)((uintptr_t)context << 8),
                               .context_uid = context,
                               .correlation = 5};
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, id, &c);
    for (int64_t end = clock_mono() + ns; clock_mono() < end;)
        ;
    c.site = CUPTI_SITE_EXIT;
    c.result = &result;
    launches_callback(&trace, CUPTI_DOMAIN_DRIVER, id, &c);
}

TEST(a_synchronization_is_reported_however_short)
{
    const cuda_stream stream = (cuda_stream)(uintptr_t)13;
    int64_t before = clock_mono();
    call(cuStreamSynchronize_id, 1, &stream, 2 * MS);
    call(cuCtxSynchronize_id, 1, NULL, 0);
    call(cuEventSynchronize_id, 1, &stream, 0);
    call(cuStreamWaitEvent_id, 1, &stream, 0);
    static const enum wait_call calls[] = {WAIT_STREAM, WAIT_CONTEXT, WAIT_EVENT,
                                           WAIT_STREAM_EVENT};
    assert_int_equal(wait_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waits[i].call, calls[i]);
        assert_int_equal(waits[i].async, calls[i] == WAIT_STREAM_EVENT);
        assert_int_equal(waits[i].stack, 65536 + i);
        assert_int_equal(waits[i].stream, calls[i] == WAIT_STREAM || calls[i] == WAIT_STREAM_EVENT
                                              ? 13
                                              : WAIT_NO_STREAM);
        assert_true(waits[i].start >= before);
        assert_true(waits[i].start + waits[i].duration <= clock_mono());
        assert_int_equal(waits[i].bytes, CELL_NULL);
    }
    assert_true(waits[0].duration >= 2 * MS);
    assert_int_equal(launch_count, 0); /* no activity record comes with these */
}

/* An event can be waited for without a context. */
TEST(no_context_is_none)
{
    const void *event = (const void *)(uintptr_t)16;
    call(cuEventSynchronize_id, 0, &event, 0);
    call(cuEventSynchronize_id, 3, &event, 0);
    assert_int_equal(waits[0].context, WAIT_NO_CONTEXT);
    assert_int_equal(waits[0].device, 0);
    assert_int_equal(waits[1].context, 3);
}

TEST(a_synchronization_is_reported_in_full_where_it_is_wanted)
{
    const cuda_stream stream = (cuda_stream)(uintptr_t)13;
    const struct {
        cuda_stream stream;
        const void *event;
    } waits_for = {stream, (const void *)(uintptr_t)0x7f0012345678}, none = {stream, NULL};
    call(cuStreamSynchronize_id, 1, &stream, 0);
    assert_false(waits[0].sync);
    atomic_store(&trace.kinds, UINT64_C(1) << CUPTI_KIND_SYNC);
    call(cuStreamSynchronize_id, 1, &stream, 0);
    call(cuStreamWaitEvent_id, 1, &waits_for, 0);
    call(cuEventSynchronize_id, 1, &waits_for.event, 0);
    call(cuStreamWaitEvent_id, 1, &none, 0);
    call(cuMemcpyHtoD_v2_id, 1, NULL, 0);
    assert_int_equal(wait_count, 6);
    for (int i = 1; i < 5; i++)
        assert_true(waits[i].sync);
    assert_int_equal(waits[1].event, 0);
    assert_true(waits[2].event > 0);
    assert_int_equal(waits[2].event, waits[3].event);
    assert_int_not_equal(waits[2].event, 0x7f0012345678);
    assert_int_equal(waits[4].event, 0);
    assert_false(waits[5].sync);
    assert_int_equal(launch_count, 1); /* the copy's, which has a stack */
}

/* The wait's row may inherit a scope; there is one to inherit only if some thread has scopes. */
TEST(a_synchronization_among_scopes_is_joined)
{
    const cuda_stream stream = (cuda_stream)(uintptr_t)13;
    scope_open = true;
    call(cuStreamSynchronize_id, 1, &stream, 0); /* has no row */
    assert_int_equal(launch_count, 0);
    atomic_store(&trace.kinds, UINT64_C(1) << CUPTI_KIND_SYNC);
    call(cuStreamSynchronize_id, 1, &stream, 0);
    assert_int_equal(launch_count, 1);
    assert_int_equal(launches[0].kind, LAUNCH_OTHER);
    assert_int_equal(launches[0].stack, waits[1].stack);
}

TEST(no_stream_is_the_default_one)
{
    const cuda_stream none = NULL;
    call(cuStreamSynchronize_id, 1, &none, 0);
    call(cuStreamSynchronize_ptsz_id, 1, &none, 0);
    assert_int_equal(waits[0].stream, 7);
    assert_int_equal(waits[1].stream, 99);
}

TEST(copies_report_their_size)
{
    const struct {
        uint64_t to, from;
        size_t bytes;
        cuda_stream stream;
    } copy = {1, 2, 4096, (cuda_stream)(uintptr_t)11};
    const struct {
        uint64_t to;
        unsigned value;
        size_t count;
    } fill = {1, 0, 100};
    call(cuMemcpyDtoH_v2_id, 1, &copy, 0);
    call(cuMemsetD32_v2_id, 1, &fill, 0);
    call(cuMemcpy_id, 1, &copy, 0);
    call(cuMemcpy3D_v2_id, 1, &copy, 0);
    assert_int_equal(wait_count, 4);
    assert_int_equal(waits[0].call, WAIT_COPY);
    assert_int_equal(waits[0].bytes, 4096);
    assert_int_equal(waits[0].stream, WAIT_NO_STREAM);
    assert_int_equal(waits[1].call, WAIT_FILL);
    assert_int_equal(waits[1].bytes, 400);
    assert_int_equal(waits[2].bytes, 4096);
    assert_int_equal(waits[3].bytes, CELL_NULL);
}

TEST(an_asynchronous_copy_is_reported_where_it_waited)
{
    const struct {
        uint64_t to, from;
        size_t bytes;
        cuda_stream stream;
    } copy = {1, 2, 4096, (cuda_stream)(uintptr_t)11};
    call(cuMemcpyDtoHAsync_v2_id, 1, &copy, 0);
    assert_int_equal(wait_count + launch_count + stacks_taken, 0);
    call(cuMemcpyDtoHAsync_v2_id, 1, &copy, MS);
    assert_int_equal(wait_count, 1);
    assert_true(waits[0].async);
    assert_int_equal(waits[0].stream, 11);
    assert_int_equal(waits[0].bytes, 4096);
    assert_int_equal(waits[0].stack, 65536);
    assert_int_equal(launches[0].stack, 65536);
}

TEST(memory_and_code)
{
    const struct {
        void *out;
        size_t bytes;
    } alloc = {NULL, 1 << 20};
    call(cuMemAlloc_v2_id, 1, &alloc, 0);
    call(cuMemFree_v2_id, 1, &alloc, 0);
    call(cuMemAllocAsync_id, 1, &alloc, 0);
    call(cuModuleLoadData_id, 1, NULL, 0);
    call(cuStreamDestroy_v2_id, 1, NULL, 0);
    assert_int_equal(wait_count, 2);
    assert_int_equal(waits[0].call, WAIT_ALLOC);
    assert_int_equal(waits[0].bytes, 1 << 20);
    assert_int_equal(waits[1].call, WAIT_FREE);
    assert_int_equal(waits[1].bytes, CELL_NULL);
    call(cuModuleLoadData_id, 1, NULL, MS);
    call(cuStreamDestroy_v2_id, 1, NULL, MS);
    assert_int_equal(waits[2].call, WAIT_MODULE);
    assert_int_equal(waits[3].call, WAIT_OTHER);
    assert_int_equal(launch_count, 0); /* no activity record comes with these */
}

TEST(devices_are_asked_for_once_a_context)
{
    device_questions = 0;
    for (int i = 0; i < 3; i++)
        call(cuCtxSynchronize_id, 2, NULL, 0);
    assert_int_equal(waits[2].device, 1);
    assert_int_equal(waits[2].context, 2);
    assert_true(device_questions <= 1);
}

/* CUPTI keeps a word from entry to exit; if a session starts in between, the word is arbitrary. */
TEST(a_call_that_began_before_us_is_not_reported)
{
    int64_t now = clock_mono();
    int result = CUDA_OK;
    uint64_t words[] = {1, (uint64_t)now - 1000 * MS, UINT64_MAX, (uint64_t)now << 3};
    atomic_store(&trace.since, now);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct cupti_callback c = {.site = CUPTI_SITE_EXIT, .data = &words[i], .result = &result};
        launches_callback(&trace, CUPTI_DOMAIN_DRIVER, cuCtxSynchronize_id, &c);
    }
    assert_int_equal(wait_count, 0);
    call(cuCtxSynchronize_id, 1, NULL, 0);
    assert_int_equal(wait_count, 1);
}

TEST(nothing_is_reported_where_it_is_not_asked_for)
{
    atomic_store(&trace.waits, false);
    call(cuCtxSynchronize_id, 1, NULL, MS);
    assert_int_equal(wait_count + launch_count + stacks_taken, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        T(a_synchronization_is_reported_however_short),
        T(a_synchronization_is_reported_in_full_where_it_is_wanted),
        T(a_synchronization_among_scopes_is_joined),
        T(no_context_is_none),
        T(no_stream_is_the_default_one),
        T(copies_report_their_size),
        T(an_asynchronous_copy_is_reported_where_it_waited),
        T(memory_and_code),
        T(devices_are_asked_for_once_a_context),
        T(a_call_that_began_before_us_is_not_reported),
        T(nothing_is_reported_where_it_is_not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

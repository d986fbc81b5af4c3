/* test_records.c - activity records of several library versions become rows. */
#include <stdio.h>
#include <string.h>

#include "backend/nvidia/life/graph_cuts.h"
#include "backend/nvidia/record/records.h"
#include "base/clock.h"
#include "tests/test.h"

/* ---- a sink that keeps rows ------------------------------------------------------------ */

enum { ROWS = 64, NAMES = 64 };

static struct {
    enum record_type type;
    int64_t cells[RECORD_MAX_COLUMNS];
} rows[ROWS];
static int row_count;
static struct config_row configs[ROWS];
static int config_count, stream_count, device_count, name_count;
static char names[NAMES][64];
static uint64_t lost[LOSS_COUNT];
static int messages;

static uint32_t sink_name(struct sink *s, const char *text)
{
    (void)s;
    if (!*text)
        return 0;
    for (int i = 0; i < name_count; i++)
        if (strcmp(names[i], text) == 0)
            return (uint32_t)i + 1;
    snprintf(names[name_count++], sizeof *names, "%s", text);
    return (uint32_t)name_count;
}

static uint32_t sink_device(struct sink *s, const struct device_row *d)
{
    (void)s;
    device_count++;
    return (uint32_t)d->index + 1;
}

static uint32_t sink_stream(struct sink *s, uint32_t device, int64_t context, int64_t number)
{
    (void)s, (void)device, (void)context, (void)number;
    return (uint32_t)++stream_count;
}

static uint32_t sink_config(struct sink *s, const struct config_row *c)
{
    (void)s;
    configs[config_count] = *c;
    return (uint32_t)++config_count;
}

static void sink_row(struct sink *s, enum record_type type, const void *row)
{
    (void)s;
    assert_true(row_count < ROWS);
    rows[row_count].type = type;
    memcpy(rows[row_count++].cells, row, records[type].column_count * sizeof(int64_t));
}

static void sink_lost(struct sink *s, enum loss cause, uint64_t n)
{
    (void)s;
    lost[cause] += n;
}

static void sink_message(struct sink *s, enum severity severity, const char *code, const char *fmt,
                         ...)
{
    (void)s, (void)severity, (void)code, (void)fmt;
    messages++;
}

static const struct sink_ops sink_ops = {
    .name = sink_name,
    .device = sink_device,
    .stream = sink_stream,
    .config = sink_config,
    .row = sink_row,
    .lost = sink_lost,
    .message = sink_message,
};
static struct sink sink = {.ops = &sink_ops};

#define ROW(i, type) ((const struct type##_row *)rows[i].cells)

/* ---- a library of a version ------------------------------------------------------------ */

static struct cupti cupti;

static const struct {
    int kind;
    uint32_t version;
    uint16_t bytes;
} filled[] = {
#define FILLED(kind, version, bytes, theirs) {CUPTI_KIND_##kind, version, bytes},
    CUPTI_FILLED(FILLED)
#undef FILLED
};

static int fake_next(uint8_t *buffer, size_t valid, struct cupti_record **record)
{
    uint8_t *at = buffer;
    if (*record) {
        int kind = (*record)->kind;
        size_t size = kind < CUPTI_KIND_LIMIT ? cupti.filled[kind] : 16;
        at = (uint8_t *)*record + (size ? size : 16);
    }
    if (at >= buffer + valid)
        return CUPTI_E_MAX_LIMIT_REACHED;
    *record = (struct cupti_record *)at;
    return (*record)->kind == 0 ? CUPTI_E_INVALID_KIND : CUPTI_OK;
}

static uint8_t buffer[4096] __attribute__((aligned(8)));
static size_t valid;
static struct records *reader;
static int64_t now;

static void library(uint32_t version)
{
    memset(&cupti, 0, sizeof cupti);
    cupti.version = version;
    cupti.cuptiActivityGetNextRecord = fake_next;
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++)
        if (filled[i].version <= version)
            cupti.filled[filled[i].kind] = filled[i].bytes;
    assert_int_equal(records_open(&reader, &cupti, &sink, 0), 0);
    now = clock_mono();
}

/* Appends a record as this version lays it out: cut, or followed by other bytes. */
static void put(const void *record, size_t size)
{
    uint16_t bytes = cupti.filled[((const struct cupti_record *)record)->kind];
    memset(buffer + valid, 0xA5, bytes);
    memcpy(buffer + valid, record, size < bytes ? size : bytes);
    valid += bytes;
}

#define PUT(record) put(&(record), sizeof(record))

static void decode(void)
{
    records_decode(reader, buffer, valid, false);
    valid = 0;
}

static int setup(void **state)
{
    (void)state;
    row_count = config_count = stream_count = device_count = name_count = messages = 0;
    memset(rows, 0, sizeof rows);
    memset(lost, 0, sizeof lost);
    valid = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    records_close(reader);
    reader = NULL;
    return 0;
}

static struct cupti_kernel kernel(const char *name, uint32_t correlation)
{
    return (struct cupti_kernel){
        .kind = CUPTI_KIND_KERNEL,
        .cache = 0x21,
        .registers = 32,
        .start = (uint64_t)now,
        .end = (uint64_t)now + 1500,
        .device = 1,
        .context = 1,
        .stream = 7,
        .grid = {10, 20, 30},
        .block = {128, 2, 1},
        .shared_static = 1024,
        .shared_dynamic = 2048,
        .local_per_thread = 16,
        .local_total = 4096,
        .correlation = correlation,
        .name = name,
        .shared_executed = 102400,
        .graph_node = 77,
        .graph = 5,
        .cluster = {2, 1, 1},
        .local_total64 = UINT64_C(1) << 40,
    };
}

TEST(a_kernel_of_the_newest_library)
{
    library(130001);
    struct cupti_kernel k = kernel("_Z4axpyPf", 99);
    PUT(k);
    decode();
    assert_int_equal(row_count, 1);
    assert_int_equal(rows[0].type, RECORD_kernel);
    const struct kernel_row *r = ROW(0, kernel);
    assert_int_equal(r->start, now);
    assert_int_equal(r->duration, 1500);
    assert_int_equal(r->correlation, 99);
    assert_int_equal(r->graph, 5);
    assert_int_equal(r->graph_node, 77);
    assert_int_equal(r->external_id, 0);
    const struct config_row *c = &configs[0];
    assert_string_equal(names[c->name - 1], "_Z4axpyPf");
    assert_int_equal(c->device, 2);
    assert_int_equal(c->grid_z, 30);
    assert_int_equal(c->block_x, 128);
    assert_int_equal(c->cluster_x, 2);
    assert_int_equal(c->registers, 32);
    assert_int_equal(c->shared_static, 1024);
    assert_int_equal(c->shared_dynamic, 2048);
    assert_int_equal(c->shared_executed, 102400);
    assert_int_equal(c->local_per_thread, 16);
    assert_int_equal(c->local_total, INT64_C(1) << 40);
    assert_int_equal(c->cache_requested, 1);
    assert_int_equal(c->cache_executed, 2);
}

TEST(older_libraries_fill_less)
{
    static const uint32_t versions[] = {10, 13, 15, 17, 18, 19, 28, 130000};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        setup(NULL);
        library(versions[i]);
        struct cupti_kernel k = kernel("k", 1), l = kernel("k", 2);
        struct cupti_memcpy m = {.kind = CUPTI_KIND_MEMCPY,
                                 .start = k.start,
                                 .end = k.end,
                                 .device = 1,
                                 .context = 1,
                                 .graph_node = 9};
        PUT(k);
        PUT(m);
        PUT(l);
        decode();
        assert_int_equal(row_count, 3);
        assert_int_equal(lost[LOSS_UNKNOWN_RECORD], 0);
        assert_int_equal(ROW(2, kernel)->correlation, 2);
        assert_int_equal(ROW(0, kernel)->graph, versions[i] >= 13 ? 5 : 0);
        assert_int_equal(ROW(1, memcpy)->graph_node, versions[i] >= 13 ? 9 : 0);
        assert_int_equal(config_count, 1);
        assert_int_equal(configs[0].cluster_x, versions[i] >= 18 ? 2 : 0);
        assert_int_equal(configs[0].local_total, versions[i] >= 18 ? INT64_C(1) << 40 : 4096);
        teardown(NULL);
    }
}

/* If records are switched off while nodes of a graph run, CUPTI invents the ends of these nodes.
 * The times of kernels that are launched one by one, and of nodes that ended before or began
 * later, are as CUPTI reports them. */
TEST(graphs_end_with_the_records)
{
    static const struct {
        int64_t start, end;
        bool node;
        int64_t duration;
    } cases[] = {
        {-9000, -5000, true, 4000}, /* ended before records were off */
        {-3000, 900000, true, 3000},
        {-3000, 900000, false, 903000},
        {2000, 900000, true, 0},       /* launched before, began later */
        {20000, 23000, true, 3000},    /* records are on again */
        {49000, 90000000, true, 1000}, /* records were switched off again */
        {70000, 90000000, false, 89930000},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    library(130001);
    now -= 500000000;
    graph_cuts_open();
    assert_int_equal(graph_cuts_duration(now, 77), 77);
    graph_cuts_off(now);
    graph_cuts_on(now + 10000);
    graph_cuts_on(now + 12000);
    graph_cuts_off(now + 50000);
    for (int i = 0; i < CASES; i++) {
        struct cupti_kernel k = kernel("k", (uint32_t)i + 1);
        k.start = (uint64_t)(now + cases[i].start);
        k.end = (uint64_t)(now + cases[i].end);
        if (!cases[i].node)
            k.graph_node = k.graph = 0;
        PUT(k);
    }
    struct cupti_memset f = {.kind = CUPTI_KIND_MEMSET,
                             .start = (uint64_t)(now + 48000),
                             .end = (uint64_t)(now + 90000000),
                             .device = 1,
                             .context = 1,
                             .graph_node = 9};
    PUT(f);
    decode();
    assert_int_equal(row_count, CASES + 1);
    for (int i = 0; i < CASES; i++)
        assert_int_equal(ROW(i, kernel)->duration, cases[i].duration);
    assert_int_equal(ROW(CASES, memset)->duration, 2000);
    assert_int_equal(graph_cuts_count(), 4);
    graph_cuts_open();
    assert_int_equal(graph_cuts_count(), 0);
    assert_int_equal(graph_cuts_duration(now, 900000), 900000);
}

TEST(what_is_shared_is_asked_for_once)
{
    library(130001);
    char name[] = "first";
    struct cupti_kernel k = kernel(name, 1);
    PUT(k);
    PUT(k);
    decode();
    assert_int_equal(config_count, 1);
    assert_int_equal(stream_count, 1);
    assert_int_equal(device_count, 1);
    k.grid[0] = 11;
    PUT(k);
    decode();
    assert_int_equal(config_count, 2);
    strcpy(name, "other"); /* the same address, another kernel: a module was unloaded */
    PUT(k);
    decode();
    assert_int_equal(config_count, 3);
    assert_string_equal(names[configs[2].name - 1], "other");
    k.stream = 8;
    k.device = 0;
    PUT(k);
    decode();
    assert_int_equal(config_count, 4);
    assert_int_equal(stream_count, 2);
    assert_int_equal(device_count, 2);
    assert_int_equal(row_count, 5);
}

TEST(impossible_times_are_counted_not_written)
{
    library(130001);
    const struct {
        int64_t start, end;
    } bad[] = {
        {0, 0},
        {0, now},
        {now + 10, now},
        {now - INT64_C(3600000000000), now},
        {now, now + INT64_C(3600000000000)},
        {1, 2},
        {INT64_MAX, INT64_MAX},
        {now, -1},
        {INT64_MIN, -1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cupti_kernel k = kernel("k", (uint32_t)i);
        k.start = (uint64_t)bad[i].start;
        k.end = (uint64_t)bad[i].end;
        PUT(k);
    }
    struct cupti_kernel good = kernel("k", 100);
    good.end = good.start; /* shorter than the clock's resolution */
    PUT(good);
    decode();
    assert_int_equal(lost[LOSS_TIME], sizeof bad / sizeof *bad);
    assert_int_equal(row_count, 1);
    assert_int_equal(ROW(0, kernel)->duration, 0);
}

TEST(copies_fills_waits_and_allocations)
{
    library(130001);
    uint64_t t = (uint64_t)now;
    struct cupti_kernel k = kernel("k", 1); /* gives the context's device */
    struct cupti_memcpy m = {
        CUPTI_KIND_MEMCPY, 1, 2, 3, CUPTI_ASYNC, 4096, t, t + 5, 1, 1, 7, 11, 0, 0, NULL, 0};
    struct cupti_peer p = {.kind = CUPTI_KIND_PEER,
                           .copy_kind = 10,
                           .bytes = 8,
                           .start = t,
                           .end = t + 1,
                           .device = 1,
                           .src_device = 1,
                           .dst_device = 3};
    struct cupti_memset f = {.kind = CUPTI_KIND_MEMSET,
                             .value = 255,
                             .bytes = 100,
                             .start = t,
                             .end = t + 2,
                             .device = 1,
                             .context = 1,
                             .stream = 7,
                             .correlation = 12,
                             .memory = 3};
    struct cupti_memory a = {.kind = CUPTI_KIND_MEMORY,
                             .operation = 1,
                             .memory = 3,
                             .correlation = 14,
                             .address = UINT64_C(0xfedcba9876543210),
                             .bytes = 512,
                             .time = t,
                             .device = 1,
                             .context = 1,
                             .stream = CUPTI_NONE};
    struct cupti_overhead o = {.kind = CUPTI_KIND_OVERHEAD,
                               .overhead = 2 << 16,
                               .object = CUPTI_OBJECT_THREAD,
                               .thread = 4321,
                               .start = t,
                               .end = t + 3};
    PUT(k), PUT(m), PUT(p), PUT(f), PUT(a), PUT(o);
    decode();
    assert_int_equal(row_count, 6);
    const struct memcpy_row *mr = ROW(1, memcpy), *pr = ROW(2, memcpy);
    assert_int_equal(mr->bytes, 4096);
    assert_int_equal(mr->kind, 1);
    assert_int_equal(mr->src_memory, 2);
    assert_int_equal(mr->dst_memory, 3);
    assert_int_equal(mr->async, 1);
    assert_int_equal(mr->correlation, 11);
    assert_int_equal(mr->stream, ROW(0, kernel)->stream);
    assert_int_equal(pr->peer, 4);
    assert_int_equal(pr->kind, 10);
    assert_int_equal(ROW(3, memset)->value, 255);
    assert_int_equal(ROW(3, memset)->memory, 3);
    assert_int_equal(ROW(4, alloc)->op, 1);
    assert_int_equal((uint64_t)ROW(4, alloc)->address, UINT64_C(0xfedcba9876543210));
    assert_int_equal(ROW(4, alloc)->stream, 0);
    assert_string_equal(names[ROW(5, overhead)->kind - 1], "instrumentation");
    assert_int_equal(ROW(5, overhead)->thread, 4321);
}

TEST(operation_ids_reach_their_kernels_in_either_order)
{
    library(130001);
    struct cupti_external x = {CUPTI_KIND_EXTERNAL, 3, UINT64_C(1) << 50, 21, 0};
    struct cupti_external outer = {CUPTI_KIND_EXTERNAL, 4, 5, 21, 0}, y = x;
    struct cupti_kernel k = kernel("k", 21), l = kernel("k", 22);
    assert_false(records_want_prescan(reader));
    PUT(x), PUT(outer), PUT(k);
    decode();
    assert_int_equal(ROW(0, kernel)->external_kind, 3);
    assert_int_equal(ROW(0, kernel)->external_id, INT64_C(1) << 50);
    assert_true(records_want_prescan(reader));
    y.correlation = 22;
    PUT(l), PUT(y);
    records_prescan(reader, buffer, valid);
    decode();
    assert_int_equal(ROW(1, kernel)->external_kind, 3);
    assert_int_equal(row_count, 2);
}

TEST(unknown_records_are_counted_and_passed_over)
{
    library(130001);
    struct cupti_record strange[4] = {{.kind = 50}};
    struct cupti_kernel k = kernel("k", 1);
    memcpy(buffer, strange, 16);
    valid = 16;
    PUT(k);
    decode();
    assert_int_equal(lost[LOSS_UNKNOWN_RECORD], 1);
    assert_int_equal(row_count, 1);
    PUT(k);
    memset(buffer + valid, 0, 16); /* no record that can be decoded */
    valid += 16;
    decode();
    assert_int_equal(lost[LOSS_UNKNOWN_RECORD], 2);
    assert_int_equal(messages, 1);
    assert_int_equal(row_count, 2);
    records_decode(reader, buffer, 0, false);
    assert_int_equal(lost[LOSS_UNKNOWN_RECORD], 2);
}

/* A buffer that CUPTI got in the session before holds kernels of both sessions. */
TEST(an_old_buffer_has_rows_of_this_session_only)
{
    library(130001);
    struct cupti_kernel before = kernel("before", 1), own = kernel("own", 2);
    before.start = (uint64_t)now - 500000000;
    before.end = before.start + 1000;
    PUT(before);
    PUT(own);
    records_decode(reader, buffer, valid, true);
    assert_int_equal(row_count, 1);
    assert_int_equal(ROW(0, kernel)->correlation, 2);
    assert_int_equal(lost[LOSS_TIME], 0);
    valid = 0;
    PUT(before); /* in a buffer of this session the tolerance of the clocks allows it */
    decode();
    assert_int_equal(row_count, 2);
}

TEST(kernels_can_be_counted_only)
{
    library(130001);
    struct cupti_kernel k = kernel("k", 1);
    struct cupti_memset f = {.kind = CUPTI_KIND_MEMSET};
    PUT(k), PUT(f), PUT(k);
    assert_int_equal(records_count_kernels(&cupti, buffer, valid), 2);
    assert_int_equal(row_count, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_kernel_of_the_newest_library),
        CASE(older_libraries_fill_less),
        CASE(graphs_end_with_the_records),
        CASE(what_is_shared_is_asked_for_once),
        CASE(impossible_times_are_counted_not_written),
        CASE(copies_fills_waits_and_allocations),
        CASE(operation_ids_reach_their_kernels_in_either_order),
        CASE(unknown_records_are_counted_and_passed_over),
        CASE(an_old_buffer_has_rows_of_this_session_only),
        CASE(kernels_can_be_counted_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

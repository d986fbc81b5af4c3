/* test_tiles.c - the pyramid against sums made the slow way: every event in exactly one of
 * tiles and spans at every level, whatever its time and length, and however often
 * it is read. */
#include "analyze/model/tiles.h"
#include "base/alloc.h"
#include "base/err.h"
#include "tests/test.h"
#include "wire/event_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random events --------------------------------------------------------------------------- */

static uint64_t seed;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

struct event {
    int64_t lane, start, duration, name, ref;
};

/* Describes a session of the kind that `shape` says. */
struct shape {
    unsigned streams, names;
    int64_t from, step;   /* ns: times grow by up to 2 x step */
    int64_t back;         /* and are up to this much earlier */
    unsigned longest_log; /* durations: up to 2^this ns */
    int64_t absurd;       /* one row in this many has no interval; 0: none */
};

static const struct shape shapes[] = {
    {1, 1, 1000000000, 4000, 0, 14, 0},      {4, 6, 5000000000, 9000, 200000, 22, 0},
    {3, 40, -3000000000, 700, 5000, 12, 50}, {10000, 3, 1ll << 61, 100000, 90000000000, 43, 20},
    {2, 8, 0, 3000000000, 1000000, 37, 7},
};

enum { ROWS = 512, EVENTS = 40000 };

static int64_t draw_duration(const struct shape *s)
{
    unsigned bits = (unsigned)(draw() % (s->longest_log + 1));
    return (int64_t)(draw() & ((1ull << bits) - 1));
}

/* Fills a batch's columns; appends its events to *at. */
static void make_batch(const struct shape *s, int64_t *now, int64_t cells[5][ROWS],
                       struct event **at, uint64_t *absurd)
{
    for (int i = 0; i < ROWS; i++) {
        *now += (int64_t)(draw() % (uint64_t)(2 * s->step));
        int64_t start = *now - (s->back ? (int64_t)(draw() % (uint64_t)s->back) : 0);
        int64_t ns = draw_duration(s), config = 1 + (int64_t)(draw() % (2ull * s->names));
        cells[0][i] = start;
        cells[1][i] = ns;
        cells[2][i] = config;
        cells[3][i] = 1 + (int64_t)(draw() % s->streams);
        cells[4][i] = (int64_t)(draw() & 0xffffffff);
        if (s->absurd && draw() % (uint64_t)s->absurd == 0) {
            const int64_t bad[][2] = {{CELL_NULL, 5},
                                      {start, CELL_NULL},
                                      {start, -1},
                                      {INT64_MAX, 1},
                                      {start, INT64_MAX}};
            const int64_t *b = bad[draw() % 5];
            cells[0][i] = b[0];
            cells[1][i] = b[1];
            ++*absurd;
            continue;
        }
        *(*at)++ = (struct event){lane_make(LANE_KERNEL, 0, cells[3][i]), start, ns,
                                  100 + (config - 1) % s->names, cells[4][i]};
    }
}

/* ---- what the sink gets ---------------------------------------------------------------------- */

struct got {
    struct tile *tiles[TILE_LEVELS];
    struct tile_span *spans[TILE_LEVELS];
    size_t tile_count[TILE_LEVELS], span_count[TILE_LEVELS];
    int fail_after; /* calls until the sink fails; 0: never */
};

static int sink_fails(struct got *g)
{
    return g->fail_after && --g->fail_after == 0 ? GPUFL_E_IO : 0;
}

static int take_tiles(void *arg, int level, const struct tile *rows, size_t n)
{
    struct got *g = arg;
    if (sink_fails(g))
        return GPUFL_E_IO;
    g->tiles[level] = realloc(g->tiles[level], (g->tile_count[level] + n) * sizeof *rows);
    memcpy(g->tiles[level] + g->tile_count[level], rows, n * sizeof *rows);
    g->tile_count[level] += n;
    return 0;
}

static int take_spans(void *arg, int level, const struct tile_span *rows, size_t n)
{
    struct got *g = arg;
    if (sink_fails(g))
        return GPUFL_E_IO;
    g->spans[level] = realloc(g->spans[level], (g->span_count[level] + n) * sizeof *rows);
    memcpy(g->spans[level] + g->span_count[level], rows, n * sizeof *rows);
    g->span_count[level] += n;
    return 0;
}

static void got_fini(struct got *g)
{
    for (int i = 0; i < TILE_LEVELS; i++) {
        free(g->tiles[i]);
        free(g->spans[i]);
    }
}

static int by_key(const void *a, const void *b)
{
    const struct tile *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    return 0;
}

/* Adds up the rows of one bucket, as a reader does; returns how many are left. */
static size_t add_up(struct tile *rows, size_t n)
{
    size_t out = 0;
    qsort(rows, n, sizeof *rows, by_key);
    for (size_t i = 0; i < n; i++) {
        if (out && by_key(&rows[out - 1], &rows[i]) == 0) {
            struct tile *t = &rows[out - 1];
            t->events += rows[i].events;
            t->busy += rows[i].busy;
            t->longest = rows[i].longest > t->longest ? rows[i].longest : t->longest;
        } else {
            rows[out++] = rows[i];
        }
    }
    return out;
}

static int by_span(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tile_span));
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void compare_tiles(const struct got *g, int level, const struct event *events, size_t n)
{
    struct tile *rows = malloc((n + 1) * sizeof *rows);
    size_t count = 0, spans = 0;
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &events[i];
        if (e->duration < TILE_WIDTH(level))
            rows[count++] = (struct tile){
                e->lane, e->start >> TILE_LEVEL_SHIFT(level), 1, e->duration, e->duration, 0, 0};
    }
    for (int above = level; above < TILE_LEVELS; above++)
        spans += g->span_count[above];
    assert_int_equal(count + spans, n); /* each in exactly one */
    count = add_up(rows, count);
    size_t had = add_up(g->tiles[level], g->tile_count[level]);
    assert_int_equal(had, count);
    for (size_t i = 0; i < count; i++) {
        const struct tile *a = &g->tiles[level][i], *b = &rows[i];
        assert_true(by_key(a, b) == 0 && a->events == b->events && a->busy == b->busy &&
                    a->longest == b->longest);
    }
    free(rows);
}

static void compare_spans(const struct got *g, int level, const struct event *events, size_t n)
{
    struct tile_span *rows = malloc((n + 1) * sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &events[i];
        bool here = e->duration >= TILE_WIDTH(level) &&
                    (level == TILE_LEVELS - 1 || e->duration < TILE_WIDTH(level + 1));
        if (here)
            rows[count++] = (struct tile_span){e->lane, e->start, e->duration, e->name, e->ref};
    }
    assert_int_equal(g->span_count[level], count);
    if (count) {
        qsort(rows, count, sizeof *rows, by_span);
        qsort(g->spans[level], count, sizeof *rows, by_span);
        assert_memory_equal(rows, g->spans[level], count * sizeof *rows);
    }
    free(rows);
}

static void define_configs(struct tiles *t, const struct shape *s, const struct tiles_sink *sink)
{
    int64_t ids[128], names[128];
    size_t n = 2 * s->names;
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int64_t)i + 1;
        names[i] = 100 + (int64_t)(i % s->names);
    }
    struct wire_batch b = {.type = RECORD_config, .record = &records[RECORD_config], .rows = n};
    b.col[COL_config_id] = ids;
    b.col[COL_config_name] = names;
    assert_int_equal(tiles_batch(t, &b, sink), 0);
}

static void run_shape(const struct shape *s, uint64_t from_seed, unsigned flush_one_in)
{
    static struct event events[EVENTS];
    static int64_t cells[5][ROWS];
    struct event *at = events;
    struct got g = {0};
    const struct tiles_sink sink = {&g, take_tiles, take_spans};
    struct tiles *t;
    uint64_t absurd = 0;
    int64_t now = s->from;
    seed = from_seed;
    assert_int_equal(tiles_open(&t), 0);
    define_configs(t, s, &sink);
    while (at + ROWS <= events + EVENTS) {
        make_batch(s, &now, cells, &at, &absurd);
        struct wire_batch b = {
            .type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = ROWS};
        b.col[COL_kernel_start] = cells[0];
        b.col[COL_kernel_duration] = cells[1];
        b.col[COL_kernel_config] = cells[2];
        b.col[COL_kernel_stream] = cells[3];
        b.col[COL_kernel_correlation] = cells[4];
        assert_int_equal(tiles_batch(t, &b, &sink), 0);
        if (flush_one_in && draw() % flush_one_in == 0)
            assert_int_equal(tiles_flush(t, &sink), 0);
    }
    assert_int_equal(tiles_flush(t, &sink), 0);
    assert_int_equal(tiles_left_out(t), absurd);
    for (int level = 0; level < TILE_LEVELS; level++) {
        compare_spans(&g, level, events, (size_t)(at - events));
        compare_tiles(&g, level, events, (size_t)(at - events));
    }
    tiles_close(t);
    got_fini(&g);
}

TEST(test_reference)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned round = 0; round < 3; round++)
            run_shape(&shapes[i], 0x1234567 + 77 * round + i, round * 7);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Feeds n kernels of 100 ns each at one time, with the names that `pick` chooses; returns the
 * tile. */
static struct tile name_of(uint32_t (*pick)(int i), int n, int level)
{
    enum { MOST = 4096 };
    static int64_t start[MOST], duration[MOST], config[MOST], ids[64], names[64];
    struct got g = {0};
    const struct tiles_sink sink = {&g, take_tiles, take_spans};
    struct tiles *t;
    assert_int_equal(tiles_open(&t), 0);
    for (int i = 0; i < 64; i++)
        ids[i] = names[i] = i + 1;
    struct wire_batch c = {.type = RECORD_config, .record = &records[RECORD_config], .rows = 64};
    c.col[COL_config_id] = ids;
    c.col[COL_config_name] = names;
    assert_int_equal(tiles_batch(t, &c, &sink), 0);
    for (int i = 0; i < n; i++) {
        start[i] = i * (TILE_WIDTH(level) / n);
        duration[i] = 100;
        config[i] = pick(i);
    }
    struct wire_batch b = {
        .type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = (size_t)n};
    b.col[COL_kernel_start] = start;
    b.col[COL_kernel_duration] = duration;
    b.col[COL_kernel_config] = config;
    assert_int_equal(tiles_batch(t, &b, &sink), 0);
    assert_int_equal(tiles_flush(t, &sink), 0);
    assert_int_equal(g.tile_count[level], 1);
    struct tile row = g.tiles[level][0];
    tiles_close(t);
    got_fini(&g);
    return row;
}

static uint32_t pick_one_of_three(int i)
{
    return i % 10 < 2 ? 7 : i % 10 < 5 ? 3 : 9;
}

static uint32_t pick_mostly_one(int i)
{
    return i % 5 ? 40 : 1 + (uint32_t)(i / 5) % 39;
}

static uint32_t pick_unknown(int i)
{
    (void)i;
    return 63;
}

TEST(test_names)
{
    for (int level = 0; level < 3; level++) {
        struct tile few = name_of(pick_one_of_three, 1000, level);
        assert_int_equal(few.name, 9);
        assert_int_equal(few.name_busy, 500 * 100); /* exact: fewer names than counters */
        struct tile many = name_of(pick_mostly_one, 1000, level);
        assert_int_equal(many.name, 40);
        assert_in_range(many.name_busy, 100 * (800 - 222), 100 * 800);
        assert_int_equal(name_of(pick_unknown, 10, level).name, 63);
    }
}

/* A configuration that nobody defined, or none, is no name; times and sums are there. */
TEST(test_no_name)
{
    int64_t start[3] = {10, 20, 30}, duration[3] = {1, 2, 3}, config[3] = {0, 12345678, CELL_NULL};
    struct got g = {0};
    const struct tiles_sink sink = {&g, take_tiles, take_spans};
    struct tiles *t;
    assert_int_equal(tiles_open(&t), 0);
    struct wire_batch b = {.type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = 3};
    b.col[COL_kernel_start] = start;
    b.col[COL_kernel_duration] = duration;
    b.col[COL_kernel_config] = config;
    assert_int_equal(tiles_batch(t, &b, &sink), 0);
    assert_int_equal(tiles_flush(t, &sink), 0);
    assert_int_equal(g.tile_count[0], 1);
    assert_true(g.tiles[0][0].name == 0 && g.tiles[0][0].events == 3 && g.tiles[0][0].busy == 6 &&
                g.tiles[0][0].longest == 3);
    tiles_close(t);
    got_fini(&g);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void feed_one(struct tiles *t, enum record_type type, const int64_t *cells,
                     const struct tiles_sink *sink)
{
    struct wire_batch b = {.type = type, .record = &records[type], .rows = 1};
    for (unsigned i = 0; i < b.record->column_count; i++)
        b.col[i] = &cells[i];
    assert_int_equal(tiles_batch(t, &b, sink), 0);
}

/* Feeds one row of a record. */
#define FEED(record, ...)                                                                          \
    feed_one(t, RECORD_##record, (const int64_t *)&(struct record##_row){__VA_ARGS__}, &sink)

TEST(test_lanes)
{
    struct got g = {0};
    const struct tiles_sink sink = {&g, take_tiles, take_spans};
    const int64_t ns = TILE_WIDTH(2) + 1;
    struct tiles *t;
    assert_int_equal(tiles_open(&t), 0);
    FEED(memcpy, .start = 5, .duration = ns, .stream = 3, .correlation = 11);
    FEED(memset, .start = 6, .duration = ns, .stream = 3, .correlation = 12);
    FEED(sync, .start = 7, .duration = ns, .thread = CELL_NULL, .correlation = 13);
    FEED(wait, .start = 8, .duration = ns, .thread = 99, .correlation = 14);
    FEED(scope, .start = 9, .duration = ns, .thread = 99, .depth = 700, .name = 21, .instance = 15);
    FEED(graph_launch, .start = 10, .duration = ns, .thread = 99, .correlation = 16);
    FEED(graph_run, .start = 11, .duration = ns, .stream = 3, .correlation = 17);
    FEED(overhead, .start = 1, .duration = 5); /* no lane */
    assert_int_equal(tiles_flush(t, &sink), 0);
    const int64_t lanes[] = {lane_make(LANE_COPY, 0, 3),     lane_make(LANE_COPY, 0, 3),
                             lane_make(LANE_SYNC, 0, 0),     lane_make(LANE_WAIT, 0, 99),
                             lane_make(LANE_SCOPE, 255, 99), lane_make(LANE_GRAPH, 0, 99),
                             lane_make(LANE_RUN, 0, 3)};
    const int64_t names[] = {event_name_of(RECORD_memcpy, 0),
                             event_name_of(RECORD_memset, 0),
                             event_name_of(RECORD_sync, 0),
                             event_name_of(RECORD_wait, 0),
                             21,
                             event_name_of(RECORD_graph_launch, 0),
                             event_name_of(RECORD_graph_run, 0)};
    assert_int_equal(g.span_count[2], 7);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(g.spans[2][i].lane, lanes[i]);
        assert_int_equal(g.spans[2][i].start, 5 + i);
        assert_int_equal(g.spans[2][i].ref, 11 + i);
        assert_int_equal(g.spans[2][i].name, names[i]);
    }
    assert_int_equal(g.tile_count[2], 0);
    assert_int_equal(g.tile_count[3], 6);
    assert_int_equal(lane_depth_of(lanes[4]), 255);
    assert_int_equal(lane_kind_of(lanes[4]), LANE_SCOPE);
    assert_int_equal(lane_ref_of(lanes[4]), 99);
    tiles_close(t);
    got_fini(&g);
}

/* Marks have no duration: a bucket says how many there are, and the most frequent name. */
TEST(test_marks)
{
    enum { MARKS = 10000, FREQUENT = 21, OTHER };
    struct got g = {0};
    const struct tiles_sink sink = {&g, take_tiles, take_spans};
    struct tiles *t;
    int64_t events = 0;
    assert_int_equal(tiles_open(&t), 0);
    for (int i = 0; i < MARKS; i++) /* in a second */
        FEED(mark, .start = (int64_t)i * 100000, .thread = 99, .name = i % 3 ? FREQUENT : OTHER);
    FEED(mark, .start = CELL_NULL, .thread = 99, .name = OTHER);
    assert_int_equal(tiles_left_out(t), 1);
    assert_int_equal(tiles_flush(t, &sink), 0);
    for (int level = 0; level < TILE_LEVELS; level++) {
        assert_int_equal(g.span_count[level], 0);
        events = 0;
        for (size_t i = 0; i < g.tile_count[level]; i++) {
            const struct tile *tile = &g.tiles[level][i];
            events += tile->events;
            assert_int_equal(tile->lane, lane_make(LANE_MARK, 0, 99));
            assert_int_equal(tile->busy, 0);
            assert_int_equal(tile->longest, 0);
            assert_true(tile->name == FREQUENT || (tile->name == OTHER && level == 0));
            assert_true(tile->name_busy > 0 && tile->name_busy <= tile->events);
        }
        assert_int_equal(events, MARKS);
        assert_true((int64_t)g.tile_count[level] <= INT64_C(1000000000) / TILE_WIDTH(level) + 1);
    }
    tiles_close(t);
    got_fini(&g);
}

/* ---- failures -------------------------------------------------------------------------------- */

static int feed_many(struct tiles *t, const struct tiles_sink *sink)
{
    enum { N = 60000 };
    static int64_t start[N], duration[N];
    for (int i = 0; i < N; i++) {
        start[i] = (int64_t)i * TILE_WIDTH(0);
        duration[i] = i % 3 ? 10 : 3 * TILE_WIDTH(1);
    }
    struct wire_batch b = {.type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = N};
    b.col[COL_kernel_start] = start;
    b.col[COL_kernel_duration] = duration;
    int rc = tiles_batch(t, &b, sink);
    return rc ? rc : tiles_flush(t, sink);
}

/* A sink fails once: unfinished tiles are dropped, and the same events give whole tiles
 * afterwards. */
TEST(test_sink_fails)
{
    for (int at = 1; at < 400; at += 13) {
        struct got g = {.fail_after = at};
        struct tiles_sink sink = {&g, take_tiles, take_spans};
        struct tiles *t;
        assert_int_equal(tiles_open(&t), 0);
        int rc = feed_many(t, &sink);
        assert_true(rc == GPUFL_E_IO || rc == 0);
        tiles_drop(t);
        got_fini(&g);
        g = (struct got){0};
        assert_int_equal(feed_many(t, &sink), 0);
        int64_t events = 0;
        for (size_t i = 0; i < g.tile_count[TILE_LEVELS - 1]; i++)
            events += g.tiles[TILE_LEVELS - 1][i].events;
        assert_int_equal(events, 60000);
        tiles_close(t);
        got_fini(&g);
    }
}

TEST(test_no_memory)
{
    for (int64_t at = 0;; at++) {
        struct got g = {0};
        const struct tiles_sink sink = {&g, take_tiles, take_spans};
        struct tiles *t = NULL;
        mem_fail_at(at);
        int rc = tiles_open(&t);
        rc = rc ? rc : feed_many(t, &sink);
        bool failed = mem_count() > at;
        mem_fail_at(-1);
        assert_int_equal(rc, failed ? GPUFL_E_NOMEM : 0);
        tiles_close(t);
        got_fini(&g);
        if (!failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_name),   cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_marks),     cmocka_unit_test(test_sink_fails),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tiles.c - keeps buckets by lane and time, in levels.
 *
 * An event is added once, at the lowest level whose buckets are longer than it is. When a level is
 * put out, each of its buckets is added to the level above, eight to one: so a level costs an
 * eighth of the one below, and nothing per event. The invariant of wire/tile.h holds for each
 * level: all events in a bucket of level k are shorter than that bucket, and so shorter than the
 * bucket of level k + 1.
 *
 * The name of a bucket comes from a summary of TILES_NAMES counters (Misra and Gries): a name that
 * has more than a ninth of the bucket's time is kept. Its sum is never too great, and exact if
 * there are no more names than counters. */
#include "analyze/model/tiles.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/err.h"
#include "wire/event_name.h"

#include <stdbool.h>
#include <string.h>

enum {
    FIRST_BUCKETS = 64,
    CONFIGS_MAX = 1 << 22, /* largest configuration id whose name is known */
    ROWS_AT_ONCE = 256,
};

/* This is a bucket being summed up. */
struct bucket {
    int64_t lane, at; /* key; at: floor(start / width of the level) */
    int64_t events, busy, longest;
    uint32_t name_count;
    uint32_t names[TILES_NAMES]; /* in no order */
    int64_t sums[TILES_NAMES];   /* ns */
};

/* Holds the buckets of a level, in the order in which they came, with a hash index of their
 * keys. */
struct level {
    struct bucket *items; /* owned */
    uint32_t *index;      /* owned: position in items + 1; 0: free; 2 x cap entries */
    size_t count, cap;    /* cap: a power of two */
};

struct tiles {
    struct level levels[TILE_LEVELS];
    struct tile_span *spans[TILE_LEVELS]; /* owned: ROWS_AT_ONCE at most */
    size_t span_count[TILE_LEVELS], span_cap[TILE_LEVELS];
    uint32_t *names; /* owned: configuration id to name id; 0: unknown */
    size_t name_count, name_cap;
    uint64_t left_out;
};

int tiles_open(struct tiles **out)
{
    *out = mem_zalloc(sizeof **out);
    return *out ? 0 : GPUFL_E_NOMEM;
}

/* Frees the memory of sums and spans, which are empty. */
static void rest(struct tiles *t)
{
    for (int i = 0; i < TILE_LEVELS; i++) {
        mem_free(t->levels[i].items);
        mem_free(t->levels[i].index);
        mem_free(t->spans[i]);
        t->levels[i] = (struct level){0};
        t->spans[i] = NULL;
        t->span_count[i] = t->span_cap[i] = 0;
    }
}

void tiles_close(struct tiles *t)
{
    if (!t)
        return;
    rest(t);
    mem_free(t->names);
    mem_free(t);
}

uint64_t tiles_left_out(const struct tiles *t)
{
    return t->left_out;
}

/* ---- the buckets of a level ---------------------------------------------------------------- */

/* The index is not a struct keyed, for speed: a level is emptied many times, and every row of a
 * session is looked up (bench_tiles). */
static inline uint64_t hash_key(int64_t lane, int64_t at)
{
    uint64_t h = (uint64_t)lane * 0x9e3779b97f4a7c15 ^ (uint64_t)at * 0xd1b54a32d192ed03;
    return h ^ h >> 29;
}

static void level_clear(struct level *l)
{
    if (l->count)
        memset(l->index, 0, 2 * l->cap * sizeof *l->index);
    l->count = 0;
}

static int level_grow(struct level *l)
{
    size_t cap = l->cap ? 2 * l->cap : FIRST_BUCKETS;
    uint32_t *index = mem_array(2 * cap, sizeof *index);
    struct bucket *items = index ? mem_realloc(l->items, cap * sizeof *items) : NULL;
    if (!items) {
        mem_free(index);
        return GPUFL_E_NOMEM;
    }
    mem_free(l->index);
    l->items = items;
    l->index = index;
    l->cap = cap;
    for (size_t i = 0; i < l->count; i++) {
        uint64_t at = hash_key(items[i].lane, items[i].at) & (2 * cap - 1);
        while (index[at])
            at = (at + 1) & (2 * cap - 1);
        index[at] = (uint32_t)i + 1;
    }
    return 0;
}

/* Finds or adds the bucket of a key; NULL: there is no room for a new one. */
static inline struct bucket *level_bucket(struct level *l, int64_t lane, int64_t at)
{
    if (!l->cap)
        return NULL;
    uint64_t mask = 2 * l->cap - 1, i = hash_key(lane, at) & mask;
    for (; l->index[i]; i = (i + 1) & mask) {
        struct bucket *b = &l->items[l->index[i] - 1];
        if (b->lane == lane && b->at == at)
            return b;
    }
    if (l->count == l->cap)
        return NULL;
    struct bucket *b = &l->items[l->count++];
    l->index[i] = (uint32_t)l->count;
    b->lane = lane;
    b->at = at;
    b->events = b->busy = b->longest = 0;
    b->name_count = 0;
    return b;
}

/* This is used for a name without a counter while all counters are used: each counter loses the new
 * name's time, or the least counter if that is less. */
static void bucket_contest(struct bucket *b, uint32_t name, int64_t ns)
{
    int64_t least = ns;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->name_count; i++)
        least = b->sums[i] < least ? b->sums[i] : least;
    for (uint32_t i = 0; i < b->name_count; i++) {
        if (b->sums[i] == least)
            continue;
        b->names[kept] = b->names[i];
        b->sums[kept++] = b->sums[i] - least;
    }
    if (ns > least) { /* then a counter has become free */
        b->names[kept] = name;
        b->sums[kept++] = ns - least;
    }
    b->name_count = kept;
}

static inline void bucket_name(struct bucket *b, uint32_t name, int64_t ns)
{
    if (!name || !ns)
        return;
    uint32_t n = b->name_count;
    for (uint32_t i = 0; i < n; i++)
        if (b->names[i] == name) {
            b->sums[i] = cells_sum(b->sums[i], ns);
            return;
        }
    if (n == TILES_NAMES) {
        bucket_contest(b, name, ns);
        return;
    }
    b->names[n] = name;
    b->sums[n] = ns;
    b->name_count = n + 1;
}

/* Makes the row of a bucket. Of names with equal sums, the least id counts. */
static struct tile bucket_row(const struct bucket *b)
{
    struct tile row = {b->lane, b->at, b->events, b->busy, b->longest, 0, 0};
    for (uint32_t i = 0; i < b->name_count; i++)
        if (b->sums[i] > row.name_busy ||
            (b->sums[i] == row.name_busy && b->names[i] < (uint32_t)row.name)) {
            row.name = b->names[i];
            row.name_busy = b->sums[i];
        }
    return row;
}

/* ---- delivering ----------------------------------------------------------------------------- */

static int hand_out(struct tiles *t, int level, const struct tiles_sink *sink);

/* Finds the bucket of a key at a level; a full level is given out first. */
static int find_bucket(struct tiles *t, int level, int64_t lane, int64_t at,
                       const struct tiles_sink *sink, struct bucket **out)
{
    struct level *l = &t->levels[level];
    *out = level_bucket(l, lane, at);
    if (*out)
        return 0;
    int rc = l->cap < TILES_MOST ? level_grow(l) : hand_out(t, level, sink);
    if (!rc)
        *out = level_bucket(l, lane, at);
    return rc;
}

static int add_to_above(struct tiles *t, int level, const struct bucket *from,
                        const struct tiles_sink *sink)
{
    struct bucket *b;
    int rc = find_bucket(t, level + 1, from->lane, from->at >> TILE_SHIFT_STEP, sink, &b);
    if (rc)
        return rc;
    b->events += from->events;
    b->busy = cells_sum(b->busy, from->busy);
    b->longest = from->longest > b->longest ? from->longest : b->longest;
    for (uint32_t i = 0; i < from->name_count; i++)
        bucket_name(b, from->names[i], from->sums[i]);
    return 0;
}

/* Gives all buckets of a level to the sink and to the level above. */
static int hand_out(struct tiles *t, int level, const struct tiles_sink *sink)
{
    struct level *l = &t->levels[level];
    struct tile rows[ROWS_AT_ONCE];
    int rc = 0;
    for (size_t i = 0, n; !rc && i < l->count; i += n) {
        for (n = 0; !rc && n < ROWS_AT_ONCE && i + n < l->count; n++) {
            rows[n] = bucket_row(&l->items[i + n]);
            if (level + 1 < TILE_LEVELS)
                rc = add_to_above(t, level, &l->items[i + n], sink);
        }
        rc = rc ? rc : sink->tiles(sink->arg, level, rows, n);
    }
    level_clear(l);
    return rc;
}

static int hand_out_spans(struct tiles *t, int level, const struct tiles_sink *sink)
{
    size_t n = t->span_count[level];
    t->span_count[level] = 0;
    return n ? sink->spans(sink->arg, level, t->spans[level], n) : 0;
}

int tiles_flush(struct tiles *t, const struct tiles_sink *sink)
{
    int rc = 0;
    for (int i = 0; !rc && i < TILE_LEVELS; i++) {
        rc = hand_out_spans(t, i, sink);
        rc = rc ? rc : hand_out(t, i, sink);
    }
    if (rc == 0)
        rest(t);
    return rc;
}

void tiles_drop(struct tiles *t)
{
    for (int i = 0; i < TILE_LEVELS; i++) {
        level_clear(&t->levels[i]);
        t->span_count[i] = 0;
    }
}

/* ---- events --------------------------------------------------------------------------------- */

enum { NO_COLUMN = -1 };

/* Lists the records that are events, and where their lanes come from. */
static const struct source {
    enum record_type type;
    enum lane_kind kind;
    int start, duration, lane_ref, depth; /* duration NO_COLUMN: events without length */
    int name, config, code;               /* one of them names the event */
    bool fixed;                           /* all events have one name */
    int ref;
} sources[] = {
#define SOURCE(record, kind, lane_ref, depth, name, config, code, fixed, ref)                      \
    {                                                                                              \
        RECORD_##record, kind, COL_##record##_start, COL_##record##_duration,                      \
            COL_##record##_##lane_ref, depth, name, config, code, fixed, COL_##record##_##ref      \
    }
    SOURCE(kernel, LANE_KERNEL, stream, NO_COLUMN, NO_COLUMN, COL_kernel_config, NO_COLUMN, false,
           correlation),
    SOURCE(memcpy, LANE_COPY, stream, NO_COLUMN, NO_COLUMN, NO_COLUMN, COL_memcpy_kind, false,
           correlation),
    SOURCE(memset, LANE_COPY, stream, NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, true,
           correlation),
    SOURCE(sync, LANE_SYNC, thread, NO_COLUMN, NO_COLUMN, NO_COLUMN, COL_sync_kind, false,
           correlation),
    SOURCE(wait, LANE_WAIT, thread, NO_COLUMN, NO_COLUMN, NO_COLUMN, COL_wait_call, false,
           correlation),
    SOURCE(scope, LANE_SCOPE, thread, COL_scope_depth, COL_scope_name, NO_COLUMN, NO_COLUMN, false,
           instance),
    SOURCE(graph_launch, LANE_GRAPH, thread, NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, true,
           correlation),
    SOURCE(graph_run, LANE_RUN, stream, NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, true,
           correlation),
#undef SOURCE
    {RECORD_mark, LANE_MARK, COL_mark_start, NO_COLUMN, COL_mark_thread, NO_COLUMN, COL_mark_name,
     NO_COLUMN, NO_COLUMN, false, COL_mark_scope},
};

static const struct source *find_source(enum record_type type)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (sources[i].type == type)
            return &sources[i];
    return NULL;
}

/* Returns a cell; 0 for an unknown lane or reference. */
static inline int64_t cell_or_0(const struct wire_batch *b, int column, size_t i)
{
    return column == NO_COLUMN ? 0 : cells_or(b, (unsigned)column, i, 0);
}

static inline int64_t event_lane(const struct source *s, const struct wire_batch *b, size_t i)
{
    int64_t depth = cell_or_0(b, s->depth, i);
    return lane_make(s->kind,
                     depth < 0     ? 0
                     : depth > 255 ? 255
                                   : (unsigned)depth,
                     cell_or_0(b, s->lane_ref, i));
}

static inline uint32_t event_name(const struct tiles *t, const struct source *s,
                                  const struct wire_batch *b, size_t i)
{
    if (s->code != NO_COLUMN || s->fixed)
        return event_name_of(s->type, cell_or_0(b, s->code, i));
    if (s->config == NO_COLUMN) {
        int64_t name = cell_or_0(b, s->name, i);
        return name > 0 && name <= UINT32_MAX ? (uint32_t)name : 0;
    }
    uint64_t config = (uint64_t)cell_or_0(b, s->config, i);
    return config < t->name_count ? t->names[config] : 0;
}

static inline int add_short(struct tiles *t, int level, const struct tile_span *e,
                            const struct tiles_sink *sink)
{
    int64_t at = e->start >> TILE_LEVEL_SHIFT(level), ns = e->duration;
    struct bucket *b = level_bucket(&t->levels[level], e->lane, at);
    if (!b) {
        int rc = find_bucket(t, level, e->lane, at, sink, &b);
        if (rc)
            return rc;
    }
    b->events++;
    b->busy = cells_sum(b->busy, ns);
    b->longest = ns > b->longest ? ns : b->longest;
    bucket_name(b, (uint32_t)e->name, lane_kind_of(e->lane) == LANE_MARK ? 1 : ns);
    return 0;
}

static int add_span(struct tiles *t, int level, const struct tile_span *row,
                    const struct tiles_sink *sink)
{
    size_t n = t->span_count[level] + 1;
    int rc = mem_grow(&t->spans[level], &t->span_cap[level], n, sizeof *row, ROWS_AT_ONCE);
    if (rc)
        return rc;
    t->spans[level][t->span_count[level]++] = *row;
    return n == ROWS_AT_ONCE ? hand_out_spans(t, level, sink) : 0;
}

static int take_events(struct tiles *t, const struct source *s, const struct wire_batch *b,
                       const struct tiles_sink *sink)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t start = cells_get(b, (unsigned)s->start, i), end;
        int64_t ns = s->duration == NO_COLUMN ? 0 : cells_get(b, (unsigned)s->duration, i);
        if (!cells_interval(start, ns, &end)) {
            t->left_out++;
            continue;
        }
        struct tile_span e = {event_lane(s, b, i), start, ns, event_name(t, s, b, i), 0};
        int level = tile_span_level(ns);
        if (level >= 0) {
            e.ref = cell_or_0(b, s->ref, i);
            rc = add_span(t, level, &e, sink);
        }
        if (!rc && level + 1 < TILE_LEVELS)
            rc = add_short(t, level + 1, &e, sink);
    }
    return rc;
}

/* Takes the names of launch configurations, which kernels refer to. */
static int take_configs(struct tiles *t, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        int64_t id = cells_get(b, COL_config_id, i), name = cells_get(b, COL_config_name, i);
        if (id <= 0 || id >= CONFIGS_MAX || name <= 0 || name > UINT32_MAX)
            continue;
        if ((size_t)id >= t->name_count) {
            int rc =
                mem_grow(&t->names, &t->name_cap, (size_t)id + 1, sizeof *t->names, CONFIGS_MAX);
            if (rc)
                return rc;
            memset(t->names + t->name_count, 0,
                   ((size_t)id + 1 - t->name_count) * sizeof *t->names);
            t->name_count = (size_t)id + 1;
        }
        t->names[id] = (uint32_t)name;
    }
    return 0;
}

int tiles_batch(struct tiles *t, const struct wire_batch *b, const struct tiles_sink *sink)
{
    if (b->type == RECORD_config)
        return take_configs(t, b);
    const struct source *s = find_source(b->type);
    return s ? take_events(t, s, b, sink) : 0;
}

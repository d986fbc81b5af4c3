/* ask_timeline.c - answers questions of the timeline: tiles, spans, single events, search.
 *
 * Events belong to lanes as in analyze/model/tiles.c, which builds the pyramid; tests/store
 * compares the two. A kernel's name is that of its configuration, a scope has its own, other events
 * have numbers of wire/event_name.h. */
#include "store/ask.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists the table with the events of a kind of lane, and their columns. */
static const struct source {
    enum lane_kind kind;
    const char *table, *ref_of_lane, *depth, *name, *ref;
    bool moment; /* rows without a duration */
} sources[] = {
    {LANE_KERNEL, "kernel", "stream", "0", "-config", "correlation", false},
    {LANE_COPY, "memcpy", "stream", "0",
     "4294902016 + CASE WHEN kind BETWEEN 0 AND 10 THEN kind ELSE 0 END", "correlation", false},
    {LANE_COPY, "memset", "stream", "0", "4294902272", "correlation", false},
    {LANE_SYNC, "sync", "thread", "0",
     "4294902528 + CASE WHEN kind BETWEEN 0 AND 4 THEN kind ELSE 0 END", "correlation", false},
    {LANE_WAIT, "wait", "thread", "0",
     "4294902784 + CASE WHEN call BETWEEN 0 AND 9 THEN call ELSE 0 END", "correlation", false},
    {LANE_SCOPE, "scope", "thread", "depth", "name", "instance", false},
    {LANE_GRAPH, "graph_launch", "thread", "0", "4294903040", "correlation", false},
    {LANE_RUN, "graph_run", "stream", "0", "4294903296", "correlation", false},
    {LANE_MARK, "mark", "thread", "0", "name", "scope", true},
};

enum { SOURCES = sizeof sources / sizeof *sources };

/* ---- tiles ----------------------------------------------------------------------------------- */

static int64_t floor_step(int64_t v, int64_t step)
{
    int64_t rest = v % step;
    return v - (rest < 0 ? rest + step : rest);
}

int ask_tiles(struct ask *a)
{
    int level = (int)ask_int(a, "level", 0);
    int64_t step = ask_int(a, "step", 1), from = ask_int(a, "from", 0), to = ask_int(a, "to", 0);
    int64_t last = (to - 1) >> TILE_LEVEL_SHIFT(level);
    if (to <= from)
        return 0;
    if (step > INT64_MAX / 4 >> TILE_LEVEL_SHIFT(level))
        return err_set(a->e, GPUFL_E_INVAL, "tiles: a step of %lld buckets is too long",
                       (long long)step);
    ask_name(a, "low", SQL_INT(floor_step(from >> TILE_LEVEL_SHIFT(level), step)));
    ask_name(a, "high", SQL_INT(last));
    ask_name(a, "width", SQL_INT(TILE_WIDTH(level)));
    ask_text(a,
             "SELECT lane, slot * $width, total(n), total(ns), max(most), leading(name, name_ns) "
             "FROM (SELECT lane, below(bucket, $step) AS slot, name, sum(events) AS n, "
             "sum(busy) AS ns, max(longest) AS most, sum(name_busy) AS name_ns FROM {tile} "
             "WHERE bucket BETWEEN $low AND $high AND among(lane, $lanes) "
             "GROUP BY lane, slot, name) GROUP BY lane, slot ORDER BY lane, slot");
    return ask_rows(a);
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* Puts the spans of a level that overlap the window; none of these starts long before it. */
static void put_spans(struct ask *a, int level, int64_t from)
{
    char text[256];
    bool bounded = level + 1 < TILE_LEVELS && from > INT64_MIN + TILE_WIDTH(level + 1);
    int64_t least = bounded ? from - TILE_WIDTH(level + 1) : INT64_MIN;
    snprintf(text, sizeof text,
             "SELECT lane, start, duration, unless0(name) AS title, ref FROM {span_%d} "
             "WHERE start > %lld AND start < $to AND ends(start, duration) > $from "
             "AND among(lane, $lanes)",
             level, (long long)least);
    ask_more(a, text);
}

int ask_spans(struct ask *a)
{
    int64_t from = ask_int(a, "from", 0);
    ask_text(a, "SELECT * FROM (SELECT * FROM (");
    for (int level = (int)ask_int(a, "level", 0); level < TILE_LEVELS; level++) {
        put_spans(a, level, from);
        ask_more(a, level + 1 < TILE_LEVELS ? " UNION ALL " : "");
    }
    ask_more(a, ") ORDER BY duration DESC, start, lane, ref LIMIT #limit) "
                "ORDER BY lane, start, duration DESC, ref");
    return ask_rows(a);
}

/* ---- single events --------------------------------------------------------------------------- */

static bool has_kind(const struct ask *a, enum lane_kind kind)
{
    const struct store_value *lanes = ask_value(a, "lanes");
    for (size_t i = 0; i < lanes->list_count; i++)
        if (lane_kind_of(lanes->list[i]) == kind)
            return true;
    return false;
}

/* Puts SELECT … FROM a source, without its WHERE. The name of a kernel is its negated
 * configuration, which ask_config_names replaces by a name. */
static void put_source(struct ask *a, const struct source *s)
{
    char text[256];
    snprintf(text, sizeof text,
             "SELECT lane(%d, %s, %s) AS lane, start, %s, unless0(%s) AS title, "
             "%s AS ref FROM {%s}",
             (int)s->kind, s->depth, s->ref_of_lane,
             s->moment ? "start - start AS duration" : "duration", s->name, s->ref, s->table);
    ask_more(a, text);
}

/* Reads short events from the rows and long events from the spans, so that events which begin
 * before the window are found without reading all earlier rows. */
int ask_events(struct ask *a)
{
    int64_t from = ask_int(a, "from", 0);
    ask_name(a, "short", SQL_INT(TILE_WIDTH(0)));
    ask_name(a, "least",
             SQL_INT(from > INT64_MIN + TILE_WIDTH(0) ? from - TILE_WIDTH(0) : INT64_MIN));
    ask_text(a, "SELECT * FROM (");
    for (size_t i = 0; i < SOURCES; i++) {
        if (!has_kind(a, sources[i].kind))
            continue;
        put_source(a, &sources[i]);
        ask_more(a, sources[i].moment
                        ? " WHERE start >= $from AND start < $to AND event(start, 0) "
                        : " WHERE start > $least AND start < $to AND duration < $short "
                          "AND event(start, duration) AND ends(start, duration) > $from ");
        char lane[160];
        snprintf(lane, sizeof lane, "AND among(lane(%d, %s, %s), $lanes) UNION ALL ",
                 (int)sources[i].kind, sources[i].depth, sources[i].ref_of_lane);
        ask_more(a, lane);
    }
    for (int level = 0; level < TILE_LEVELS; level++) {
        put_spans(a, level, from);
        ask_more(a, level + 1 < TILE_LEVELS ? " UNION ALL " : "");
    }
    ask_more(a, ") ORDER BY lane, start, duration DESC, ref LIMIT #limit");
    int rc = ask_rows(a);
    return rc ? rc : ask_config_names(a, 3);
}

/* ---- search ---------------------------------------------------------------------------------- */

static int put_found(struct ask *a, const struct source *s, const char *among, bool back)
{
    put_source(a, s);
    ask_more(a, among);
    ask_more(a, back ? " AND start < $from ORDER BY start DESC LIMIT #limit"
                     : " AND start >= $from ORDER BY start LIMIT #limit");
    return ask_rows(a);
}

/* Lists the kinds of lanes whose events have names, and how events with certain names are
 * selected. */
static const struct named_kind {
    const char *ids_of; /* selects their names; NULL: kernels' names */
    const char *among;
    size_t source;
} named_kinds[] = {
    {NULL,
     " WHERE config IN (SELECT id FROM {config} WHERE within(name, $found)) "
     "AND event(start, duration)",
     0},
    {"SELECT name FROM {scope} WHERE 1 = 1",
     " WHERE within(name, $found) AND event(start, duration)", 5},
    {"SELECT name FROM {mark} WHERE 1 = 1", " WHERE within(name, $found) AND event(start, 0)", 8},
};

static int compare_rows(const void *x, const void *y, void *arg)
{
    const struct ask *a = arg;
    const int64_t *p = x, *q = y;
    bool back = ask_int(a, "back", 0) != 0;
    if (p[1] != q[1])
        return (p[1] < q[1]) != back ? -1 : 1;
    return p[0] < q[0] ? -1 : p[0] > q[0];
}

int ask_search(struct ask *a)
{
    int64_t kind = ask_int(a, "kind", 0), limit = ask_int(a, "limit", 0);
    const struct store_value *pattern = ask_value(a, "pattern");
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof named_kinds / sizeof *named_kinds; i++) {
        const struct source *s = &sources[named_kinds[i].source];
        int64_t *ids;
        size_t n;
        if (kind && kind != (int64_t)s->kind)
            continue;
        rc = named_kinds[i].ids_of ? ask_matching(a, named_kinds[i].ids_of, pattern->text, &ids, &n)
                                   : ask_matching_kernels(a, pattern->text, &ids, &n);
        if (!rc && n) {
            ask_name(a, "found", SQL_LIST(ids, n));
            ask_text(a, "");
            rc = put_found(a, s, named_kinds[i].among, ask_int(a, "back", 0) != 0);
        }
        mem_free(ids);
    }
    if (a->answer.rows)
        qsort_r(a->answer.cells, a->answer.rows, a->def->column_count * sizeof(int64_t),
                compare_rows, a);
    if (a->answer.rows > (size_t)limit)
        a->answer.rows = (size_t)limit;
    return rc ? rc : ask_config_names(a, 3);
}

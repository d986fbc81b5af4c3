/* suite_timeline.c - tests the timeline's questions, against the events of plain arrays: at every
 * level tiles and spans together hold each event once. */
#include "asked.h"

#include "base/alloc.h"
#include "wire/event_name.h"
#include "wire/limits.h"

enum { NO_DURATION = RECORD_MAX_COLUMNS }; /* of marks */

struct event {
    int64_t lane, start, duration, name, ref;
};

struct events {
    struct event *items; /* owned */
    size_t count;
    int64_t lanes[256];
    size_t lane_count;
};

static int64_t or_0(int64_t cell)
{
    return cell == CELL_NULL ? 0 : cell;
}

static int64_t name_of(const struct fixture *f, enum record_type type, size_t row)
{
    if (type == RECORD_scope)
        return or_0(fixture_cell(f, type, row, COL_scope_name));
    if (type == RECORD_mark)
        return or_0(fixture_cell(f, type, row, COL_mark_name));
    if (type == RECORD_memcpy)
        return event_name_of(type, fixture_cell(f, type, row, COL_memcpy_kind));
    if (type == RECORD_sync)
        return event_name_of(type, fixture_cell(f, type, row, COL_sync_kind));
    if (type == RECORD_wait)
        return event_name_of(type, fixture_cell(f, type, row, COL_wait_call));
    if (type != RECORD_kernel)
        return event_name_of(type, 0);
    for (size_t i = 0; i < f->count[RECORD_config]; i++)
        if (fixture_cell(f, RECORD_config, i, COL_config_id) ==
            fixture_cell(f, type, row, COL_kernel_config))
            return or_0(fixture_cell(f, RECORD_config, i, COL_config_name));
    return 0;
}

static void add_lane(struct events *e, int64_t lane)
{
    for (size_t i = 0; i < e->lane_count; i++)
        if (e->lanes[i] == lane)
            return;
    assert_true(e->lane_count < 256);
    e->lanes[e->lane_count++] = lane;
}

static int compare_lanes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static struct events events_of(const struct fixture *f)
{
    static const struct {
        enum record_type type;
        enum lane_kind kind;
        unsigned start, duration, lane, ref;
    } kinds[] = {
        {RECORD_kernel, LANE_KERNEL, COL_kernel_start, COL_kernel_duration, COL_kernel_stream,
         COL_kernel_correlation},
        {RECORD_memcpy, LANE_COPY, COL_memcpy_start, COL_memcpy_duration, COL_memcpy_stream,
         COL_memcpy_correlation},
        {RECORD_memset, LANE_COPY, COL_memset_start, COL_memset_duration, COL_memset_stream,
         COL_memset_correlation},
        {RECORD_sync, LANE_SYNC, COL_sync_start, COL_sync_duration, COL_sync_thread,
         COL_sync_correlation},
        {RECORD_wait, LANE_WAIT, COL_wait_start, COL_wait_duration, COL_wait_thread,
         COL_wait_correlation},
        {RECORD_scope, LANE_SCOPE, COL_scope_start, COL_scope_duration, COL_scope_thread,
         COL_scope_instance},
        {RECORD_graph_launch, LANE_GRAPH, COL_graph_launch_start, COL_graph_launch_duration,
         COL_graph_launch_thread, COL_graph_launch_correlation},
        {RECORD_graph_run, LANE_RUN, COL_graph_run_start, COL_graph_run_duration,
         COL_graph_run_stream, COL_graph_run_correlation},
        {RECORD_mark, LANE_MARK, COL_mark_start, NO_DURATION, COL_mark_thread, COL_mark_scope},
    };
    struct events e = {0};
    size_t most = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        most += f->count[kinds[i].type];
    e.items = mem_array(most + 1, sizeof *e.items);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t row = 0; row < f->count[kinds[i].type]; row++) {
            enum record_type type = kinds[i].type;
            int64_t start = fixture_cell(f, type, row, kinds[i].start);
            int64_t duration = kinds[i].duration == NO_DURATION
                                   ? 0
                                   : fixture_cell(f, type, row, kinds[i].duration);
            int64_t depth = type == RECORD_scope ? fixture_cell(f, type, row, COL_scope_depth) : 0;
            int64_t ref = or_0(fixture_cell(f, type, row, kinds[i].lane));
            if (!wire_event_ok(start, duration))
                continue;
            int64_t lane = lane_make(kinds[i].kind, depth > 0 ? (unsigned)depth : 0, ref);
            add_lane(&e, lane);
            e.items[e.count++] = (struct event){lane, start, duration, name_of(f, type, row),
                                                fixture_cell(f, type, row, kinds[i].ref)};
        }
    qsort(e.lanes, e.lane_count, sizeof *e.lanes, compare_lanes);
    return e;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

void suite_lanes_of_a_session(void **state)
{
    struct store_session *ss = suite_loaded("lanes", &suite.simulated);
    struct events e = events_of(&suite.simulated);
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_lanes);
    asked_run(&a, ss);
    assert_int_equal(a.rows, e.lane_count);
    for (size_t i = 0; i < a.rows; i++) {
        int64_t n = 0, busy = 0, first = INT64_MAX, last = INT64_MIN, lane = e.lanes[i];
        for (size_t k = 0; k < e.count; k++) {
            const struct event *x = &e.items[k];
            if (x->lane != lane)
                continue;
            n++;
            busy += x->duration;
            first = x->start < first ? x->start : first;
            last = x->start + x->duration > last ? x->start + x->duration : last;
        }
        assert_int_equal(asked_get(&a, i, "lane"), lane);
        assert_int_equal(asked_get(&a, i, "events"), n);
        assert_int_equal(asked_get(&a, i, "busy"), busy);
        assert_in_range(first - asked_get(&a, i, "first"), 0, TILE_WIDTH(0));
        assert_in_range(asked_get(&a, i, "last") - last + TILE_WIDTH(0), 0, 2 * TILE_WIDTH(0));
    }
    asked_fini(&a);
    mem_free(e.items);
    suite.ops->put(ss);
}

void suite_streams_and_threads(void **state)
{
    const struct fixture *f = &suite.simulated;
    struct store_session *ss = suite_loaded("streams", f);
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_streams);
    asked_run(&a, ss);
    assert_int_equal(a.rows, f->count[RECORD_stream]);
    assert_true(a.rows > 0);
    for (size_t i = 0; i < a.rows; i++) {
        assert_int_equal(asked_get(&a, i, "id"), fixture_cell(f, RECORD_stream, i, COL_stream_id));
        assert_int_equal(asked_get(&a, i, "device"),
                         fixture_cell(f, RECORD_stream, i, COL_stream_device));
        int64_t number = fixture_cell(f, RECORD_stream, i, COL_stream_number);
        assert_int_equal(asked_cell(&a, i, "number")->known, number != CELL_NULL);
        if (number != CELL_NULL) /* else of the whole device */
            assert_int_equal(asked_get(&a, i, "number"), number);
    }
    asked_fini(&a);
    asked_init(&a, QUERY_threads);
    asked_run(&a, ss);
    assert_int_equal(a.rows, f->count[RECORD_thread]);
    assert_true(a.rows > 0);
    for (size_t i = 0; i < a.rows; i++) {
        int64_t name = fixture_cell(f, RECORD_thread, i, COL_thread_name);
        assert_int_equal(asked_get(&a, i, "id"), fixture_cell(f, RECORD_thread, i, COL_thread_id));
        assert_string_equal(asked_cell(&a, i, "name")->text, f->names[name].text);
    }
    asked_fini(&a);
    suite.ops->put(ss);
}

/* ---- tiles and spans ------------------------------------------------------------------------- */

static void check_level(struct store_session *ss, const struct fixture *f, const struct events *e,
                        int level, int64_t step)
{
    struct asked tiles, spans;
    int64_t events = 0, busy = 0, all_busy = 0, from = e->items[0].start, to = from;
    for (size_t i = 0; i < e->count; i++) {
        from = e->items[i].start < from ? e->items[i].start : from;
        to = e->items[i].start >= to ? e->items[i].start + 1 : to;
        all_busy += e->items[i].duration;
    }
    asked_init(&tiles, QUERY_tiles);
    asked_int(&tiles, "level", level);
    asked_int(&tiles, "from", from);
    asked_int(&tiles, "to", to);
    asked_int(&tiles, "step", step);
    asked_list(&tiles, "lanes", e->lanes, e->lane_count);
    asked_run(&tiles, ss);
    for (size_t i = 0; i < tiles.rows; i++) {
        int64_t at = asked_get(&tiles, i, "at"), lane = asked_get(&tiles, i, "lane"), n = 0;
        int64_t ns = 0, longest = 0;
        for (size_t k = 0; k < e->count; k++) {
            const struct event *x = &e->items[k];
            if (x->lane != lane || x->duration >= TILE_WIDTH(level) || x->start < at ||
                x->start >= at + step * TILE_WIDTH(level))
                continue;
            n++;
            ns += x->duration;
            longest = x->duration > longest ? x->duration : longest;
        }
        assert_int_equal(asked_get(&tiles, i, "events"), n);
        assert_int_equal(asked_get(&tiles, i, "busy"), ns);
        assert_int_equal(asked_get(&tiles, i, "longest"), longest);
        assert_true(asked_cell(&tiles, i, "name")->known || ns == 0);
        if (i && asked_get(&tiles, i - 1, "lane") == lane)
            assert_true(asked_get(&tiles, i - 1, "at") < at);
        events += n;
        busy += ns;
    }
    asked_init(&spans, QUERY_spans);
    asked_int(&spans, "level", level);
    asked_int(&spans, "from", from - 1);
    asked_int(&spans, "to", to);
    asked_list(&spans, "lanes", e->lanes, e->lane_count);
    asked_run(&spans, ss);
    for (size_t i = 0; i < spans.rows; i++) {
        size_t k = 0;
        busy += asked_get(&spans, i, "duration");
        while (k < e->count && (e->items[k].lane != asked_get(&spans, i, "lane") ||
                                e->items[k].start != asked_get(&spans, i, "start") ||
                                e->items[k].ref != asked_get(&spans, i, "ref")))
            k++;
        assert_true(k < e->count);
        assert_int_equal(e->items[k].duration, asked_get(&spans, i, "duration"));
        asked_is_name(&spans, i, "name", f, e->items[k].name);
    }
    assert_int_equal(events + (int64_t)spans.rows, e->count);
    assert_int_equal(busy, all_busy);
    asked_fini(&tiles);
    asked_fini(&spans);
}

void suite_each_level_has_all_events(void **state)
{
    struct fixture *fixtures[] = {&suite.recorded, &suite.simulated};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct store_session *ss = suite_loaded(i ? "levels-s" : "levels-r", fixtures[i]);
        struct events e = events_of(fixtures[i]);
        for (int level = 0; level < TILE_LEVELS; level++)
            check_level(ss, fixtures[i], &e, level, level % 3 ? 1 : 3);
        mem_free(e.items);
        suite.ops->put(ss);
    }
}

/* ---- single events --------------------------------------------------------------------------- */

static size_t events_meant(const struct events *e, const int64_t *lanes, size_t n, int64_t from,
                           int64_t to)
{
    size_t count = 0;
    for (size_t i = 0; i < e->count; i++)
        for (size_t k = 0; k < n; k++)
            count += e->items[i].lane == lanes[k] && e->items[i].start < to &&
                     (lane_kind_of(lanes[k]) == LANE_MARK
                          ? e->items[i].start >= from
                          : e->items[i].start + e->items[i].duration > from);
    return count;
}

static void check_events(struct store_session *ss, const struct fixture *f, const struct events *e,
                         const int64_t *lanes, size_t n, int64_t from, int64_t to)
{
    struct asked a;
    asked_init(&a, QUERY_events);
    asked_list(&a, "lanes", lanes, n);
    asked_int(&a, "from", from);
    asked_int(&a, "to", to);
    asked_run(&a, ss);
    assert_int_equal(a.rows, events_meant(e, lanes, n, from, to));
    for (size_t i = 0; i < a.rows; i++) {
        size_t k = 0;
        while (k < e->count && (e->items[k].lane != asked_get(&a, i, "lane") ||
                                e->items[k].start != asked_get(&a, i, "start") ||
                                e->items[k].ref != asked_get(&a, i, "ref")))
            k++;
        assert_true(k < e->count);
        assert_int_equal(e->items[k].duration, asked_get(&a, i, "duration"));
        asked_is_name(&a, i, "name", f, e->items[k].name);
        if (i)
            assert_true(asked_get(&a, i - 1, "lane") < asked_get(&a, i, "lane") ||
                        asked_get(&a, i - 1, "start") <= asked_get(&a, i, "start"));
    }
    asked_fini(&a);
}

void suite_events_of_a_window(void **state)
{
    struct fixture *fixtures[] = {&suite.recorded, &suite.simulated};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct store_session *ss = suite_loaded(i ? "events-s" : "events-r", fixtures[i]);
        struct events e = events_of(fixtures[i]);
        const struct event *mid = &e.items[fixtures[i]->count[RECORD_kernel] / 2];
        check_events(ss, fixtures[i], &e, e.lanes, e.lane_count, mid->start, mid->start + 400000);
        check_events(ss, fixtures[i], &e, e.lanes, e.lane_count, mid->start + 1, mid->start + 2);
        check_events(ss, fixtures[i], &e, e.lanes, 1, INT64_MIN + 1, INT64_MAX);
        check_events(ss, fixtures[i], &e, e.lanes, 0, mid->start, mid->start + 1000);
        for (size_t k = 0; k < e.lane_count; k++)
            check_events(ss, fixtures[i], &e, &e.lanes[k], 1, mid->start - 2000000, mid->start);
        mem_free(e.items);
        suite.ops->put(ss);
    }
}

/* ---- search ---------------------------------------------------------------------------------- */

static void check_search(struct store_session *ss, const struct fixture *f, const struct events *e,
                         int64_t kind, const char *pattern, int64_t from, bool back)
{
    struct asked a;
    int64_t last = from;
    size_t n = 0;
    asked_init(&a, QUERY_search);
    asked_text(&a, "pattern", pattern);
    if (kind)
        asked_int(&a, "kind", kind);
    asked_int(&a, "from", from);
    asked_int(&a, "back", back);
    asked_int(&a, "limit", 40);
    asked_run(&a, ss);
    for (size_t i = 0; i < a.rows; i++) {
        int64_t start = asked_get(&a, i, "start");
        assert_true(back ? start <= last && start < from : start >= last);
        assert_non_null(strcasestr(asked_cell(&a, i, "name")->text, pattern));
        last = start;
    }
    for (size_t i = 0; i < e->count; i++) {
        const struct event *x = &e->items[i];
        bool of_kind = kind ? lane_kind_of(x->lane) == (enum lane_kind)kind : true;
        n += of_kind && x->name && !event_name_text(x->name) &&
             strcasestr(f->names[x->name].text, pattern) &&
             (back ? x->start < from && (a.rows < 40 || x->start > last)
                   : x->start >= from && (a.rows < 40 || x->start < last));
    }
    if (a.rows < 40)
        assert_int_equal(a.rows, n);
    else
        assert_true(n < 40); /* none nearer than the last one is missing */
    asked_fini(&a);
}

void suite_search_by_name(void **state)
{
    struct store_session *ss = suite_loaded("search", &suite.simulated);
    struct events e = events_of(&suite.simulated);
    const struct event *mid = &e.items[suite.simulated.count[RECORD_kernel] / 2];
    char part[8];
    (void)state;
    snprintf(part, sizeof part, "%.4s", suite.simulated.names[mid->name].text + 3);
    for (int back = 0; back < 2; back++) {
        check_search(ss, &suite.simulated, &e, 0, part, mid->start, back);
        check_search(ss, &suite.simulated, &e, LANE_KERNEL, part, mid->start, back);
        check_search(ss, &suite.simulated, &e, LANE_SCOPE, "s", mid->start, back);
        check_search(ss, &suite.simulated, &e, LANE_COPY, "", mid->start, back);
        check_search(ss, &suite.simulated, &e, LANE_MARK, "A mark", mid->start, back);
        check_search(ss, &suite.simulated, &e, 0, "no such thing", mid->start, back);
    }
    check_search(ss, &suite.simulated, &e, 0, "", INT64_MIN + 1, false);
    check_search(ss, &suite.simulated, &e, 0, "", INT64_MIN + 1, true);
    mem_free(e.items);
    suite.ops->put(ss);
}

/* trace.c - sends a session as Chrome's trace events (JSON), which Perfetto and chrome://tracing
 * open.
 *
 * Made while it is sent, record by record: memory is that of the names, at most NAMES_MAX bytes,
 * whatever the session's size. A kind of lane is a process there, a stream or thread a thread;
 * times are microseconds since the session's start, exact to the nanosecond. */
#include "server/common/logs.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/session_ref.h"

#include "base/alloc.h"
#include "base/region.h"
#include "net/server/http_pipe.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"
#include "wire/decimal.h"
#include "wire/event_name.h"
#include "wire/limits.h"
#include "wire/record.h"
#include "wire/rowset.h"
#include "wire/tile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const int64_t PATIENCE_NS = 60000000000;

enum {
    NAMES_MAX = 64 << 20,
    NAME_MAX_BYTES = 16 << 10, /* longer ones are texts of sources */
    PIECE = 64 << 10,
    LINE_MAX_BYTES = 4 << 20,
    EXPONENT_MOST = 99, /* of a mark's payload: what a reader of JSON takes */
};

/* Lists the columns of a record that make an event; -1: none. Without a duration: an instant
 * event. */
static const struct traced {
    enum record_type type;
    enum lane_kind lane;
    int start, duration, thread, name, code, ref;
    const char *ref_name;
} traced[] = {
#define TRACED(record, lane, thread, name, code, ref)                                              \
    {                                                                                              \
        RECORD_##record, lane, COL_##record##_start, COL_##record##_duration,                      \
            COL_##record##_##thread, name, code, COL_##record##_##ref, #ref                        \
    }
    TRACED(scope, LANE_SCOPE, thread, COL_scope_name, -1, instance),
    TRACED(kernel, LANE_KERNEL, stream, -1, -1, correlation),
    TRACED(memcpy, LANE_COPY, stream, -1, COL_memcpy_kind, correlation),
    TRACED(memset, LANE_COPY, stream, -1, -1, correlation),
    TRACED(sync, LANE_SYNC, thread, -1, COL_sync_kind, correlation),
    TRACED(wait, LANE_WAIT, thread, -1, COL_wait_call, correlation),
    TRACED(graph_launch, LANE_GRAPH, thread, -1, -1, correlation),
    TRACED(graph_run, LANE_RUN, stream, -1, -1, correlation),
#undef TRACED
    {RECORD_mark, LANE_MARK, COL_mark_start, -1, COL_mark_thread, COL_mark_name, -1, COL_mark_scope,
     "scope"},
};

static const char *const lanes[] = {[LANE_KERNEL] = "Kernels",
                                    [LANE_COPY] = "Copies and fills",
                                    [LANE_SYNC] = "Synchronizations",
                                    [LANE_WAIT] = "Waits",
                                    [LANE_SCOPE] = "Scopes",
                                    [LANE_GRAPH] = "Graph launches",
                                    [LANE_RUN] = "Graphs",
                                    [LANE_MARK] = "Marks"};

struct trace {
    const struct store_ops *ops;
    struct store_session *columns; /* a reference */
    struct http_pipe *pipe;
    struct buf line;
    struct region texts;
    struct rowset names; /* id; its JSON text in texts; of a kernel the short one; both may be 0 */
    struct rowset configs; /* id; its name */
    struct rowset kernels; /* a kernel's name; its symbol in texts */
    int64_t vendor_id;     /* the name of the GPUs' vendor; 0: not known yet; CELL_NULL: several */
    char vendor[16];       /* the vendor's name; "": unknown */
    int64_t start;         /* CLOCK_MONOTONIC of the session's begin */
    uint64_t events;
    char id[HTTP_ID_SIZE];
};

static void trace_free(void *arg)
{
    struct trace *t = arg;
    if (t->columns)
        t->ops->put(t->columns);
    buf_fini(&t->line);
    region_fini(&t->texts);
    rowset_fini(&t->names);
    rowset_fini(&t->configs);
    rowset_fini(&t->kernels);
    mem_free(t);
}

static int flush(struct trace *t)
{
    int rc = buf_error(&t->line);
    if (rc == 0 && t->line.len)
        rc = http_pipe_write(t->pipe, t->line.data, t->line.len);
    buf_clear(&t->line);
    return rc;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Keeps the name as JSON: demangled and escaped once, written a million times. */
static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct trace *t = arg;
    struct buf plain, json;
    bool added;
    int64_t key = id;
    if (len > NAME_MAX_BYTES)
        return 0;
    int64_t *kernel = rowset_find(&t->kernels, &key);
    char *own = mem_strndup(text, len);
    if (kernel && own)
        kernel[1] = (int64_t)(intptr_t)region_copy(&t->texts, text, len);
    buf_init(&plain, DEMANGLE_ROOM);
    buf_init(&json, LINE_MAX_BYTES);
    if (own)
        demangle_put(&plain, own);
    buf_json(&json, plain.data ? plain.data : "", plain.len);
    int64_t *row =
        buf_error(&json) || buf_error(&plain) ? NULL : rowset_put(&t->names, &key, &added);
    const char *kept = row ? region_copy(&t->texts, json.data, json.len) : NULL;
    if (row)
        row[1] = (int64_t)(intptr_t)kept; /* NULL: no room for more */
    mem_free(own);
    buf_fini(&plain);
    buf_fini(&json);
    return row ? 0 : GPUFL_E_NOMEM;
}

static int64_t cell(const struct wire_batch *b, int column, size_t i)
{
    return column >= 0 && b->col[column] ? b->col[column][i] : CELL_NULL;
}

static int take_configs(void *arg, const struct wire_batch *b)
{
    struct trace *t = arg;
    bool added;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t id = cell(b, COL_config_id, i);
        int64_t *row = rowset_put(&t->configs, &id, &added);
        if (!row)
            return GPUFL_E_NOMEM;
        row[1] = cell(b, COL_config_name, i);
        if (row[1] != CELL_NULL && !rowset_put(&t->kernels, &row[1], &added))
            return GPUFL_E_NOMEM;
    }
    return 0;
}

static int take_devices(void *arg, const struct wire_batch *b)
{
    struct trace *t = arg;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t vendor = cell(b, COL_device_vendor, i);
        t->vendor_id = !t->vendor_id || t->vendor_id == vendor ? vendor : CELL_NULL;
    }
    return 0;
}

/* Names are kept in quotation marks. */
static void name_vendor(struct trace *t)
{
    const int64_t *row = rowset_find(&t->names, &t->vendor_id);
    const char *json = row ? (const char *)(intptr_t)row[1] : NULL;
    if (json)
        snprintf(t->vendor, sizeof t->vendor, "%.*s", (int)strlen(json) - 2, json + 1);
}

/* Lists the kernels whose symbols are known: their names' ids, and the symbols. */
static size_t list_kernels(const struct trace *t, int64_t *ids, const char **symbols)
{
    size_t count = 0;
    for (uint32_t i = 0; i < t->kernels.row_count; i++) {
        const int64_t *row = t->kernels.rows + (size_t)i * t->kernels.width;
        if (row[1]) {
            ids[count] = row[0];
            symbols[count++] = (const char *)(intptr_t)row[1];
        }
    }
    return count;
}

/* Gives the kernels their short names, which no two have alike. */
static int shorten(struct trace *t)
{
    size_t room = t->kernels.row_count + 1;
    int64_t *ids = mem_array(room, sizeof *ids);
    const char **symbols = mem_array(room, sizeof *symbols);
    size_t count = ids && symbols ? list_kernels(t, ids, symbols) : 0;
    struct buf short_names, json;
    buf_init(&short_names, NAMES_MAX);
    buf_init(&json, LINE_MAX_BYTES);
    int rc = ids && symbols ? shorten_symbols(&short_names, symbols, count) : GPUFL_E_NOMEM;
    const char *at = short_names.data;
    for (size_t i = 0; i < count && rc == 0; i++, at += strlen(at) + 1) {
        int64_t *row = rowset_find(&t->names, &ids[i]);
        buf_clear(&json);
        buf_json_str(&json, at);
        rc = buf_error(&json);
        if (row && rc == 0)
            row[2] = (int64_t)(intptr_t)region_copy(&t->texts, json.data, json.len);
    }
    buf_fini(&short_names);
    buf_fini(&json);
    mem_free(ids);
    mem_free(symbols);
    return rc;
}

/* Returns the row of a kernel's name; NULL: it is not known. */
static const int64_t *kernel_name(const struct trace *t, const struct wire_batch *b, size_t i)
{
    int64_t config = cell(b, COL_kernel_config, i);
    const int64_t *row = rowset_find(&t->configs, &config);
    return row ? rowset_find(&t->names, &row[1]) : NULL;
}

static void put_name(struct trace *t, const struct traced *r, const struct wire_batch *b, size_t i)
{
    int64_t id = cell(b, r->name, i);
    if (r->name < 0 && r->type != RECORD_kernel) {
        buf_json_str(&t->line,
                     event_name_said(event_name_of(r->type, cell(b, r->code, i)), t->vendor));
        return;
    }
    const int64_t *row =
        r->type == RECORD_kernel ? kernel_name(t, b, i) : rowset_find(&t->names, &id);
    int64_t text = row ? (row[2] ? row[2] : row[1]) : 0;
    buf_str(&t->line, text ? (const char *)(intptr_t)text : "\"?\"");
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_us(struct buf *b, int64_t ns)
{
    uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    buf_printf(b, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", v / 1000, (unsigned)(v % 1000));
}

/* Begins an argument of the event; *any: it has one already. */
static void put_key(struct trace *t, bool *any, const char *name)
{
    buf_printf(&t->line, "%s\"%s\":", *any ? "," : ",\"args\":{", name);
    *any = true;
}

/* Writes a mark's domain and payload. */
static void put_mark(struct trace *t, const struct wire_batch *b, size_t i, bool *any)
{
    int64_t id = cell(b, COL_mark_tag, i), value = cell(b, COL_mark_value, i);
    int64_t exponent = cell(b, COL_mark_exponent, i);
    const int64_t *row = rowset_find(&t->names, &id);
    if (row && row[1]) {
        put_key(t, any, "domain");
        buf_str(&t->line, (const char *)(intptr_t)row[1]);
    }
    exponent = exponent == CELL_NULL ? 0 : exponent;
    if (value == CELL_NULL || exponent > EXPONENT_MOST || exponent < -EXPONENT_MOST)
        return;
    put_key(t, any, "value");
    decimal_put(&t->line, (struct decimal){value, exponent});
}

static void put_args(struct trace *t, const struct traced *r, const struct wire_batch *b, size_t i)
{
    int64_t ref = cell(b, r->ref, i);
    const int64_t *kernel = r->type == RECORD_kernel ? kernel_name(t, b, i) : NULL;
    bool any = false, unscoped = r->type == RECORD_mark && ref == 0;
    if (ref != CELL_NULL && !unscoped) {
        put_key(t, &any, r->ref_name);
        buf_i64(&t->line, ref);
    }
    if (kernel && kernel[2] && kernel[1]) {
        put_key(t, &any, "kernel");
        buf_str(&t->line, (const char *)(intptr_t)kernel[1]);
    }
    if (r->type == RECORD_mark)
        put_mark(t, b, i, &any);
    buf_str(&t->line, any ? "}}" : "}");
}

static int put_event(struct trace *t, const struct traced *r, const struct wire_batch *b, size_t i)
{
    bool moment = r->duration < 0;
    int64_t start = cell(b, r->start, i), duration = moment ? 0 : cell(b, r->duration, i), since;
    int64_t thread = cell(b, r->thread, i);
    if (!wire_event_ok(start, duration) || __builtin_sub_overflow(start, t->start, &since))
        return 0;
    buf_str(&t->line, t->events++ ? ",\n{\"name\":" : "\n{\"name\":");
    put_name(t, r, b, i);
    buf_printf(&t->line, ",\"cat\":\"%s\",\"ph\":\"%s\",\"ts\":", records[r->type].type,
               moment ? "i\",\"s\":\"t" : "X");
    put_us(&t->line, since);
    if (!moment) {
        buf_str(&t->line, ",\"dur\":");
        put_us(&t->line, duration);
    }
    buf_printf(&t->line, ",\"pid\":%d,\"tid\":%" PRId64, (int)r->lane,
               thread == CELL_NULL ? 0 : thread);
    put_args(t, r, b, i);
    return t->line.len > PIECE ? flush(t) : buf_error(&t->line);
}

static int take_events(void *arg, const struct wire_batch *b)
{
    struct trace *t = arg;
    const struct traced *r = traced;
    int rc = 0;
    while (r->type != b->type)
        r++; /* only these are scanned */
    for (size_t i = 0; i < b->rows && rc == 0; i++)
        rc = put_event(t, r, b, i);
    return rc;
}

static void put_lanes(struct trace *t)
{
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (lanes[i])
            buf_printf(&t->line,
                       "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":"
                       "\"%s\"}}",
                       t->events++ ? "," : "", (int)i, lanes[i]);
}

static int produce(void *arg, struct http_pipe *p)
{
    struct trace *t = arg;
    struct err e = {0};
    const struct wire_visitor names = {.arg = t, .name = take_name};
    const struct wire_visitor devices = {.arg = t, .batch = take_devices};
    const struct wire_visitor configs = {.arg = t, .batch = take_configs};
    const struct wire_visitor events = {.arg = t, .batch = take_events};
    t->pipe = p;
    int rc = t->ops->scan(t->columns, RECORD_config, INT64_MIN, INT64_MAX, &configs, &e);
    if (rc == 0)
        rc = t->ops->scan(t->columns, RECORD_device, INT64_MIN, INT64_MAX, &devices, &e);
    if (rc == 0)
        rc = t->ops->scan_names(t->columns, &names, &e);
    if (rc == 0)
        rc = shorten(t);
    name_vendor(t);
    buf_str(&t->line, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    put_lanes(t);
    for (size_t i = 0; i < sizeof traced / sizeof *traced && rc == 0; i++)
        rc = t->ops->scan(t->columns, traced[i].type, INT64_MIN, INT64_MAX, &events, &e);
    buf_str(&t->line, "\n]}\n");
    if (rc == 0)
        rc = flush(t);
    if (rc && rc != GPUFL_E_STATE && rc != GPUFL_E_TIMEOUT) /* these: the client */
        logs_say(LOG_ERROR, "export", "request %s broke off: %s", t->id,
                 e.text[0] ? e.text : err_text(rc));
    return rc;
}

void api_export_trace(struct call *c)
{
    struct session_ref s;
    struct http_pipe *pipe = NULL;
    char text[192];
    if (!session_ref_open(c, ARG(c, export_trace, session)->text, &s) ||
        !session_ref_answers(c, &s))
        return;
    struct trace *t = s.columns ? mem_zalloc(sizeof *t) : NULL;
    if (!t) {
        call_fail(c, s.columns ? GPUFL_E_NOMEM : GPUFL_E_NOENT, "session", NULL);
        session_ref_close(c, &s);
        return;
    }
    t->ops = c->parts->ops;
    t->columns = s.columns; /* the export's from here on */
    t->start = s.start;
    s.columns = NULL;
    snprintf(t->id, sizeof t->id, "%s", c->http->id);
    buf_init(&t->line, LINE_MAX_BYTES);
    region_init(&t->texts, NAMES_MAX);
    rowset_init(&t->names, 1, 3);
    rowset_init(&t->configs, 1, 2);
    rowset_init(&t->kernels, 1, 2);
    int rc = http_pipe_open(&pipe, c->parts->exports, PATIENCE_NS, produce, trace_free, t);
    if (rc) {
        trace_free(t);
        call_fail(c, rc, "session", NULL);
        return;
    }
    http_send_pipe(c->http, "application/json", pipe);
    snprintf(text, sizeof text, "attachment; filename=\"%s.trace.json\"", s.row.id);
    http_set(c->http, "Content-Disposition", text);
}

/* read.c - which lines of the public client's format are known, and who reads
 * them; batches become cells here.
 *
 * Columns of a batch are found by name; in a line without names the order of
 * format.def applies. Rows may be null, shorter or longer than the columns. A
 * line is parsed as a whole before any of its values is used. */
#include "wire/peer.h"

#include "base/alloc.h"
#include "base/err.h"
#include "wire/decimal.h"
#include "wire/limits.h"
#include "wire/peer/detail.h"
#include "wire/peer/reader.h"

#include <string.h>

enum {
    ROWS_MAX = 1 << 18, /* of a line; more is damage */
    PLAIN_DIGITS = 18,  /* so many digits fit int64_t for certain */
    NAMES_MAX = 1 << 22,
    STACKS_MAX = 1 << 20, /* different texts of stacks; further ones are "(other)" */
};

#define NAME_BYTES_MAX  ((size_t)1 << 30)
#define STACK_BYTES_MAX ((size_t)256 << 20)

struct peer_type {
    const char *name;
    void (*line)(struct peer *p, struct scan s); /* a line by itself */
    void (*batch)(struct peer *p);               /* a batch in p->rows */
    enum peer_batch format;                      /* of the batch */
};

/* Types without a reader are known, but our records have no place for them yet. */
static const struct peer_type types[] = {
    {"kernel_detail", peer_detail, NULL, 0},
    {"kernel_event_batch", NULL, peer_kernels, PEER_kernel},
    {"memcpy_event_batch", NULL, peer_copies, PEER_memcpy},
    {"memset_event", peer_fill, NULL, 0},
    {"synchronization_event_batch", NULL, peer_syncs, PEER_sync},
    {"memory_alloc_event_batch", NULL, peer_allocs, PEER_alloc},
    {"graph_launch_event", peer_graph_launch, NULL, 0},
    {"scope_event_batch", NULL, peer_scopes, PEER_scope},
    {"device_metric_batch", NULL, peer_device_metrics, PEER_device_metric},
    {"host_metric_batch", NULL, peer_host_metrics, PEER_host_metric},
    {"dictionary_update", peer_dictionary, NULL, 0},
    {"job_start", peer_job_start, NULL, 0},
    {"init", peer_job_start, NULL, 0},
    {"capture_capabilities", peer_capabilities, NULL, 0},
    {"sass_config", peer_sass_config, NULL, 0},
    {"pm_sampling_config", peer_pm_config, NULL, 0},
    {"profile_sample_batch", NULL, peer_profile, PEER_profile},
    {"pm_sample_batch", NULL, peer_pm_samples, PEER_pm},
    {"perf_metric_event", peer_range_counters, NULL, 0},
    {"kernel_perf_metric_event", peer_kernel_counters, NULL, 0},
    {"cubin_disassembly", peer_disassembly, NULL, 0},
    {"source_file_content", peer_source, NULL, 0},
    {"system_start", peer_window_start, NULL, 0},
    {"system_stop", peer_window_stop, NULL, 0},
    {"shutdown", peer_shutdown, NULL, 0},
    {"counter_data_quality_summary", NULL, NULL, 0},
    {"deep_window_event", NULL, NULL, 0},
    {"deep_window_rule_summary", NULL, NULL, 0},
    {"execution_signature", NULL, NULL, 0},
    {"graph_node_definition", NULL, NULL, 0},
    {"kernel_event", NULL, NULL, 0},
    {"memcpy_event", NULL, NULL, 0},
    {"memory_alloc_event", NULL, NULL, 0},
    {"nvtx_marker_event", NULL, NULL, 0},
    {"profile_sample", NULL, NULL, 0},
    {"ptx_disassembly", NULL, NULL, 0},
    {"run_end", NULL, NULL, 0},
    {"scope_begin", NULL, NULL, 0},
    {"scope_end", NULL, NULL, 0},
    {"segment_end", NULL, NULL, 0},
    {"segment_start", NULL, NULL, 0},
    {"synchronization_event", NULL, NULL, 0},
    {"system_sample", NULL, NULL, 0},
};

int peer_open(struct peer **out, struct decode_stats *stats)
{
    struct peer *p = mem_zalloc(sizeof *p);
    *out = p;
    if (!p)
        return GPUFL_E_NOMEM;
    p->stats = stats;
    p->first_time = CELL_NULL;
    buf_init(&p->text, (size_t)WIRE_MAX_LINE * 4);
    buf_init(&p->path, (size_t)WIRE_MAX_LINE * 4);
    rowset_init(&p->configs, COL_config_COUNT - 1, COL_config_COUNT - 1);
    rowset_init(&p->streams, 3, 3);
    rowset_init(&p->scopes, 1, PEER_OPEN_CELLS);
    rowset_init(&p->paths, 2, PEER_PATH_CELLS);
    rowset_init(&p->frames, PEER_FRAME_KEY, PEER_FRAME_KEY);
    rowset_init(&p->stacks, 2, 2);
    rowset_init(&p->gpu_code.objects, 1, 1);
    rowset_init(&p->gpu_code.functions, PEER_FUNCTION_KEY, PEER_FUNCTION_KEY);
    rowset_init(&p->gpu_code.reasons, 2, 2);
    rowset_init(&p->gpu_code.lines, PEER_LINE_KEY, PEER_LINE_KEY);
    rowset_init(&p->gpu_code.sources, 2, 2);
    if (!intern_open(&p->names, NAMES_MAX, NAME_BYTES_MAX) &&
        !intern_open(&p->stack_texts, STACKS_MAX, STACK_BYTES_MAX))
        return 0;
    peer_close(p);
    *out = NULL;
    return GPUFL_E_NOMEM;
}

void peer_close(struct peer *p)
{
    if (!p)
        return;
    if (p->names)
        intern_close(p->names);
    if (p->stack_texts)
        intern_close(p->stack_texts);
    buf_fini(&p->text);
    buf_fini(&p->path);
    mem_free(p->kernel_names.ids);
    mem_free(p->scope_names.ids);
    mem_free(p->functions.ids);
    mem_free(p->named_paths.ids);
    mem_free(p->stack_ids.ids);
    for (int i = 0; i < RECORD_COUNT; i++)
        mem_free(p->queues[i].rows);
    mem_free(p->columns);
    mem_free(p->rows.cells);
    mem_free(p->kernels.cells);
    mem_free(p->kernel_config);
    mem_free(p->kernel_scope);
    mem_free(p->kernel_stack);
    details_close(p->details);
    rowset_fini(&p->configs);
    rowset_fini(&p->streams);
    rowset_fini(&p->scopes);
    rowset_fini(&p->paths);
    rowset_fini(&p->frames);
    rowset_fini(&p->stacks);
    mem_free(p->gpu_code.metrics.ids);
    mem_free(p->gpu_code.files.ids);
    mem_free(p->gpu_code.symbols.ids);
    mem_free(p->gpu_code.known.ids);
    rowset_fini(&p->gpu_code.objects);
    rowset_fini(&p->gpu_code.functions);
    rowset_fini(&p->gpu_code.reasons);
    rowset_fini(&p->gpu_code.lines);
    rowset_fini(&p->gpu_code.sources);
    mem_free(p);
}

int peer_find(const char *type, size_t len)
{
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (span_is((struct span){type, len}, types[i].name))
            return i;
    return -1;
}

/* ---- batches ------------------------------------------------------------------------------- */

/* Says which column of the format is at each place of a line's rows; -1: an unknown one. */
struct places {
    int8_t column[64];
    unsigned count;
    int decimal; /* the column whose cells are fractions; -1: none */
};

static struct places usual_places(const struct peer_batch_format *f)
{
    struct places places = {.count = f->column_count};
    places.decimal = f == &peer_batches[PEER_pm] ? PEER_pm_value : -1;
    for (unsigned i = 0; i < f->column_count; i++)
        places.column[i] = (int8_t)i;
    return places;
}

static bool read_places(struct scan *s, const struct peer_batch_format *f, struct places *out,
                        uint64_t *unknown)
{
    bool first = true, more;
    struct span name;
    out->count = 0;
    while (scan_element(s, &first, &more)) {
        if (!more)
            return true;
        if (!scan_string(s, &name) || out->count == sizeof out->column)
            return false;
        int column = -1;
        for (unsigned i = 0; i < f->column_count && column < 0; i++)
            if (span_is(name, f->columns[i]))
                column = (int)i;
        *unknown += column < 0;
        out->column[out->count++] = (int8_t)column;
    }
    return false;
}

static bool read_cell(struct scan *s, const struct places *places, int column, int64_t *cell)
{
    struct decimal d;
    if (column != places->decimal)
        return scan_bits(s, cell);
    if (!decimal_read(s, &d))
        return false;
    *cell = decimal_pack(d);
    return true;
}

/* Reads a row as the client writes it: whole numbers of few digits, without spaces. False: the row
 * has another form, and the position stays. */
static bool read_plain_row(struct scan *s, const struct places *places, int64_t *cells)
{
    const char *at = s->at, *end = s->end;
    unsigned i = 0;
    if (places->decimal >= 0 || at == end || *at != '[')
        return false;
    do {
        bool negative = ++at < end && *at == '-';
        const char *digits = at += negative;
        int64_t v = 0;
        while (at < end && *at >= '0' && *at <= '9' && at - digits < PLAIN_DIGITS)
            v = v * 10 + (*at++ - '0');
        if (at == digits || at == end || i == places->count)
            return false;
        int8_t column = places->column[i++];
        if (column >= 0)
            cells[column] = negative ? -v : v;
    } while (*at == ',');
    if (*at != ']')
        return false;
    s->at = at + 1;
    return true;
}

/* Reads one row; cells beyond the known places are skipped. */
static bool read_row(struct scan *s, const struct places *places, int64_t *cells)
{
    bool first = true, more;
    for (unsigned i = 0;; i++) {
        if (!scan_element(s, &first, &more))
            return false;
        if (!more)
            return true;
        int column = i < places->count ? places->column[i] : -1;
        scan_peek(s);
        bool sound = column < 0 ? scan_value(s, NULL)
                                : scan_null(s) || read_cell(s, places, column, &cells[column]);
        if (!sound)
            return false;
    }
}

static int read_rows(struct scan *s, const struct places *places, struct peer_rows *out)
{
    bool first = true, more;
    out->count = 0;
    scan_peek(s);
    if (scan_null(s))
        return 0;
    while (scan_element(s, &first, &more)) {
        if (!more)
            return 0;
        size_t at = out->count * out->width;
        if (out->count == ROWS_MAX)
            return GPUFL_E_CORRUPT;
        if (mem_grow(&out->cells, &out->cap, at + out->width, sizeof *out->cells, SIZE_MAX / 16))
            return GPUFL_E_NOMEM;
        for (unsigned i = 0; i < out->width; i++)
            out->cells[at + i] = CELL_NULL;
        scan_peek(s);
        if (!read_plain_row(s, places, out->cells + at) && !read_row(s, places, out->cells + at))
            return GPUFL_E_CORRUPT;
        out->count++;
    }
    return GPUFL_E_CORRUPT;
}

static void take_session(struct peer *p, struct span session)
{
    if (!*p->session && session.len && session.len < sizeof p->session)
        memcpy(p->session, session.at, session.len);
}

void peer_note_time(struct peer *p)
{
    if (p->rows.count && (p->first_time == CELL_NULL || p->rows.base < p->first_time))
        p->first_time = p->rows.base;
}

/* Parses a batch line into p->rows. If "rows" comes before "columns", it is skipped first and
 * read at the end. */
static int parse_batch(struct peer *p, struct scan s, const struct peer_batch_format *f)
{
    struct places places = usual_places(f);
    struct scan rows = {0};
    struct span key, session = {NULL, 0};
    bool first = true, more, based = false, placed = false, read = false;
    uint64_t unknown = 0;
    int rc = 0;
    p->rows.width = f->column_count;
    while (true) {
        bool sound = scan_member(&s, &first, &key, &more);
        if (!sound || !more) {
            if (!sound || !scan_done(&s))
                return GPUFL_E_CORRUPT;
            break;
        }
        if (span_is(key, "columns"))
            sound = placed = read_places(&s, f, &places, &unknown);
        else if (span_is(key, "base_time_ns"))
            sound = based = scan_int(&s, &p->rows.base);
        else if (span_is(key, "session_id"))
            sound = scan_string(&s, &session);
        else if (span_is(key, "rows") && placed) {
            rc = read_rows(&s, &places, &p->rows);
            read = true;
        } else if (span_is(key, "rows")) {
            rows = s;
            sound = scan_value(&s, NULL);
        } else
            sound = scan_value(&s, NULL);
        if (!sound || rc)
            return rc ? rc : GPUFL_E_CORRUPT;
    }
    if (!based || (!read && !rows.at))
        return GPUFL_E_CORRUPT;
    if (!read && (rc = read_rows(&rows, &places, &p->rows)))
        return rc;
    take_session(p, session);
    if (f != &peer_batches[PEER_profile]) /* some of these are on another clock */
        peer_note_time(p);
    p->stats->unknown_columns += unknown;
    return 0;
}

/* ---- lines --------------------------------------------------------------------------------- */

static int finish_line(struct peer *p)
{
    peer_deliver(p);
    int rc = p->code;
    p->code = 0;
    return rc;
}

int peer_flush(struct peer *p, const struct wire_visitor *v)
{
    p->v = v;
    if (p->kernels.count)
        peer_pending_kernels(p);
    return finish_line(p);
}

static int damaged(struct peer *p, int code)
{
    if (code != GPUFL_E_CORRUPT)
        return code;
    p->stats->damaged++;
    return 0;
}

static int feed_line(struct peer *p, const struct peer_type *t, struct scan s)
{
    struct scan whole = s;
    if (!scan_value(&whole, NULL) || !scan_done(&whole))
        return damaged(p, GPUFL_E_CORRUPT);
    if (!t->line) {
        p->stats->foreign_unmapped++;
        return p->v->unknown ? p->v->unknown(p->v->arg, s.at, (size_t)(s.end - s.at)) : 0;
    }
    peer_text_reset(p, (size_t)(s.end - s.at));
    t->line(p, s);
    return finish_line(p);
}

int peer_feed(struct peer *p, int type, const char *line, size_t len, const struct wire_visitor *v)
{
    const struct peer_type *t = &types[type];
    struct scan s = {line, line + len};
    int rc = t->line == peer_detail ? 0 : peer_flush(p, v);
    if (rc)
        return rc;
    p->v = v;
    if (t->line == peer_detail && peer_detail_again(p, s))
        return finish_line(p);
    if (!t->batch)
        return feed_line(p, t, s);
    rc = parse_batch(p, s, &peer_batches[t->format]);
    if (rc)
        return damaged(p, rc);
    peer_text_reset(p, 0);
    t->batch(p);
    return finish_line(p);
}

int peer_finish(struct peer *p, const struct wire_visitor *v)
{
    int rc = peer_flush(p, v);
    if (rc)
        return rc;
    peer_late_header(p);
    peer_open_scopes(p);
    return finish_line(p);
}

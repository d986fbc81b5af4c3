/* rows_profile.c - writes samples, metrics of instructions and counters as rows of the public
 * client's format.
 *
 * In that format the time of a sample is when it was decoded, which is the end of our window. A
 * range or a kernel has one wide line there, which is put together from consecutive rows of ours;
 * metrics for which the line has no member are left out. */
#include "base/err.h"
#include "wire/decimal.h"
#include "wire/limits.h"
#include "wire/peer/state.h"

#include <string.h>

enum { EXPONENT_MOST = 80 };

int64_t peer_function_id(struct peer_encoder *e, int64_t function)
{
    int64_t *row = function > 0 ? rowset_find(&e->functions, &function) : NULL;
    if (!row)
        return 0;
    if (row[FUNCTION_CELL_ID])
        return row[FUNCTION_CELL_ID];
    const struct function_row *f = (const void *)(row + 1);
    struct buf *text = &e->path; /* borrowed: a path is built again when it is needed */
    size_t len;
    const char *shown = peer_shown(e, f->name, &len);
    buf_clear(text);
    e->path_instance = CELL_NULL;
    buf_put(text, shown, len);
    buf_char(text, '@');
    const char *file = peer_text(e, f->file, &len);
    buf_put(text, file, len);
    if (buf_error(text))
        return 0;
    row[FUNCTION_CELL_ID] = peer_new_entry(e, DICTIONARY_FUNCTION, text->data, text->len);
    const char *symbol = peer_text(e, f->name, &len);
    peer_put_entry(e, DICTIONARY_SYMBOL, (uint32_t)row[FUNCTION_CELL_ID], symbol, len);
    return row[FUNCTION_CELL_ID];
}

/* Returns the end of what a row describes; the session's start where the row has no time. */
static int64_t time_of(const struct peer_encoder *e, int64_t start, int64_t duration)
{
    int64_t end;
    if (!wire_time_ok(start))
        return e->header.start;
    bool timed = duration > 0 && !__builtin_add_overflow(start, duration, &end);
    return timed && wire_time_ok(end) ? end : start;
}

int peer_put_samples(struct peer_encoder *e, const struct wire_batch *b)
{
    static const struct stall_reason_row none = {.index = CELL_NULL};
    struct rows_line l = rows_begin(e, PEER_profile);
    for (size_t i = 0; i < b->rows; i++) {
        const int64_t *known = peer_row(&e->reasons, cell(b, COL_pc_sample_reason, i));
        const struct stall_reason_row *r = known ? (const void *)known : &none;
        int64_t scope = peer_scope_name_of(e, cell(b, COL_pc_sample_scope, i));
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_profile_corr_id] = cell(b, COL_pc_sample_correlation, i),
            [PEER_profile_device_id] = peer_device_index(e, cell(b, COL_pc_sample_device, i)),
            [PEER_profile_function_id] = peer_function_id(e, cell(b, COL_pc_sample_function, i)),
            [PEER_profile_pc_offset] = cell(b, COL_pc_sample_offset, i),
            [PEER_profile_metric_id] =
                peer_metric_id(e, r->driver_name > 0 ? r->driver_name : r->name),
            [PEER_profile_metric_value] = cell(b, COL_pc_sample_samples, i),
            [PEER_profile_stall_reason] = r->index,
            [PEER_profile_sample_kind] = PEER_PROFILE_SAMPLE,
            [PEER_profile_scope_name_id] = peer_scope_name_id(e, scope),
        };
        rows_put(&l,
                 time_of(e, cell(b, COL_pc_sample_start, i), cell(b, COL_pc_sample_duration, i)),
                 cells);
    }
    rows_send(&l, PEER_SCOPE);
    return 0;
}

int peer_put_metrics(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_profile);
    for (size_t i = 0; i < b->rows; i++) {
        int64_t scope = peer_scope_name_of(e, cell(b, COL_sass_metric_scope, i));
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_profile_corr_id] = cell(b, COL_sass_metric_correlation, i),
            [PEER_profile_device_id] = peer_device_index(e, cell(b, COL_sass_metric_device, i)),
            [PEER_profile_function_id] = peer_function_id(e, cell(b, COL_sass_metric_function, i)),
            [PEER_profile_pc_offset] = cell(b, COL_sass_metric_offset, i),
            [PEER_profile_metric_id] = peer_metric_id(e, cell(b, COL_sass_metric_metric, i)),
            [PEER_profile_metric_value] = cell(b, COL_sass_metric_value, i),
            [PEER_profile_sample_kind] = PEER_PROFILE_METRIC,
            [PEER_profile_scope_name_id] = peer_scope_name_id(e, scope),
        };
        rows_put(
            &l, time_of(e, cell(b, COL_sass_metric_start, i), cell(b, COL_sass_metric_duration, i)),
            cells);
    }
    rows_send(&l, PEER_SCOPE);
    return 0;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* Reads the value of a row; returns false if it is unknown or out of range. */
static bool value_of(const struct wire_batch *b, size_t i, struct decimal *d)
{
    *d = (struct decimal){cell(b, COL_counter_value, i), or_zero(cell(b, COL_counter_exponent, i))};
    while (d->mantissa >= 10000000000000000 || d->mantissa <= -10000000000000000) {
        d->mantissa /= 10;
        d->exponent++;
    }
    return cell(b, COL_counter_value, i) != CELL_NULL && d->exponent >= -EXPONENT_MOST &&
           d->exponent <= EXPONENT_MOST;
}

static void put_narrow(struct peer_encoder *e, struct rows_line *l, const struct wire_batch *b,
                       size_t i)
{
    struct decimal d;
    int64_t metric = peer_metric_id(e, cell(b, COL_counter_metric, i));
    int64_t scope = peer_scope_name_of(e, cell(b, COL_counter_scope, i));
    if (!metric || !value_of(b, i, &d)) {
        e->left_out++;
        return;
    }
    int64_t cells[PEER_COLUMNS_MAX] = {
        [PEER_pm_sample_index] = cell(b, COL_counter_ordinal, i),
        [PEER_pm_device_id] = peer_device_index(e, cell(b, COL_counter_device, i)),
        [PEER_pm_metric_id] = metric,
        [PEER_pm_value] = decimal_pack(d),
        [PEER_pm_scope_name_id] = peer_scope_name_id(e, scope),
    };
    rows_put(l, cell(b, COL_counter_start, i), cells);
}

/* Returns the number of the member for a metric; -1: the line has none. */
static int wide_member(struct peer_encoder *e, int64_t metric, bool kernel)
{
    size_t len;
    const char *text = peer_text(e, metric, &len);
    for (int i = 0; i < (kernel ? PEER_WIDE_METRICS : PEER_RANGE_METRICS); i++)
        if (!strcmp(text, peer_wide_metrics[i]) ||
            (peer_wide_drivers[i] && !strcmp(text, peer_wide_drivers[i])))
            return i;
    return -1;
}

/* Returns true if two rows are about the same kernel or range. */
static bool same_subject(const struct wire_batch *b, size_t i, size_t j)
{
    static const uint8_t columns[] = {COL_counter_source, COL_counter_start,  COL_counter_duration,
                                      COL_counter_device, COL_counter_scope,  COL_counter_kernel,
                                      COL_counter_range,  COL_counter_ordinal};
    for (size_t c = 0; c < sizeof columns; c++)
        if (cell(b, columns[c], i) != cell(b, columns[c], j))
            return false;
    return true;
}

static void put_head(struct peer_encoder *e, const struct wire_batch *b, size_t i, bool kernel)
{
    struct buf *out = &e->line;
    size_t len;
    int64_t ordinal = cell(b, COL_counter_ordinal, i), start = cell(b, COL_counter_start, i);
    const char *range = peer_text(e, cell(b, COL_counter_range, i), &len);
    peer_put_event(e, out, kernel ? "kernel_perf_metric_event" : "perf_metric_event");
    if (!kernel) {
        peer_put_text(out, "name", range);
        peer_put_int(out, "start_ns", peer_epoch(e, start));
        peer_put_int(out, "end_ns",
                     peer_epoch(e, time_of(e, start, cell(b, COL_counter_duration, i))));
    }
    peer_put_int(out, "device_id", peer_device_index(e, cell(b, COL_counter_device, i)));
    if (kernel) {
        peer_put_int(out, "range_index", ordinal > 0 ? ordinal - 1 : 0);
        peer_put_text(out, "range_name", range);
        const char *shown = peer_shown(e, cell(b, COL_counter_kernel, i), &len);
        buf_str(out, ",\"kernel_name\":");
        buf_json(out, shown, len);
        peer_put_int(out, "launch_ordinal", ordinal);
    }
}

/* Writes a line from row i on. Returns how many rows the line takes. */
static size_t put_wide(struct peer_encoder *e, const struct wire_batch *b, size_t i)
{
    bool kernel = cell(b, COL_counter_source, i) == 3;
    int count = kernel ? PEER_WIDE_METRICS : PEER_RANGE_METRICS, any = 0;
    struct decimal values[PEER_WIDE_METRICS];
    size_t n = 0;
    for (int m = 0; m < count; m++)
        values[m] = (struct decimal){-1, 0};
    for (; i + n < b->rows && same_subject(b, i, i + n); n++) {
        struct decimal d;
        int member = wide_member(e, cell(b, COL_counter_metric, i + n), kernel);
        bool known = member >= 0 && value_of(b, i + n, &d);
        if (known)
            values[member] = d;
        any += known;
        e->left_out += !known;
    }
    if (!any || (!kernel && !wire_time_ok(cell(b, COL_counter_start, i))))
        return n;
    put_head(e, b, i, kernel);
    for (int m = 0; m < count; m++) {
        buf_printf(&e->line, ",\"%s\":", peer_wide_metrics[m]);
        decimal_put(&e->line, values[m]);
    }
    if (!kernel) {
        peer_put_path(e, &e->line, cell(b, COL_counter_scope, i));
        peer_put_int(&e->line, "scope_depth", 0);
    }
    buf_str(&e->line, "}\n");
    peer_send_dictionaries(e);
    peer_send(e, kernel ? PEER_DEVICE : PEER_SCOPE);
    return n;
}

int peer_put_counters(struct peer_encoder *e, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows;) {
        struct rows_line l = rows_begin(e, PEER_pm);
        l.time_column = PEER_pm_dt_ns;
        l.decimal_mask = 1u << PEER_pm_value;
        for (; i < b->rows && cell(b, COL_counter_source, i) == 1; i++)
            put_narrow(e, &l, b, i);
        rows_send(&l, PEER_SCOPE);
        while (i < b->rows && cell(b, COL_counter_source, i) != 1)
            i += put_wide(e, b, i);
    }
    return 0;
}

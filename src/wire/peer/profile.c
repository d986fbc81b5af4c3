/* profile.c - reads samples, metrics of instructions and counters of the public client's format.
 *
 * The sample_kind of a profile row says which of three things it is. Samples have the time at
 * which they were decoded and the scope that was open then; here that time is the end of a
 * window of unknown length. The stall reason is identified by its name in metric_dict; the number
 * next to it is the driver's own and means nothing without the name. Lines of instructions are in
 * all four channels, on another clock; they are reported once, without a time.
 *
 * Counters come narrow (one value a row, PM sampling) and wide (one line with a
 * member for each metric); here they are narrow. A metric of -1 is unknown: no row. */
#include "base/err.h"
#include "wire/decimal.h"
#include "wire/peer/reader.h"
#include "wire/stall_name.h"

#include <stdio.h>

static int64_t cell_of(const struct peer *p, size_t row, unsigned column)
{
    return peer_cell(&p->rows, row, column);
}

/* ---- profile rows ---------------------------------------------------------------------------- */

/* Returns our stall reason of a name (0: none given) and the driver's number. */
static int64_t stall_reason(struct peer *p, int64_t name, int64_t index)
{
    const int64_t key[2] = {name, index};
    char text[48];
    bool added;
    if (!name && (index == CELL_NULL || index == 0)) /* the client writes 0 for none */
        return 0;
    int64_t *found = peer_set_put(p, &p->gpu_code.reasons, key, &added);
    if (!found)
        return 0;
    int64_t id = (int64_t)rowset_index(&p->gpu_code.reasons, found) + 1;
    if (!added)
        return id;
    size_t len = 0;
    const char *driver = name ? intern_text(p->names, (uint32_t)name, &len) : NULL;
    struct stall_name n = stall_name_of(driver ? driver : "", len);
    snprintf(text, sizeof text, "reason_%lld", (long long)index);
    peer_add(p, RECORD_stall_reason,
             &(struct stall_reason_row){.id = id,
                                        .name = peer_name_str(p, *n.text ? n.text : text),
                                        .driver_name = name,
                                        .index = index,
                                        .issued = n.issued});
    return id;
}

/* Returns the row's time, or CELL_NULL: older versions of the client write 0 if they have no
 * time. */
static int64_t profile_time(const struct peer *p, size_t row)
{
    return null_if_zero(peer_time(p->rows.base, cell_of(p, row, PEER_profile_dt_ns)));
}

static void add_sample(struct peer *p, size_t i, int64_t function)
{
    int64_t metric = cell_of(p, i, PEER_profile_metric_id);
    UNKNOWN(pc_sample, row);
    row.start = profile_time(p, i);
    row.device = peer_device(p, cell_of(p, i, PEER_profile_device_id));
    row.function = function;
    row.offset = cell_of(p, i, PEER_profile_pc_offset);
    row.reason = stall_reason(p, peer_dict_name(&p->gpu_code.metrics, metric),
                              cell_of(p, i, PEER_profile_stall_reason));
    row.samples = cell_of(p, i, PEER_profile_metric_value);
    row.scope = peer_scope_named(p, cell_of(p, i, PEER_profile_scope_name_id));
    row.correlation = null_if_zero(cell_of(p, i, PEER_profile_corr_id));
    peer_add(p, RECORD_pc_sample, &row);
}

static void add_metric(struct peer *p, size_t i, int64_t function)
{
    int64_t metric = peer_dict_name(&p->gpu_code.metrics, cell_of(p, i, PEER_profile_metric_id));
    UNKNOWN(sass_metric, row);
    if (!metric) {
        p->stats->foreign_orphans++;
        return;
    }
    row.start = profile_time(p, i);
    row.device = peer_device(p, cell_of(p, i, PEER_profile_device_id));
    row.function = function;
    row.offset = cell_of(p, i, PEER_profile_pc_offset);
    row.metric = metric;
    row.value = cell_of(p, i, PEER_profile_metric_value);
    row.scope = peer_scope_named(p, cell_of(p, i, PEER_profile_scope_name_id));
    row.correlation = null_if_zero(cell_of(p, i, PEER_profile_corr_id));
    peer_add(p, RECORD_sass_metric, &row);
}

void peer_profile(struct peer *p)
{
    bool timed = false;
    for (size_t i = 0; i < p->rows.count && !p->code; i++) {
        int64_t function = peer_function(p, cell_of(p, i, PEER_profile_function_id));
        int64_t kind = cell_of(p, i, PEER_profile_sample_kind);
        peer_line(p, function, cell_of(p, i, PEER_profile_pc_offset),
                  cell_of(p, i, PEER_profile_source_file_id),
                  cell_of(p, i, PEER_profile_source_line));
        timed |= kind != PEER_PROFILE_LINE;
        if (kind == PEER_PROFILE_SAMPLE)
            add_sample(p, i, function);
        else if (kind == PEER_PROFILE_METRIC)
            add_metric(p, i, function);
        else if (kind != PEER_PROFILE_LINE)
            p->stats->foreign_orphans++;
    }
    if (timed && p->rows.base > 0)
        peer_note_time(p);
}

/* ---- counters -------------------------------------------------------------------------------- */

/* Fills the cells that all counters of a line share. */
static struct counter_row counter_of(int64_t source)
{
    UNKNOWN(counter, row);
    row.source = source;
    row.kernel = row.range = 0;
    return row;
}

static void add_counter(struct peer *p, struct counter_row *row, int64_t metric, struct decimal d)
{
    row->metric = metric;
    row->value = d.mantissa;
    row->exponent = d.exponent ? d.exponent : CELL_NULL;
    peer_add(p, RECORD_counter, row);
}

void peer_pm_samples(struct peer *p)
{
    struct counter_row row = counter_of(1);
    for (size_t i = 0; i < p->rows.count && !p->code; i++) {
        int64_t value = cell_of(p, i, PEER_pm_value);
        int64_t metric = peer_dict_name(&p->gpu_code.metrics, cell_of(p, i, PEER_pm_metric_id));
        if (!metric || value == CELL_NULL) {
            p->stats->foreign_orphans++;
            continue;
        }
        row.start = peer_time(p->rows.base, cell_of(p, i, PEER_pm_dt_ns));
        row.device = peer_device(p, cell_of(p, i, PEER_pm_device_id));
        row.scope = peer_scope_named(p, cell_of(p, i, PEER_pm_scope_name_id));
        row.ordinal = cell_of(p, i, PEER_pm_sample_index);
        add_counter(p, &row, metric, decimal_unpack(value));
    }
}

struct wide {
    int64_t start, end, device, index, ordinal;
    struct span name, range, kernel, scope;
};

#define W(name, kind, member) FIELD(wide, name, kind, member)

static const struct field wide_fields[] = {
    W("name", TEXT, name),        W("start_ns", INT, start),      W("end_ns", INT, end),
    W("device_id", INT, device),  W("user_scope", TEXT, scope),   W("range_index", INT, index),
    W("range_name", TEXT, range), W("kernel_name", TEXT, kernel), W("launch_ordinal", INT, ordinal),
};

/* Adds the members that are metrics. -1, and a value that is no number, are unknown. */
static void add_wide(struct peer *p, struct scan s, struct counter_row *row)
{
    static const struct decimal unknown = {-1, 0};
    bool first = true, more;
    struct span key, value;
    while (!p->code && scan_member(&s, &first, &key, &more) && more && scan_value(&s, &value)) {
        struct scan number = scan_of(value);
        struct decimal d;
        for (int i = 0; i < PEER_WIDE_METRICS; i++)
            if (span_is(key, peer_wide_metrics[i]) && decimal_read(&number, &d) &&
                scan_done(&number) && (d.mantissa != unknown.mantissa || d.exponent))
                add_counter(p, row, peer_name_str(p, peer_wide_metrics[i]), d);
    }
}

static struct wide read_wide(struct scan s)
{
    struct wide w = {CELL_NULL, CELL_NULL, CELL_NULL, CELL_NULL, CELL_NULL, {0}, {0}, {0}, {0}};
    fields_read(s, wide_fields, sizeof wide_fields / sizeof *wide_fields, &w);
    return w;
}

void peer_range_counters(struct peer *p, struct scan s)
{
    struct wide w = read_wide(s);
    struct counter_row row = counter_of(2);
    row.start = peer_time(w.start, 0);
    if (row.start != CELL_NULL && peer_time(w.end, 0) != CELL_NULL && w.end >= w.start)
        row.duration = w.end - w.start;
    row.device = peer_device(p, w.device);
    row.range = peer_name_span(p, w.name);
    row.scope = w.scope.at ? peer_scope_of(p, w.scope) : CELL_NULL;
    add_wide(p, s, &row);
}

/* Returns true for the name of a kernel. A name of digits alone is the number of a range. */
static bool is_name(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return true;
    return false;
}

void peer_kernel_counters(struct peer *p, struct scan s)
{
    struct wide w = read_wide(s);
    struct counter_row row = counter_of(3);
    struct span kernel = is_name(w.kernel) ? w.kernel : w.range;
    row.device = peer_device(p, w.device);
    row.kernel = is_name(kernel) ? peer_name_span(p, kernel) : 0;
    row.range = peer_name_span(p, w.range);
    row.ordinal = w.ordinal;
    add_wide(p, s, &row);
}

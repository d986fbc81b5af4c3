/* idle_json.c - writes idle time of the GPU by cause and by line, as JSON. */
#include "analyze/common/cells.h"
#include "analyze/model/idle/operators.h"
#include "analyze/model/idle/table.h"
#include "analyze/report/json.h"
#include "base/err.h"

#include <string.h>

enum { TEXT_MAX = 1 << 16 };

/* Writes the causes. sums: of all idle time; steady: of the share base. known: false if it is
 * unknown what the GPU did. */
static void put_causes(struct json_out *j, const struct idle_sum *sums,
                       const struct idle_sum *steady, bool known)
{
    int64_t all = 0, shared = 0;
    for (int c = 0; c < IDLE_CAUSES; c++) {
        all = cells_sum(all, sums[c].time);
        shared = cells_sum(shared, steady[c].time);
    }
    json_out_int(j, "idle_ns", known ? all : CELL_NULL);
    json_out_int(j, "steady_ns", known ? shared : CELL_NULL);
    json_out_array(j, "causes");
    for (int c = 0; known && c < IDLE_CAUSES; c++) {
        json_out_object(j, NULL);
        json_out_text(j, "cause", sum_idle_key((enum idle_cause)c));
        json_out_int(j, "idle_ns", sums[c].time);
        json_out_count(j, "gaps", sums[c].gaps);
        json_out_int(j, "steady_ns", steady[c].time);
        json_out_number(j, "share", cells_share((double)steady[c].time, (double)shared));
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_scope(const struct model *m, struct json_out *j, const struct idle_row *row)
{
    struct buf path;
    buf_init(&path, TEXT_MAX);
    buf_put(&path, model_text(m, row->scope), row->scope_bytes);
    json_out_text_or_null(j, "scope", buf_cstr(&path));
    json_out_fail(j, buf_error(&path) ? GPUFL_E_NOMEM : 0);
    buf_fini(&path);
}

static void put_operator(const struct model *m, struct json_out *j, const struct idle_row *row)
{
    struct buf name;
    buf_init(&name, TEXT_MAX);
    operators_put_innermost(m, row->ops, row->ops_bytes, &name);
    json_out_text_or_null(j, "operator", buf_cstr(&name));
    json_out_fail(j, buf_error(&name) ? GPUFL_E_NOMEM : 0);
    buf_fini(&name);
}

static void put_line(const struct model *m, struct json_out *j, const struct idle_row *row)
{
    bool estimated = row->estimated > 0 && row->place;
    json_out_object(j, NULL);
    json_out_text(j, "cause", sum_idle_key((enum idle_cause)row->cause));
    json_place(m, j, row->place);
    json_out_text_or_null(j, "reason", idle_reason_key((enum idle_reason)row->reason));
    json_out_int(j, "idle_ns", row->ns);
    json_out_int(j, "exact_ns", row->exact);
    json_out_int(j, "estimated_ns", row->estimated);
    json_out_int(j, "half_width_ns", estimated ? row->half_width : 0);
    json_out_count(j, "samples", row->looks);
    json_out_bool(j, "ended_by", row->ended_by);
    json_out_bool(j, "inherited", row->inherited);
    json_out_text_or_null(j, "state", idle_doing_key(row->doing));
    json_out_text_or_null(j, "syscall", idle_doing_call(row->doing));
    put_scope(m, j, row);
    put_operator(m, j, row);
    json_out_close_object(j);
}

static void put_lines(const struct model *m, struct json_out *j)
{
    const struct idle_lines *l = &m->idle.lines;
    struct idle_table t;
    int rc = idle_table_make(m, &t);
    json_out_array(j, "lines");
    for (size_t i = 0; !rc && i < t.count; i++)
        put_line(m, j, &t.rows[i]);
    json_out_close_array(j);
    json_out_count(j, "samples", l->looks);
    json_out_count(j, "samples_not_kept", l->looks_beyond);
    json_out_count(j, "launches", l->captures);
    json_out_count(j, "launches_not_kept", l->captures_beyond);
    idle_table_fini(&t);
    json_out_fail(j, rc);
}

void json_idle(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    struct idle_sum sums[IDLE_CAUSES], steady[IDLE_CAUSES];
    int64_t all;
    unsigned devices = sum_idle_total(m, sums, &all);
    sum_idle_steady(m, steady, &all);
    json_out_object(j, "idle");
    json_out_count(j, "devices_known", devices);
    json_out_int(j, "doubtful_ns", m->idle.doubtful);
    put_causes(j, sums, steady, sum_idle_is_known(m));
    json_out_array(j, "devices");
    for (size_t i = 0; i < m->idle.device_count && i < m->devices.count; i++) {
        const struct idle_device *d = &m->idle.devices[i];
        if (!d->any)
            continue;
        memcpy(steady, d->causes, sizeof steady);
        sum_idle_device_steady(m, d, steady);
        json_out_object(j, NULL);
        json_out_int(j, "index", i ? m->devices.items[i].row.index : CELL_NULL);
        put_causes(j, d->causes, steady, true);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    put_lines(m, j);
    json_out_close_object(j);
}

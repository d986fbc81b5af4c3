/* host_time_json.c - writes the host's time by line and state as JSON. */
#include "analyze/common/cells.h"
#include "analyze/model/idle/table.h"
#include "analyze/report/json.h"

static void put_row(const struct model *m, struct json_out *j, const struct host_row *r)
{
    json_out_object(j, NULL);
    json_place(m, j, r->place);
    json_out_text_or_null(j, "reason", idle_reason_key((enum idle_reason)r->reason));
    json_out_text_or_null(j, "state", r->call ? "gpu_wait" : idle_doing_key(r->doing));
    json_out_text_or_null(j, "syscall", idle_doing_call(r->doing));
    json_out_text_or_null(j, "call", r->call ? sum_wait_lines_call((int)r->call - 1) : "");
    json_out_int(j, "time_ns", r->ns);
    json_out_int(j, "exact_ns", r->exact);
    json_out_int(j, "estimated_ns", r->estimated);
    json_out_int(j, "half_width_ns", r->estimated && !r->half_width ? CELL_NULL : r->half_width);
    json_out_count(j, "samples", r->looks);
    json_out_close_object(j);
}

void json_host_time(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_host_time *s = &m->host_time;
    struct host_table t;
    int rc = host_table_make(m, &t);
    json_out_object(j, "host_time");
    json_out_count(j, "threads", s->threads);
    json_out_int(j, "time_ns", s->threads ? s->time : CELL_NULL);
    json_out_count(j, "samples", s->looks);
    json_out_array(j, "lines");
    for (size_t i = 0; !rc && i < t.count; i++)
        put_row(m, j, &t.rows[i]);
    json_out_close_array(j);
    json_out_close_object(j);
    host_table_fini(&t);
    json_out_fail(j, rc);
}

/* ask_metrics.c - series of metrics, and what a session has. */
#include "store/duckdb/ask.h"

/* A metric is a column of its record, told by its number: not its time, not a device. */
int ask_series(struct ask *a)
{
    bool of_device = ask_value(a, "device") != NULL;
    enum record_type type = of_device ? RECORD_device_metric : RECORD_host_metric;
    const struct record *r = &records[type];
    int64_t metric = ask_int(a, "metric", -1);
    if (metric <= 0 || metric >= r->column_count || r->columns[metric].ref != RECORD_NONE)
        return err_set(a->e, GPUFL_E_INVAL, "record %s has no metric %lld", r->type,
                       (long long)metric);
    ask_text(a, "SELECT below(time, $step) AS slot, min(v), avg(v), max(v), count(v) FROM "
                "(SELECT time, ");
    sql_name(&a->text, r->columns[metric].name);
    ask_more(a, of_device ? " AS v FROM {device_metric} WHERE device = $device"
                          : " AS v FROM {host_metric} WHERE true");
    ask_more(a, "[from? AND time >= $from][to? AND time < $to] AND event(time, 0)) "
                "WHERE v IS NOT NULL GROUP BY slot ORDER BY slot");
    return ask_rows(a);
}

int ask_counts(struct ask *a)
{
    bool any = false;
    ask_text(a, "SELECT record, n FROM (");
    for (unsigned i = 0; i < RECORD_COUNT; i++) {
        if (!a->session->have[i])
            continue;
        buf_str(&a->text, any ? " UNION ALL " : "");
        buf_printf(&a->text, "SELECT %u AS place, '%s' AS record, count(*) AS n FROM ", i,
                   records[i].type);
        session_name(&a->text, a->session, i);
        any = true;
    }
    ask_more(a, ") WHERE n > 0 ORDER BY place");
    return any ? ask_rows(a) : 0;
}

/* counters.c - turns sums into Prometheus' text. */
#include "server/request/counters.h"

#include <inttypes.h>

/* Lists the upper ends of the buckets; the last bucket has none. */
static const struct {
    int64_t ns;
    const char *text;
} BUCKETS[COUNTERS_BUCKETS] = {
    {1000000, "0.001"},  {3000000, "0.003"},  {10000000, "0.01"},    {30000000, "0.03"},
    {100000000, "0.1"},  {300000000, "0.3"},  {1000000000, "1"},     {3000000000, "3"},
    {10000000000, "10"}, {30000000000, "30"}, {100000000000, "100"}, {INT64_MAX, "+Inf"},
};

static void add(atomic_uint_fast64_t *n, uint64_t by)
{
    atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

static uint64_t get(atomic_uint_fast64_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

void counters_add(struct counters *c, unsigned slot, int status, int64_t took_ns, uint64_t in,
                  uint64_t out)
{
    struct counters_row *row = &c->rows[slot < COUNTERS_OTHER ? slot : COUNTERS_OTHER];
    unsigned bucket = 0;
    while (took_ns > BUCKETS[bucket].ns)
        bucket++;
    add(&row->status[status / 100 < 6 ? status / 100 : 5], 1);
    add(&row->took[bucket], 1);
    add(&row->took_ns, (uint64_t)took_ns);
    add(&row->in, in);
    add(&row->out, out);
}

static const char *slot_name(unsigned slot)
{
    return slot == COUNTERS_OTHER ? "other" : routes[slot].id;
}

static uint64_t row_total(struct counters_row *row)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < 6; i++)
        n += get(&row->status[i]);
    return n;
}

void counters_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_statuses(struct counters *c, struct buf *out)
{
    static const char *const classes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    counters_head(
        out, "gpufl_http_requests_total", "counter",
        "Requests by route and class of status; class none: the client left before an answer.");
    for (unsigned slot = 0; slot <= COUNTERS_OTHER; slot++)
        for (unsigned i = 0; i < 6; i++) {
            uint64_t n = get(&c->rows[slot].status[i]);
            if (n)
                buf_printf(out,
                           "gpufl_http_requests_total{route=\"%s\",status=\"%s\"} %" PRIu64 "\n",
                           slot_name(slot), classes[i], n);
        }
}

static void put_times(struct counters *c, struct buf *out)
{
    counters_head(out, "gpufl_http_request_seconds", "histogram",
                  "From the request's first line to the end of its answer.");
    for (unsigned slot = 0; slot <= COUNTERS_OTHER; slot++) {
        struct counters_row *row = &c->rows[slot];
        uint64_t sum = 0;
        if (row_total(row) == 0)
            continue;
        for (unsigned i = 0; i < COUNTERS_BUCKETS; i++) {
            sum += get(&row->took[i]);
            buf_printf(out,
                       "gpufl_http_request_seconds_bucket{route=\"%s\",le=\"%s\"} %" PRIu64 "\n",
                       slot_name(slot), BUCKETS[i].text, sum);
        }
        buf_printf(out, "gpufl_http_request_seconds_sum{route=\"%s\"} %.6f\n", slot_name(slot),
                   (double)get(&row->took_ns) / 1e9);
        buf_printf(out, "gpufl_http_request_seconds_count{route=\"%s\"} %" PRIu64 "\n",
                   slot_name(slot), sum);
    }
}

static void put_bytes(struct counters *c, struct buf *out)
{
    counters_head(out, "gpufl_http_bytes_total", "counter",
                  "Bytes of bodies, as they went over the wire.");
    for (unsigned slot = 0; slot <= COUNTERS_OTHER; slot++) {
        struct counters_row *row = &c->rows[slot];
        if (row_total(row) == 0)
            continue;
        buf_printf(out, "gpufl_http_bytes_total{route=\"%s\",direction=\"in\"} %" PRIu64 "\n",
                   slot_name(slot), get(&row->in));
        buf_printf(out, "gpufl_http_bytes_total{route=\"%s\",direction=\"out\"} %" PRIu64 "\n",
                   slot_name(slot), get(&row->out));
    }
}

void counters_put(struct counters *c, struct buf *out)
{
    put_statuses(c, out);
    put_times(c, out);
    put_bytes(c, out);
}

void counters_number(struct buf *out, const char *name, const char *type, const char *help,
                     double value)
{
    counters_head(out, name, type, help);
    buf_printf(out, "%s %.17g\n", name, value);
}

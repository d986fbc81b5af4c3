/* tally.c - see tally.h. */
#include "backend/sim/tally.h"

#include <string.h>

static const char *const copy_names[SIM_COPY_KINDS] = {
    [SIM_HTOD] = "HtoD", [SIM_DTOH] = "DtoH", [SIM_DTOD] = "DtoD",
    [SIM_HTOH] = "HtoH", [SIM_PTOP] = "PtoP",
};

static const char *const wait_names[SIM_WAIT_KINDS] = {
    [SIM_WAIT_EVENT] = "event",
    [SIM_WAIT_STREAM_EVENT] = "stream_wait",
    [SIM_WAIT_STREAM] = "stream",
    [SIM_WAIT_CONTEXT] = "context",
};

static const char *const error_names[SIM_ERROR_COUNT] = {
#define SIM_ERROR_NAME(id, key, number, doc) key,
    SIM_ERRORS(SIM_ERROR_NAME)
#undef SIM_ERROR_NAME
};

void sim_tally_init(struct sim_tally *t)
{
    memset(t, 0, sizeof *t);
    t->scope = -1;
}

/* Finds the row of a path: of a name below parent; it is made if there is none. If the table is
 * full, this is the parent, so that only detail is lost. */
static int scope_row(struct sim_tally *t, int parent, const char *name)
{
    for (int i = parent + 1; i < t->scope_count; i++)
        if (t->scopes[i].parent == parent && !strcmp(t->scopes[i].name, name))
            return i;
    if (t->scope_count == SIM_SCOPES_MAX)
        return parent;
    t->scopes[t->scope_count] = (struct sim_tally_scope){.name = name, .parent = parent};
    return t->scope_count++;
}

void sim_tally_enter(struct sim_tally *t, const char *name)
{
    t->scope = scope_row(t, t->scope, name);
    t->scopes_opened++;
}

void sim_tally_leave(struct sim_tally *t, int64_t wall)
{
    struct sim_tally_scope *s = &t->scopes[t->scope];
    s->calls++;
    s->wall_ns += wall;
    t->scope = s->parent;
}

void sim_tally_kernel(struct sim_tally *t, unsigned kernel, int64_t ns)
{
    t->kernels[kernel].count++;
    t->kernels[kernel].ns += ns;
    if (t->scope >= 0) {
        t->scopes[t->scope].kernels++;
        t->scopes[t->scope].kernel_ns += ns;
    }
}

uint64_t sim_tally_kernels(const struct sim_tally *t)
{
    uint64_t n = 0;
    for (int i = 0; i < SIM_KERNEL_COUNT; i++)
        n += t->kernels[i].count;
    return n;
}

static void work_merge(struct sim_tally_work *into, const struct sim_tally_work *from)
{
    into->count += from->count;
    into->bytes += from->bytes;
    into->ns += from->ns;
}

static void scopes_merge(struct sim_tally *into, const struct sim_tally *from)
{
    int rows[SIM_SCOPES_MAX];
    for (int i = 0; i < from->scope_count; i++) {
        const struct sim_tally_scope *f = &from->scopes[i];
        rows[i] = scope_row(into, f->parent < 0 ? -1 : rows[f->parent], f->name);
        struct sim_tally_scope *s = &into->scopes[rows[i]];
        s->calls += f->calls;
        s->wall_ns += f->wall_ns;
        s->kernels += f->kernels;
        s->kernel_ns += f->kernel_ns;
    }
}

void sim_tally_merge(struct sim_tally *into, const struct sim_tally *from)
{
    for (int i = 0; i < SIM_KERNEL_COUNT; i++) {
        into->kernels[i].count += from->kernels[i].count;
        into->kernels[i].ns += from->kernels[i].ns;
        into->kernels[i].lost += from->kernels[i].lost;
        into->kernels[i].lost_ns += from->kernels[i].lost_ns;
    }
    for (int i = 0; i < SIM_COPY_KINDS; i++)
        work_merge(&into->copies[i], &from->copies[i]);
    for (int i = 0; i < SIM_WAIT_KINDS; i++)
        work_merge(&into->syncs[i], &from->syncs[i]);
    work_merge(&into->fills, &from->fills);
    work_merge(&into->allocs, &from->allocs);
    work_merge(&into->frees, &from->frees);
    work_merge(&into->overhead, &from->overhead);
    for (int i = 0; i < SIM_ERROR_COUNT; i++)
        into->errors[i] += from->errors[i];
    into->launches += from->launches;
    into->graph_launches += from->graph_launches;
    into->graph_kernels += from->graph_kernels;
    into->scopes_opened += from->scopes_opened;
    scopes_merge(into, from);
}

/* ---- JSON ----------------------------------------------------------------------------- */

static void put_int(struct buf *b, const char *key, int64_t v)
{
    buf_printf(b, "\"%s\":%lld", key, (long long)v);
}

static void put_kernels(struct buf *b, const struct sim_tally *t)
{
    struct sim_tally_kernel sum = {0, 0, 0, 0};
    for (int i = 0; i < SIM_KERNEL_COUNT; i++) {
        sum.count += t->kernels[i].count;
        sum.ns += t->kernels[i].ns;
        sum.lost += t->kernels[i].lost;
        sum.lost_ns += t->kernels[i].lost_ns;
    }
    buf_printf(b, "\"kernels\":{\"count\":%llu,\"ns\":%lld,\"lost\":%llu,\"lost_ns\":%lld",
               (unsigned long long)sum.count, (long long)sum.ns, (unsigned long long)sum.lost,
               (long long)sum.lost_ns);
    buf_str(b, ",\n  \"by_name\":[");
    const char *comma = "";
    for (int i = 0; i < SIM_KERNEL_COUNT; i++) {
        const struct sim_tally_kernel *k = &t->kernels[i];
        if (!k->count)
            continue;
        buf_printf(b, "%s\n   {\"name\":", comma);
        buf_json_str(b, sim_kernels[i].name);
        buf_printf(b, ",\"count\":%llu,\"ns\":%lld,\"lost\":%llu,\"lost_ns\":%lld}",
                   (unsigned long long)k->count, (long long)k->ns, (unsigned long long)k->lost,
                   (long long)k->lost_ns);
        comma = ",";
    }
    buf_str(b, "]}");
}

static void put_work(struct buf *b, const struct sim_tally_work *w)
{
    buf_printf(b, "\"count\":%llu,\"bytes\":%lld,\"ns\":%lld", (unsigned long long)w->count,
               (long long)w->bytes, (long long)w->ns);
}

/* Writes the kinds that occurred, with their names and codes. */
static void put_kinds(struct buf *b, const char *key, const struct sim_tally_work *w,
                      const char *const *names, int n)
{
    buf_printf(b, "\"%s\":[", key);
    const char *comma = "";
    for (int i = 0; i < n; i++) {
        if (!w[i].count)
            continue;
        buf_printf(b, "%s\n  {\"kind\":\"%s\",\"code\":%d,", comma, names[i], i);
        put_work(b, &w[i]);
        buf_char(b, '}');
        comma = ",";
    }
    buf_char(b, ']');
}

static void put_path(struct buf *b, const struct sim_tally *t, int row)
{
    int path[SIM_SCOPES_MAX], n = 0;
    for (int i = row; i >= 0; i = t->scopes[i].parent)
        path[n++] = i;
    buf_char(b, '[');
    while (n--) {
        buf_json_str(b, t->scopes[path[n]].name);
        buf_str(b, n ? "," : "]");
    }
}

static void put_scopes(struct buf *b, const struct sim_tally *t)
{
    uint64_t kernels[SIM_SCOPES_MAX];
    int64_t ns[SIM_SCOPES_MAX];
    for (int i = t->scope_count - 1; i >= 0; i--) { /* children come after their parents */
        kernels[i] = t->scopes[i].kernels;
        ns[i] = t->scopes[i].kernel_ns;
        for (int j = i + 1; j < t->scope_count; j++)
            if (t->scopes[j].parent == i) {
                kernels[i] += kernels[j];
                ns[i] += ns[j];
            }
    }
    buf_printf(b, "\"scopes_opened\":%llu,\n \"scopes\":[", (unsigned long long)t->scopes_opened);
    for (int i = 0; i < t->scope_count; i++) {
        const struct sim_tally_scope *s = &t->scopes[i];
        buf_str(b, i ? ",\n  {\"path\":" : "\n  {\"path\":");
        put_path(b, t, i);
        buf_printf(b,
                   ",\"calls\":%llu,\"wall_ns\":%lld,\"kernels\":%llu,\"kernel_ns\":%lld,"
                   "\"own_kernels\":%llu,\"own_kernel_ns\":%lld}",
                   (unsigned long long)s->calls, (long long)s->wall_ns,
                   (unsigned long long)kernels[i], (long long)ns[i], (unsigned long long)s->kernels,
                   (long long)s->kernel_ns);
    }
    buf_char(b, ']');
}

void sim_tally_json(const struct sim_tally *t, struct buf *b)
{
    buf_char(b, ' ');
    put_kernels(b, t);
    buf_str(b, ",\n ");
    put_int(b, "launches", (int64_t)t->launches);
    buf_str(b, ",\n \"graphs\":{");
    put_int(b, "launches", (int64_t)t->graph_launches);
    buf_char(b, ',');
    put_int(b, "kernels", (int64_t)t->graph_kernels);
    buf_str(b, "},\n ");
    put_kinds(b, "copies", t->copies, copy_names, SIM_COPY_KINDS);
    buf_str(b, ",\n \"fills\":{");
    put_work(b, &t->fills);
    buf_str(b, "},\n ");
    put_kinds(b, "syncs", t->syncs, wait_names, SIM_WAIT_KINDS);
    buf_str(b, ",\n \"allocations\":{");
    put_work(b, &t->allocs);
    buf_str(b, "},\n \"frees\":{");
    put_work(b, &t->frees);
    buf_str(b, "},\n \"overhead\":{");
    put_work(b, &t->overhead);
    buf_str(b, "},\n ");
    put_int(b, "samples", (int64_t)t->samples);
    buf_char(b, ',');
    put_int(b, "metric_rows", (int64_t)t->metric_rows);
    buf_str(b, ",\n ");
    put_scopes(b, t);
    buf_str(b, ",\n \"errors\":{");
    const char *comma = "";
    for (int i = 0; i < SIM_ERROR_COUNT; i++) {
        if (!t->errors[i])
            continue;
        buf_str(b, comma);
        put_int(b, error_names[i], (int64_t)t->errors[i]);
        comma = ",";
    }
    buf_char(b, '}');
}

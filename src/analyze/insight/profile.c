/* profile.c - see profile.h. */
#include "analyze/insight/profile.h"

#include "analyze/common/cells.h"
#include "base/err.h"
#include "base/printable.h"
#include "symbol/names/kinds.h"

#include <string.h>

enum { WARP = 32, KINDS_MAX = 1 << 22 };

uint32_t profile_kernel(const struct model *m, uint32_t function)
{
    const struct code_function *f = device_code_at(&m->code, function);
    return f ? f->shown : 0;
}

const struct stall *profile_stall(const struct model *m, uint32_t reason)
{
    return reason ? sum_samples_reason(&m->samples, reason)->stall : &stall_unknown;
}

void profile_stalls(const struct model *m, uint32_t kernel, struct profile_stalls *out)
{
    const struct sum_samples *s = &m->samples;
    memset(out, 0, sizeof *out);
    for (size_t i = 1; i < s->functions.count; i++) {
        const struct sample_group *g = sum_samples_group(&s->functions, i);
        const struct stall *stall = profile_stall(m, g->reason);
        if (profile_kernel(m, g->owner) != kernel)
            continue;
        out->all += g->count.all;
        out->stalled += stall_waits(stall) ? g->count.all : 0;
        sample_count_add(&out->class[stall->class], &g -> count);
    }
}

/* Estimates the time of a kernel without rows: the time of sampling, divided like the samples. */
static int64_t time_by_samples(const struct model *m, const struct code_function *f)
{
    struct busy_result r;
    busy_result(&m->samples.windows, &r);
    return cells_whole((double)r.busy *
                       cells_share((double)f->samples, (double)m->samples.total.all));
}

int64_t profile_time(const struct model *m, uint32_t function, bool *estimated)
{
    const struct code_function *f = device_code_at(&m->code, function);
    *estimated = false;
    if (!f)
        return 0;
    if (f->kernel) {
        const struct kernel_name *k = &m->kernels.names[f->kernel - 1];
        return insight_of_kernel(m, k, k->time.total);
    }
    if (m->kernels.time.count)
        return 0;
    *estimated = true;
    return time_by_samples(m, f);
}

bool profile_worth(const struct model *m, uint32_t function)
{
    const struct code_function *f = device_code_at(&m->code, function);
    bool estimated;
    int64_t ns = profile_time(m, function, &estimated);
    if (f && kinds_library(kinds_of(model_text(m, f->shown))))
        return false; /* a reader of the report cannot change its source */
    return !ns || insight_is_share(m, ns, INSIGHT_worth, 1000);
}

int64_t profile_warp(const struct model *m)
{
    for (size_t i = 1; i < m->devices.count; i++)
        if (m->devices.items[i].row.warp_size > 0 && m->devices.items[i].row.warp_size <= 1024)
            return m->devices.items[i].row.warp_size;
    return WARP;
}

/* ---- lines ------------------------------------------------------------------------------- */

struct weighed {
    uint32_t kernel, kind, file, spare;
    int64_t line;
    /* not of the key: */
    double weight;
};

struct heaviest {
    uint32_t kernel, kind;
    /* not of the key: */
    struct profile_line line;
};

void profile_lines_init(struct profile_lines *l)
{
    keyed_init(&l->lines, sizeof(struct weighed), offsetof(struct weighed, weight), KINDS_MAX);
    keyed_init(&l->best, sizeof(struct heaviest), offsetof(struct heaviest, line), KINDS_MAX);
}

void profile_lines_fini(struct profile_lines *l)
{
    keyed_fini(&l->lines);
    keyed_fini(&l->best);
}

int profile_lines_add(const struct model *m, struct profile_lines *l, uint32_t function,
                      int64_t offset, uint32_t kind, double weight)
{
    const struct code_line *line = device_code_line(&m->code, function, offset, 0);
    struct weighed w;
    uint32_t index;
    if (!line || !line->file || weight <= 0)
        return 0;
    memset(&w, 0, sizeof w);
    w.kernel = profile_kernel(m, function);
    w.kind = kind;
    w.file = line->file;
    w.line = line->line;
    int rc = keyed_put(&l->lines, &w, &index, NULL);
    if (!rc && index)
        ((struct weighed *)keyed_at(&l->lines, index))->weight += weight;
    return rc;
}

int profile_lines_finish(struct profile_lines *l)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < l->lines.count; i++) {
        const struct weighed *w = keyed_at(&l->lines, i);
        uint32_t index, key[2] = {w->kernel, w->kind};
        rc = keyed_put(&l->best, key, &index, NULL);
        struct heaviest *h = rc ? NULL : keyed_at(&l->best, index);
        if (h && w->weight > h->line.weight)
            h->line = (struct profile_line){w->file, w->line, w->weight};
    }
    return rc;
}

struct profile_line profile_lines_best(const struct profile_lines *l, uint32_t kernel,
                                       uint32_t kind)
{
    uint32_t key[2] = {kernel, kind}, index = keyed_find(&l->best, key);
    return index ? ((const struct heaviest *)keyed_at(&l->best, index))->line
                 : (struct profile_line){0, 0, 0};
}

void profile_put_line(const struct model *m, const struct profile_line *l, struct buf *out)
{
    const char *file = model_text(m, l->file), *slash = strrchr(file, '/');
    size_t from;
    if (!l->file)
        return;
    buf_str(out, " at ");
    from = out->len;
    buf_str(out, slash ? slash + 1 : file);
    if (!buf_error(out))
        printable_clean(out->data + from, out->len - from);
    buf_printf(out, ":%lld", (long long)l->line);
}

void profile_place(const struct model *m, struct insight *i, uint32_t function,
                   const struct profile_line *l)
{
    const struct code_function *f = device_code_at(&m->code, function);
    i->kernel = f ? f->name : 0;
    i->file = l->file;
    i->line = l->line;
}

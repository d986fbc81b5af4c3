/* sass.c - makes findings from counted instructions: divergence, uncoalesced access, bank
 * conflicts, spills.
 *
 * Each except the last compares a pair of metrics. Only instructions that have both count, so that
 * a metric that was not collected, or whose rows are lost, is never taken for 0. Sectors of local
 * memory are compared with those of global memory, which other instructions caused. The counts are
 * exact, not sampled, so there is no error; but a least amount is required. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/profile.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/printable.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

/* Holds a pair: what one kernel did, and what would have been needed or possible. For local memory:
 * its sectors, and those of global memory. */
struct pair {
    uint32_t kernel, function;
    int64_t done, ideal;
};

enum pair_kind { PAIR_THREADS, PAIR_SECTORS, PAIR_WAVEFRONTS, PAIR_LOCAL };

/* Returns false if the values do not have the pair. */
static bool read_pair(const struct sass_values *v, enum pair_kind kind, int64_t warp, int64_t *done,
                      int64_t *ideal)
{
    if (kind == PAIR_THREADS) {
        *done = v->value[SASS_THREADS];
        *ideal = cells_whole((double)v->value[SASS_INST] * (double)warp);
        return sass_has(v, SASS_INST) && sass_has(v, SASS_THREADS);
    }
    if (kind == PAIR_LOCAL) {
        *done = v->value[SASS_SECTORS_LOCAL];
        *ideal = v->value[SASS_SECTORS];
        return sass_has(v, SASS_SECTORS_LOCAL) || sass_has(v, SASS_SECTORS);
    }
    *done = v->value[kind == PAIR_SECTORS ? SASS_SECTORS : SASS_WAVEFRONTS];
    *ideal = kind == PAIR_SECTORS ? sass_ideal_sectors(v) : v->value[SASS_WAVEFRONTS_IDEAL];
    return kind == PAIR_SECTORS
               ? sass_has(v, SASS_SECTORS) && *ideal > 0
               : sass_has(v, SASS_WAVEFRONTS) && sass_has(v, SASS_WAVEFRONTS_IDEAL) && *ideal > 0;
}

/* Returns the share that was not needed. */
static double waste_of(enum pair_kind kind, const struct pair *p)
{
    if (kind == PAIR_LOCAL)
        return (double)p->done;
    double more = (double)p->done - (double)p->ideal;
    return kind == PAIR_THREADS ? -more : more;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* Lists the pairs by kernel, and the waste by line. */
static struct pair *list_pairs(const struct model *m, enum pair_kind kind,
                               struct profile_lines *lines, size_t *count)
{
    const struct sum_sass *s = &m->sass;
    struct pair *list = mem_array(s->places.count + 1, sizeof *list);
    int64_t warp = profile_warp(m);
    size_t n = 0, joined = 0;
    int rc = 0;
    for (size_t i = 1; list && !rc && i < s->places.count; i++) {
        const struct sass_place *p = sum_sass_place(s, i);
        struct pair x = {profile_kernel(m, p->function), p->function, 0, 0};
        if (!read_pair(&p->values, kind, warp, &x.done, &x.ideal) || !x.kernel)
            continue;
        list[n++] = x;
        rc = profile_lines_add(m, lines, p->function, p->offset, 0, waste_of(kind, &x));
    }
    if (!list || rc || profile_lines_finish(lines)) {
        mem_free(list);
        return NULL;
    }
    if (n)
        qsort(list, n, sizeof *list, compare_pairs);
    for (size_t i = 0; i < n; i++)
        if (joined && list[joined - 1].kernel == list[i].kernel) {
            list[joined - 1].done = cells_sum(list[joined - 1].done, list[i].done);
            list[joined - 1].ideal = cells_sum(list[joined - 1].ideal, list[i].ideal);
        } else {
            list[joined++] = list[i];
        }
    *count = joined;
    return list;
}

/* Returns the share of a kernel's samples that wait for a class; 1 if it has too few samples. */
static double waiting(const struct model *m, const struct pair *p, enum stall_class class)
{
    struct profile_stalls s;
    bool estimated;
    if (!device_code_at(&m->code, p->function)->samples ||
        !profile_time(m, p->function, &estimated))
        return 1; /* without a time any factor gives 0 */
    profile_stalls(m, p->kernel, &s);
    return s.stalled < INSIGHT_stall_samples
               ? 1
               : cells_share((double)s.class[class].all, (double)s.all);
}

/* Returns the severity from the waste alone, for sessions without times of kernels. */
static enum insight_severity severity_of_waste(double share)
{
    return 100 * share > INSIGHT_waste_high     ? INSIGHT_HIGH
           : 100 * share > INSIGHT_waste_medium ? INSIGHT_MEDIUM
                                                : INSIGHT_LOW;
}

/* Begins a finding with what it could give back: time x share x waiting. */
static int begin_finding(const struct model *m, const char *rule, const struct pair *p,
                         double share, struct insights *to, struct insight **at)
{
    bool estimated;
    int rc = insight_add(to, rule, at);
    if (rc)
        return rc;
    struct insight *i = *at;
    int64_t time = profile_time(m, p->function, &estimated);
    i->next = i->rule->next;
    i->gives_back = cells_whole((double)time * share);
    i->severity = time ? insight_by_share(m, i->gives_back) : severity_of_waste(share);
    insight_of(i, INSIGHT_OF_KERNELS, time);
    insight_fact(i, "gpu_ns", time ? time : CELL_NULL);
    insight_fact(i, "time_estimated", estimated);
    return 0;
}

static void put_most(const struct model *m, const struct profile_line *line, struct buf *out)
{
    if (line->file) {
        buf_str(out, "; most of it");
        profile_put_line(m, line, out);
    }
    buf_str(out, ".");
}

/* ---- divergence -------------------------------------------------------------------------- */

static enum insight_severity severity_of(double percent)
{
    return percent < INSIGHT_divergence_high     ? INSIGHT_HIGH
           : percent < INSIGHT_divergence_medium ? INSIGHT_MEDIUM
                                                 : INSIGHT_LOW;
}

/* Adds a finding. scope: name of a path; 0: all of the kernel. */
static int add_divergence(const struct model *m, const struct pair *p, uint32_t scope,
                          const struct profile_line *line, struct insights *to)
{
    int64_t warp = profile_warp(m), inst = p->ideal / warp;
    double share = cells_share((double)p->done, (double)p->ideal), threads = share * (double)warp;
    struct insight *i;
    struct buf text;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    int rc = begin_finding(m, "divergence", p, 1 - share, to, &i);
    if (rc)
        return rc;
    profile_place(m, i, p->function, line);
    buf_init(&text, TEXT_MAX);
    i->scope = scope;
    i->severity = severity_of(100 * share);
    insight_fact(i, "instructions", inst);
    insight_fact(i, "thread_instructions", p->done);
    insight_fact(i, "efficiency_permille", (int64_t)(1000 * share));
    units_percent(a, (double)p->done, (double)p->ideal);
    buf_printf(&text, "Divergent warps: %s of their threads at work", a);
    rc = insight_say(&i->title, &text);
    insight_put_kernel(m, device_code_at(&m->code, p->function)->name, &text);
    if (scope) {
        size_t from = text.len;
        buf_printf(&text, " in scope %s", model_text(m, scope));
        if (!buf_error(&text))
            printable_clean(text.data + from, text.len - from);
    }
    buf_printf(&text, ": %.1f of %lld threads at work (%s) on average, over %s instructions",
               threads, (long long)warp, a, units_count(b, inst));
    put_most(m, line, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

static bool is_divergent(const struct pair *p, int64_t warp, int64_t limit)
{
    double percent = 100 * cells_share((double)p->done, (double)p->ideal);
    return p->ideal / warp >= INSIGHT_sass_least && percent < (double)limit;
}

static bool has_finding(const struct insights *to, size_t from, const struct model *m,
                        uint32_t kernel)
{
    for (size_t i = from; i < to->count; i++)
        if (!to->items[i].scope && to->items[i].kernel &&
            device_code_at(&m->code, kernel)->name == to->items[i].kernel)
            return true;
    return false;
}

/* Adds findings about kernels that diverge in a scope only. */
static int scopes_divergence(const struct model *m, size_t from, struct insights *to)
{
    static const struct profile_line none = {0, 0, 0};
    int64_t warp = profile_warp(m);
    int rc = 0;
    for (size_t i = 1; !rc && i < m->sass.groups.count; i++) {
        const struct sass_group *g = sum_sass_group(&m->sass, i);
        struct pair p = {profile_kernel(m, g->function), g->function, 0, 0};
        if (g->scope && p.kernel && read_pair(&g->values, PAIR_THREADS, warp, &p.done, &p.ideal) &&
            is_divergent(&p, warp, INSIGHT_divergence_medium) && profile_worth(m, p.function) &&
            !has_finding(to, from, m, g->function))
            rc = add_divergence(m, &p, g->scope, &none, to);
    }
    return rc;
}

int insight_divergence(const struct model *m, struct insights *to)
{
    struct profile_lines lines;
    size_t count = 0, from = to->count;
    int64_t warp = profile_warp(m);
    if (m->sass.places.count < 2)
        return 0;
    profile_lines_init(&lines);
    struct pair *list = list_pairs(m, PAIR_THREADS, &lines, &count);
    int rc = list ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < count; i++) {
        struct profile_line line = profile_lines_best(&lines, list[i].kernel, 0);
        if (is_divergent(&list[i], warp, INSIGHT_divergence) && profile_worth(m, list[i].function))
            rc = add_divergence(m, &list[i], 0, &line, to);
    }
    rc = rc ? rc : scopes_divergence(m, from, to);
    mem_free(list);
    profile_lines_fini(&lines);
    return rc;
}

/* ---- memory ------------------------------------------------------------------------------ */

static int add_memory(const struct model *m, enum pair_kind kind, const struct pair *p,
                      const struct profile_line *line, struct insights *to)
{
    bool sectors = kind == PAIR_SECTORS;
    double waste = 1 - cells_share((double)p->ideal, (double)p->done);
    double wait = waiting(m, p, sectors ? STALL_MEMORY : STALL_SHARED);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = begin_finding(m, sectors ? "uncoalesced" : "bank_conflicts", p,
                           wait < waste ? wait : waste, to, &i);
    if (rc)
        return rc;
    profile_place(m, i, p->function, line);
    buf_init(&text, TEXT_MAX);
    insight_fact(i, sectors ? "sectors" : "wavefronts", p->done);
    insight_fact(i, sectors ? "sectors_ideal" : "wavefronts_ideal", p->ideal);
    units_percent(a, (double)p->ideal, (double)p->done);
    units_count(b, p->done);
    units_count(c, p->ideal);
    if (sectors)
        buf_printf(&text, "Uncoalesced access: %s of the traffic needed", a);
    else
        buf_printf(&text, "Bank conflicts: %.1f-way", (double)p->done / (double)p->ideal);
    rc = insight_say(&i->title, &text);
    insight_put_kernel(m, device_code_at(&m->code, p->function)->name, &text);
    if (sectors)
        buf_printf(&text,
                   ": its accesses to global memory took %s sectors, and %s (%s) would be enough",
                   b, c, a);
    else
        buf_printf(&text,
                   ": its accesses to shared memory took %s wavefronts, and %s would be enough", b,
                   c);
    put_most(m, line, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

static int add_local(const struct model *m, const struct pair *p, const struct profile_line *line,
                     struct insights *to)
{
    double share = cells_share((double)p->done, (double)p->done + (double)p->ideal);
    double wait = waiting(m, p, STALL_MEMORY);
    bool global = sum_sass_counted(&m->sass, SASS_SECTORS);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = begin_finding(m, "spills", p, wait < share ? wait : share, to, &i);
    if (rc)
        return rc;
    profile_place(m, i, p->function, line);
    buf_init(&text, TEXT_MAX);
    insight_fact(i, "local_sectors", p->done);
    insight_fact(i, "global_sectors", global ? p->ideal : CELL_NULL);
    units_percent(a, share, 1);
    units_count(b, p->done);
    units_count(c, p->ideal);
    buf_printf(&text, "Local memory: %s%s", global ? a : b,
               global ? " of the traffic" : " sectors");
    rc = insight_say(&i->title, &text);
    insight_put_kernel(m, device_code_at(&m->code, p->function)->name, &text);
    buf_printf(&text, ": its accesses to local memory took %s sectors", b);
    if (global)
        buf_printf(&text, ", those to global memory %s", c);
    buf_str(&text, ": spilled registers, or arrays that did not fit");
    put_most(m, line, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

static bool is_wasteful(enum pair_kind kind, const struct pair *p)
{
    if (kind == PAIR_LOCAL)
        return p->done >= INSIGHT_sass_least &&
               100 * cells_share((double)p->done, (double)p->done + (double)p->ideal) >=
                   INSIGHT_local;
    double needed = 100 * cells_share((double)p->ideal, (double)p->done);
    return p->done >= INSIGHT_sass_least &&
           (kind == PAIR_SECTORS ? needed < INSIGHT_coalesced : 100 - needed >= INSIGHT_conflicts);
}

static int find_memory(const struct model *m, enum pair_kind kind, struct insights *to)
{
    struct profile_lines lines;
    size_t count = 0;
    if (m->sass.places.count < 2)
        return 0;
    profile_lines_init(&lines);
    struct pair *list = list_pairs(m, kind, &lines, &count);
    int rc = list ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < count; i++) {
        struct profile_line line = profile_lines_best(&lines, list[i].kernel, 0);
        if (is_wasteful(kind, &list[i]) && profile_worth(m, list[i].function))
            rc = kind == PAIR_LOCAL ? add_local(m, &list[i], &line, to)
                                    : add_memory(m, kind, &list[i], &line, to);
    }
    mem_free(list);
    profile_lines_fini(&lines);
    return rc;
}

int insight_uncoalesced(const struct model *m, struct insights *to)
{
    return find_memory(m, PAIR_SECTORS, to);
}

int insight_bank_conflicts(const struct model *m, struct insights *to)
{
    return find_memory(m, PAIR_WAVEFRONTS, to);
}

int profile_spills(const struct model *m, struct insights *to)
{
    return find_memory(m, PAIR_LOCAL, to);
}

/* stall.c - what warps wait for: the dominant stall reasons of kernels and scopes.
 *
 * Samples are added up by kernel (or scope) and class of reasons. Shares are shares of the stalled
 * samples. A share is given with its error, and there is no finding where the error is large. Warps
 * that could have gone on (not_selected) count as stalled, as in the vendor's tools, and are never
 * a finding. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/profile.h"
#include "analyze/model/scopes/path.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/printable.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

/* Counts the samples of one reason of a kernel or a scope. */
struct entry {
    uint32_t owner;    /* kernel, or name of a scope's path */
    uint32_t function; /* a function of the kernel; 0: a scope */
    uint32_t reason;
    struct sample_count count;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return (x->reason > y->reason) - (x->reason < y->reason);
}

/* Holds the reasons of one owner. */
struct owner {
    const struct entry *entries;
    size_t count;
    uint64_t all, stalled;
    struct sample_count class[STALL_CLASSES];
};

static struct owner sum_owner(const struct model *m, const struct entry *entries, size_t count)
{
    struct owner o = {.entries = entries, .count = count};
    for (size_t i = 0; i < count; i++) {
        const struct stall *stall = profile_stall(m, entries[i].reason);
        o.all += entries[i].count.all;
        o.stalled += stall_waits(stall) ? entries[i].count.all : 0;
        sample_count_add(&o.class[stall->class], &entries[i].count);
    }
    return o;
}

/* Describes a kernel whose sectors of global memory were counted. */
struct counted {
    uint32_t kernel;
    bool sectors, ideal;
};

static int list_counted(const struct model *m, struct keyed *to)
{
    int rc = 0;
    keyed_init(to, sizeof(struct counted), sizeof(uint32_t), SIZE_MAX / 64);
    for (size_t i = 1; !rc && i < m->sass.groups.count; i++) {
        const struct sass_group *g = sum_sass_group(&m->sass, i);
        uint32_t index, kernel = profile_kernel(m, g->function);
        if (g->scope)
            continue;
        rc = keyed_put(to, &kernel, &index, NULL);
        struct counted *c = rc ? NULL : keyed_at(to, index);
        if (c) {
            c->sectors |= g->values.value[SASS_SECTORS] > 0;
            c->ideal |= sass_ideal_sectors(&g->values) > 0;
        }
    }
    return rc;
}

/* Holds what the rule uses besides the samples. */
struct judge {
    const struct model *m;
    struct profile_lines lines;
    struct keyed counted;
    struct insights *to;
};

static bool sectors_without_ideal(const struct judge *j, uint32_t kernel)
{
    uint32_t index = keyed_find(&j->counted, &kernel);
    const struct counted *c = index ? keyed_at(&j->counted, index) : NULL;
    return c && c->sectors && !c->ideal;
}

static int64_t limit_of(enum stall_class class)
{
    return class == STALL_MEMORY      ? INSIGHT_stall_memory
           : class == STALL_PIPE      ? INSIGHT_stall_pipe
           : class == STALL_EXECUTION ? INSIGHT_stall_execution
                                      : INSIGHT_stall_share;
}

/* Returns the reason of a class with most samples. Samples of cycles with and without an issue have
 * one name, so they are one reason. */
static const struct entry *top_reason(const struct model *m, const struct owner *o,
                                      enum stall_class class)
{
    const struct entry *top = NULL;
    for (size_t i = 0; i < o->count; i++)
        if (profile_stall(m, o->entries[i].reason)->class == class &&
            (!top || o->entries[i].count.all > top->count.all))
            top = &o->entries[i];
    return top;
}

static bool is_dominant(const struct judge *j, const struct owner *o, enum stall_class class,
                        const struct entry *top)
{
    uint64_t n = o->class[class].all;
    double share = cells_share((double)n, (double)o->stalled);
    if (o->stalled < INSIGHT_stall_samples || class == STALL_READY ||
        !stall_waits(profile_stall(j->m, top->reason)))
        return false;
    if (share * 100 > (double)limit_of(class))
        return true;
    share = cells_share((double)top->count.all, (double)o->stalled);
    return o->entries->function &&
           !strcmp(profile_stall(j->m, top->reason)->name, "long_scoreboard") &&
           share * 100 > INSIGHT_stall_latency && sectors_without_ideal(j, o->entries->owner);
}

static void put_reason(const struct model *m, uint32_t reason, struct buf *out)
{
    size_t from = out->len;
    buf_str(out, reason ? model_text(m, sum_samples_reason(&m->samples, reason)->name) : "unknown");
    if (!buf_error(out))
        printable_clean(out->data + from, out->len - from);
}

/* Returns the owner's time as a part of the run. */
static int64_t time_of(const struct model *m, const struct owner *o, bool *estimated)
{
    *estimated = false;
    if (o->entries->function)
        return profile_time(m, o->entries->function, estimated);
    uint32_t node = scope_path_node(m, o->entries->owner);
    return node ? insight_of_run(m, m->scopes.nodes[node].all.gpu) : 0;
}

static void put_facts(struct insight *i, const struct owner *o, const struct sample_count *n,
                      int64_t time, double margin)
{
    insight_fact(i, "samples", (int64_t)o->all);
    insight_fact(i, "stalled_samples", (int64_t)o->stalled);
    insight_fact(i, "reason_samples", (int64_t)n->all);
    insight_fact(i, "reason_not_issued", n->issue_known ? (int64_t)n->idle : CELL_NULL);
    insight_fact(i, "share_permille",
                 (int64_t)(1000 * cells_share((double)n->all, (double)o->stalled)));
    insight_fact(i, "margin_permille", (int64_t)(1000 * margin + 0.5));
    insight_fact(i, "gpu_ns", time ? time : CELL_NULL);
}

static void put_subject(const struct model *m, const struct owner *o, struct buf *out)
{
    if (o->entries->function) {
        insight_put_kernel(m, device_code_at(&m->code, o->entries->function)->name, out);
        return;
    }
    size_t from = out->len;
    buf_printf(out, "Scope %s", model_text(m, o->entries->owner));
    if (!buf_error(out))
        printable_clean(out->data + from, out->len - from);
}

static void put_text(const struct model *m, const struct owner *o, const struct entry *top,
                     const struct profile_line *line, double margin, struct buf *out)
{
    const struct stall *s = profile_stall(m, top->reason);
    const struct sample_count *n = &o->class[s->class];
    char a[UNITS_TEXT], b[UNITS_TEXT];
    put_subject(m, o, out);
    buf_printf(out, ": %s (+- %.1f points at 95 %%) of %s stalled samples wait for %s (",
               units_percent(a, (double)n->all, (double)o->stalled), 100 * margin,
               units_count(b, (int64_t)o->stalled), s->waits);
    put_reason(m, top->reason, out);
    if (n->all > top->count.all)
        buf_printf(out, " %s, the rest of its kind",
                   units_percent(a, (double)top->count.all, (double)o->stalled));
    buf_str(out, ")");
    if (line->file) {
        buf_str(out, ", most");
        profile_put_line(m, line, out);
    }
    buf_printf(out, ". Usual causes: %s.", s->cause);
}

static int add_finding(const struct model *m, const struct owner *o, const struct entry *top,
                       const struct profile_line *line, struct insights *to)
{
    const struct stall *s = profile_stall(m, top->reason);
    const struct sample_count *n = &o->class[s->class];
    double share = cells_share((double)n->all, (double)o->stalled);
    double margin = sample_margin(share, o->stalled);
    double lost = (double)(n->idle + (n->all - n->issue_known));
    char a[UNITS_TEXT];
    bool estimated;
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, "stall", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    profile_place(m, i, o->entries->function, line);
    i->scope = o->entries->function ? 0 : o->entries->owner;
    int64_t time = time_of(m, o, &estimated);
    insight_of(i, INSIGHT_OF_KERNELS, time);
    i->next = s->next;
    i->gives_back = cells_whole((double)time * cells_share(lost, (double)o->all));
    i->severity = insight_by_share(m, i->gives_back);
    put_facts(i, o, n, time, margin);
    insight_fact(i, "time_estimated", estimated);
    buf_str(&text, "Stalled: ");
    put_reason(m, top->reason, &text);
    buf_printf(&text, " %s", units_percent(a, (double)n->all, (double)o->stalled));
    rc = insight_say(&i->title, &text);
    put_text(m, o, top, line, margin, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

static int judge_owner(struct judge *j, const struct owner *o)
{
    static const struct profile_line none = {0, 0, 0};
    const struct entry *first = o->entries;
    int rc = 0;
    if (first->function && !profile_worth(j->m, first->function))
        return 0;
    for (int class = 0; !rc && class < STALL_CLASSES; class ++) {
        const struct entry *top = top_reason(j->m, o, (enum stall_class) class);
        if (!top || !is_dominant(j, o, (enum stall_class) class, top))
            continue;
        struct profile_line line =
            first->function ? profile_lines_best(&j->lines, first->owner, (uint32_t) class) : none;
        rc = add_finding(j->m, o, top, &line, j->to);
    }
    return rc;
}

/* Lists the entries of a table of groups, by owner. */
static struct entry *list_entries(const struct model *m, const struct keyed *groups, bool scopes,
                                  size_t *count)
{
    struct entry *list = mem_array(groups->count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 1; list && i < groups->count; i++) {
        const struct sample_group *g = sum_samples_group(groups, i);
        uint32_t owner = scopes ? g->owner : profile_kernel(m, g->owner);
        if (owner)
            list[(*count)++] = (struct entry){owner, scopes ? 0 : g->owner, g->reason, g->count};
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, compare_entries);
    return list;
}

/* Joins the entries of modules that were loaded twice: one entry for each reason. */
static size_t join_equal(struct entry *list, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (n && list[n - 1].owner == list[i].owner && list[n - 1].reason == list[i].reason)
            sample_count_add(&list[n - 1].count, &list[i].count);
        else
            list[n++] = list[i];
    }
    return n;
}

static int judge_all(struct judge *j, const struct keyed *groups, bool scopes)
{
    size_t count;
    struct entry *list = list_entries(j->m, groups, scopes, &count);
    int rc = list ? 0 : GPUFL_E_NOMEM;
    count = list ? join_equal(list, count) : 0;
    for (size_t i = 0, n; !rc && i < count; i += n) {
        for (n = 1; i + n < count && list[i + n].owner == list[i].owner;)
            n++;
        struct owner o = sum_owner(j->m, list + i, n);
        rc = judge_owner(j, &o);
    }
    mem_free(list);
    return rc;
}

int insight_stall(const struct model *m, struct insights *to)
{
    const struct sum_samples *s = &m->samples;
    struct judge j = {.m = m, .to = to};
    if (s->total.all < INSIGHT_stall_samples)
        return 0;
    profile_lines_init(&j.lines);
    int rc = list_counted(m, &j.counted);
    for (size_t i = 1; !rc && i < s->places.count; i++) {
        const struct sample_place *p = sum_samples_place(s, i);
        rc = profile_lines_add(m, &j.lines, p->function, p->offset,
                               profile_stall(m, p->reason)->class, (double)p->count.all);
    }
    rc = rc ? rc : profile_lines_finish(&j.lines);
    rc = rc ? rc : judge_all(&j, &s->functions, false);
    rc = rc ? rc : judge_all(&j, &s->scopes, true);
    profile_lines_fini(&j.lines);
    keyed_fini(&j.counted);
    return rc;
}

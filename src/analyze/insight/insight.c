/* insight.c - runs the table of rules, and sorts their findings. */
#include "analyze/insight/insight.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/findings.h"
#include "analyze/insight/start.h"
#include "base/alloc.h"
#include "base/err.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define INSIGHT(id, category, bound, fires, severity, gives_back, next)                            \
    {#id, INSIGHT_##category, INSIGHT_##bound, fires, severity, gives_back, next, insight_##id},

const struct insight_rule insight_rules[] = {
#include "analyze/insight/insight.def"
};

const size_t insight_rule_count = sizeof insight_rules / sizeof *insight_rules;

#define LIMIT(name, value, unit, reason) {#name, value, unit, reason},

const struct insight_limit insight_limits[] = {
#include "analyze/insight/insight.def"
};

const size_t insight_limit_count = sizeof insight_limits / sizeof *insight_limits;

const char *insight_category_name(enum insight_category c)
{
    static const char *const texts[] = {
#define CATEGORY(name, text) text,
#include "analyze/insight/insight.def"
    };
    return texts[c];
}

const char *insight_severity_name(enum insight_severity s)
{
    static const char *const texts[] = {
#define SEVERITY(name, text) text,
#include "analyze/insight/insight.def"
    };
    return texts[s];
}

/* ---- for rules --------------------------------------------------------------------------- */

const struct insight_rule *insight_rule_of(const char *id)
{
    const struct insight_rule *r = insight_rules;
    while (strcmp(r->id, id) != 0)
        r++;
    return r;
}

int insight_add(struct insights *to, const char *id, struct insight **at)
{
    int rc = mem_grow(&to->items, &to->cap, to->count + 1, sizeof *to->items, SIZE_MAX);
    if (rc)
        return rc;
    *at = &to->items[to->count++];
    **at = (struct insight){.rule = insight_rule_of(id), .least = CELL_NULL};
    (*at)->next = (*at)->rule->next;
    return 0;
}

int insight_say(char **to, struct buf *text)
{
    int rc = buf_error(text);
    mem_free(*to);
    *to = rc ? NULL : mem_strdup(buf_cstr(text));
    if (!*to)
        rc = GPUFL_E_NOMEM;
    buf_clear(text);
    return rc ? GPUFL_E_NOMEM : 0;
}

void insight_fact(struct insight *i, const char *key, int64_t value)
{
    if (i->fact_count < INSIGHT_EVIDENCE)
        i->facts[i->fact_count++] = (struct insight_fact){key, value};
}

void insight_of(struct insight *i, int part, int64_t ns)
{
    i->of[part] = cells_sum(i->of[part], ns);
}

void insight_of_causes(struct insight *i, const int64_t ns[IDLE_CAUSES])
{
    for (int c = 0; c < IDLE_CAUSES; c++)
        insight_of(i, c, ns[c]);
}

struct insight_idle insight_idle_of(const struct model *m, enum idle_cause c)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    unsigned devices = sum_idle_total(m, sums, &all);
    int64_t time = sum_idle_of_run(m, sums[c].time);
    if (time > sum_steps_time(m))
        return (struct insight_idle){.devices = devices};
    return (struct insight_idle){devices, time, sums[c].time, sums[c].gaps, sums[c].longest};
}

void insight_fact_longest(const struct model *m, struct insight *i, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    insight_fact(i, "longest_ns", end - start);
    insight_fact(i, "longest_start_ns", start - m->facts.start);
}

/* Adds the kernel's longest launch to a finding about a kernel whose rule names no other event. */
static void mark_launch(const struct model *m, struct insight *i)
{
    const struct kernel_name *k = i->kernel ? sum_kernels_name(&m->kernels, i->kernel) : NULL;
    for (unsigned f = 0; f < i->fact_count; f++)
        if (!strcmp(i->facts[f].key, "longest_ns"))
            return;
    if (k)
        insight_fact_longest(m, i, k->longest_start, k->longest_start + k->time.max);
}

bool insight_is_share(const struct model *m, int64_t ns, int64_t limit, int64_t of)
{
    int64_t wall = sum_steps_time(m);
    return wall > 0 && (double)ns * (double)of >= (double)limit * (double)wall;
}

enum insight_severity insight_by_share(const struct model *m, int64_t ns)
{
    double share = 100 * cells_share((double)ns, (double)sum_steps_time(m));
    return share > INSIGHT_severity_high     ? INSIGHT_HIGH
           : share > INSIGHT_severity_medium ? INSIGHT_MEDIUM
                                             : INSIGHT_LOW;
}

int64_t insight_of_steady(const struct model *m, double kernel_ns)
{
    double busy = (double)m->devices.compute_ns, all = (double)m->kernels.time.total;
    unsigned devices = m->devices.computing;
    return devices && all > 0
               ? sum_windows_of_whole(
                     m, cells_whole(kernel_ns * (busy < all ? busy / all : 1) / devices))
               : 0;
}

int64_t insight_of_run(const struct model *m, int64_t kernel_ns)
{
    return insight_of_steady(m, (double)kernel_ns * sum_steps_part(m));
}

int64_t insight_of_kernel(const struct model *m, const struct kernel_name *k, int64_t kernel_ns)
{
    return insight_of_steady(m,
                             (double)kernel_ns * sum_steps_kernel_part(m, k->name, k->time.total));
}

void insight_put_cause(enum idle_cause c, struct buf *out)
{
    const char *name = sum_idle_name(c);
    buf_char(out, (char)toupper((unsigned char)*name));
    buf_str(out, name + 1);
}

void insight_put_where(const struct model *m, uint32_t place, struct buf *out)
{
    enum { COLUMNS = 60 };
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    if (!p)
        return;
    buf_str(out, stacks_place_is_library(p) ? " in a library, at " : " at ");
    stacks_put_place(m, place, out);
    if (!p->function || stacks_place_is_function(p))
        return;
    buf_str(out, " in ");
    stacks_put_function(m, p->function, COLUMNS, out);
}

struct insight_heaviest insight_heaviest(const struct model *m, const int64_t *sums, int64_t all)
{
    struct insight_heaviest h = {.all = all};
    for (uint32_t i = 1; i < m->stacks.places.count; i++)
        if (sums[i] > h.part && !stacks_place_at(&m->stacks, i)->mark) {
            h.part = sums[i];
            h.place = i;
        }
    return h;
}

void insight_own(struct insight *i, const struct insight_heaviest *h)
{
    if (!h->place || h->all <= 0 || h->part < h->all - h->part)
        return;
    i->place = h->place;
    i->gives_back =
        cells_whole((double)i->gives_back * cells_share((double)h->part, (double)h->all));
}

void insight_put_heaviest(const struct model *m, const struct insight_heaviest *h, const char *of,
                          struct buf *out)
{
    char share[UNITS_TEXT];
    if (!h->place)
        return;
    buf_printf(out, "; %s%s", units_percent(share, (double)h->part, (double)h->all), of);
    insight_put_where(m, h->place, out);
}

size_t insight_title_words(const struct insight *i)
{
    const char *at = strstr(i->title, " @ ");
    return at ? (size_t)(at - i->title) : strlen(i->title);
}

/* ---- all of them ------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct insight *x = a, *y = b;
    if (x->band != y->band)
        return x->band > y->band ? -1 : 1;
    if (!x->band && x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->rule->bound != y->rule->bound)
        return x->rule->bound < y->rule->bound ? -1 : 1;
    if (x->gives_back != y->gives_back)
        return x->gives_back > y->gives_back ? -1 : 1;
    if (x->rule != y->rule)
        return x->rule > y->rule ? -1 : 1; /* the more specific rule comes after the general one */
    int o = strcmp(x->title, y->title);
    return o ? o : strcmp(x->text, y->text);
}

static void drop(struct insight *i)
{
    mem_free(i->title);
    mem_free(i->text);
    mem_free(i->inside);
}

/* Keeps the findings of one rule, from `first` on, that give back most. */
static void keep_most(struct insights *in, size_t first)
{
    if (in->count - first <= INSIGHT_RULE_MOST)
        return;
    qsort(in->items + first, in->count - first, sizeof *in->items, compare);
    in->left_out += in->count - first - INSIGHT_RULE_MOST;
    while (in->count - first > INSIGHT_RULE_MOST)
        drop(&in->items[--in->count]);
}

static unsigned band_of(const struct model *m, int64_t ns)
{
    enum insight_severity s = insight_by_share(m, ns);
    return !ns                                                   ? INSIGHT_BAND_NONE
           : !insight_is_share(m, ns, INSIGHT_worth_first, 1000) ? INSIGHT_BAND_LITTLE
           : s == INSIGHT_HIGH                                   ? INSIGHT_BAND_MOST
           : s == INSIGHT_MEDIUM                                 ? INSIGHT_BAND_MORE
                                                                 : INSIGHT_BAND_WORTH;
}

/* Returns true if samples do not show that a finding gives back anything: its interval at 95 %
 * contains 0. */
static bool may_be_nothing(const struct insight *i)
{
    return i->gives_back > 0 && i->half_width != CELL_NULL && i->half_width >= i->gives_back;
}

/* Limits what findings from `first` on give back: at most the run, without the profiler's own
 * cost. One that may give back nothing is LOW. */
static void bound_all(const struct model *m, bool slowed, struct insights *in, size_t first)
{
    int64_t wall = sum_steps_time(m);
    for (size_t k = first; k < in->count; k++) {
        struct insight *i = &in->items[k];
        int64_t ns = i->gives_back;
        i->gives_back = ns < 0 ? 0 : ns > wall ? wall : ns;
        if (i->rule->bound == INSIGHT_ESTIMATED)
            i->half_width = CELL_NULL;
        else if (slowed)
            i->severity = INSIGHT_LOW, i->gives_back = i->half_width = 0;
        i->least = i->least > i->gives_back ? i->gives_back : i->least;
        i->band = band_of(m, i->gives_back);
        if (may_be_nothing(i)) {
            i->severity = INSIGHT_LOW;
            i->band = i->band > INSIGHT_BAND_WORTH ? INSIGHT_BAND_WORTH : i->band;
        }
    }
}

/* Drops findings from `first` on whose gain would not be noticed. Findings about waits stay,
 * because readers look for them and should see that there is nothing to win. Findings whose
 * severity is above LOW stay, and estimates whose time is unknown. */
static void drop_little(struct insights *in, size_t first)
{
    size_t kept = first;
    for (size_t k = first; k < in->count; k++) {
        struct insight *i = &in->items[k];
        bool unknown = i->band == INSIGHT_BAND_NONE && i->rule->bound == INSIGHT_ESTIMATED;
        if (i->severity > INSIGHT_LOW || i->band >= INSIGHT_BAND_WORTH || unknown ||
            i->rule->category == INSIGHT_SYNCHRONIZATION)
            in->items[kept++] = *i;
        else
            drop(i);
    }
    in->count = kept;
}

/* Returns true if the session's engine looks into kernels: then each kernel counts, however short
 * it is. */
static bool looks_into_kernels(const struct model *m)
{
    return m->sass.rows || m->samples.functions.count;
}

/* Returns true for rules about calls at a line, whose findings include the time of the line's
 * waits. */
static bool has_waits(const struct insight_rule *r)
{
    static const char *const ids[] = {"sync_loop", "memory_alloc_loop", "pageable_copies",
                                      "small_copies"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(r->id, ids[i]))
            return true;
    return false;
}

/* Returns true if the time of `i` includes the time of `other`. A rule about a line's calls
 * includes sync_line's time; what the host did includes most calls that it made for that; a late
 * rank includes its own GPU's idle time. A finding may also include the time of all findings of its
 * rule, or of a state at all lines. */
static bool has_time_of(const struct insight *i, const struct insight *other)
{
    const char *id = other->rule->id;
    if (i->of_rule && i->rule == other->rule)
        return i != other;
    if (i->state && !i->place)
        return other->place && other->state == i->state;
    if (i->place != other->place || !i->place || i->gives_back < other->gives_back)
        return false;
    if (i->of_host && (!strcmp(id, "late_launch") || !strcmp(id, "idle_cause")))
        return !other->ended_by;
    if (i->calls && other->rule->category == INSIGHT_SYNCHRONIZATION)
        return i->calls >= other->gives_back - other->gives_back / 4;
    return strcmp(i->rule->id, "rank_wait") != 0
               ? !strcmp(id, "sync_line") && has_waits(i->rule)
               : !other->ended_by && (!strcmp(id, "late_launch") || !strcmp(id, "idle_cause"));
}

/* Marks findings whose time is part of another finding's. */
static void join_cards(struct insights *in)
{
    for (size_t k = 0; k < in->count; k++)
        for (size_t n = 0; n < in->count; n++)
            if (!in->items[k].part_of && has_time_of(&in->items[n], &in->items[k]))
                in->items[k].part_of = n + 1;
}

/* Sets the next step in the words of the GPU's vendor, for findings that have only their rule's
 * step. */
static void speak(const struct model *m, struct insights *in, size_t first)
{
    for (size_t k = first; k < in->count; k++) {
        struct insight *i = &in->items[k];
        const char *next = i->next == i->rule->next
                               ? words_next(model_kernel_words(m, i->kernel), i->rule->id)
                               : NULL;
        i->next = next ? next : i->next;
    }
}

/* Returns true for rules about idle time without a wait. In a run that the profiler slows, such
 * idle time is the profiler's. */
static bool is_of_idle(const struct insight_rule *r)
{
    return r->category == INSIGHT_IDLE || r->category == INSIGHT_LAUNCH;
}

int insights_find(const struct model *m, struct insights *out)
{
    int rc = 0;
    bool slowed = findings_slowed(m);
    memset(out, 0, sizeof *out);
    for (size_t r = 0; !rc && r < insight_rule_count; r++) {
        size_t first = out->count;
        if (slowed && is_of_idle(&insight_rules[r]))
            continue;
        rc = insight_rules[r].find(m, out);
        for (size_t i = first; !rc && i < out->count; i++)
            rc = out->items[i].title && out->items[i].text ? insight_mark_start(m, &out->items[i])
                                                           : GPUFL_E_NOMEM;
        if (rc)
            break;
        for (size_t i = first; i < out->count; i++)
            mark_launch(m, &out->items[i]);
        speak(m, out, first);
        bound_all(m, slowed, out, first);
        if (!slowed && !looks_into_kernels(m))
            drop_little(out, first);
        keep_most(out, first);
    }
    if (rc) {
        insights_fini(out);
        return GPUFL_E_NOMEM;
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare);
    join_cards(out);
    return 0;
}

void insights_fini(struct insights *in)
{
    for (size_t i = 0; i < in->count; i++)
        drop(&in->items[i]);
    mem_free(in->items);
    memset(in, 0, sizeof *in);
}

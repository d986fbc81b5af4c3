/* late.c - see late.h. */
#include "analyze/model/ranks/late.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/model/ranks/match.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MOST = 1 << 20 };

/* Looks at a line before collectives for which a rank was late. */
struct at_line {
    uint32_t late, place; /* late: in sum_late_ranks */
    /* not of the key: */
    uint64_t looks, other_looks; /* at the late rank, and at the last but one */
};

/* Holds what the late rank and the last but one did since their last common collective, summed. */
struct pair {
    int64_t idle, other_idle; /* ns */
    uint64_t looks, other_looks;
};

struct matching {
    struct model *m;
    struct keyed at_lines;
    struct pair *pairs;   /* owned: by index in sum_late_ranks.late */
    uint32_t *late_of;    /* owned: by rank, index in late + 1 */
    int64_t *together;    /* owned: by rank, end of its last matched collective */
    uint8_t *has_matched; /* owned: by rank */
};

void sum_late_ranks_init(struct model *m)
{
    m->late_ranks = (struct sum_late_ranks){0};
}

void sum_late_ranks_fini(struct model *m)
{
    mem_free(m->late_ranks.late);
    mem_free(m->late_ranks.lines);
    sum_late_ranks_init(m);
}

int sum_late_ranks_batch(struct model *m, const struct wire_batch *b)
{
    (void)m;
    (void)b;
    return 0;
}

/* Has nothing to do: sum_late_ranks_finish matches the ranks of all sessions. */
int sum_late_ranks_merge(struct model *into, const struct model *from, int64_t shift)
{
    (void)into;
    (void)from;
    (void)shift;
    return 0;
}

/* ---- ranks ------------------------------------------------------------------------------- */

static int compare_ranks(const struct model *m, const struct rank *a, const struct rank *b)
{
    int o = strcmp(model_text(m, a->session), model_text(m, b->session));
    if (o || a->pid != b->pid)
        return o ? o : a->pid < b->pid ? -1 : 1;
    return (a->device > b->device) - (a->device < b->device);
}

/* Sorts the ranks, so that their order does not depend on the order of the sessions. There are
 * few. */
static void settle_ranks(struct model *m)
{
    struct rank *r = m->ranks.items;
    for (size_t i = 0; i < m->ranks.count; i++) {
        if (!r[i].settled)
            r[i].begins = m->steps.steady ? m->steps.begins : INT64_MIN;
        r[i].settled = true;
    }
    for (size_t i = 1; i < m->ranks.count; i++)
        for (size_t k = i; k && compare_ranks(m, &r[k - 1], &r[k]) > 0; k--) {
            struct rank one = r[k];
            r[k] = r[k - 1];
            r[k - 1] = one;
        }
}

/* ---- one collective ---------------------------------------------------------------------- */

static int find_late(struct matching *w, uint32_t rank, uint32_t *at)
{
    struct sum_late_ranks *s = &w->m->late_ranks;
    if (!w->late_of[rank]) {
        int rc = mem_grow(&s->late, &s->late_cap, s->late_count + 1, sizeof *s->late, RANKS_MOST);
        if (rc)
            return rc;
        s->late[s->late_count++] = (struct rank_late){.rank = rank};
        w->late_of[rank] = (uint32_t)s->late_count;
    }
    *at = w->late_of[rank] - 1;
    return 0;
}

/* Adds the looks at a rank in the idle time of [start, end). */
static int add_looks(struct matching *w, uint32_t late, uint32_t rank, int64_t start, int64_t end,
                     bool other)
{
    const struct rank *r = &w->m->ranks.items[rank];
    int rc = 0;
    size_t low = ORDER_PLACE(r->look_count, i, r->looks[i].time < start);
    for (; !rc && low < r->look_count && r->looks[low].time < end; low++) {
        struct at_line key = {.late = late};
        uint32_t at;
        if (rank_is_busy(r, r->looks[low].time))
            continue;
        rc = stacks_find_place(w->m, r->looks[low].node, &key.place);
        rc = rc ? rc : keyed_put(&w->at_lines, &key, &at, NULL);
        if (rc || !at)
            break;
        struct at_line *l = keyed_at(&w->at_lines, at);
        *(other ? &l->other_looks : &l->looks) += 1;
        *(other ? &w->pairs[late].other_looks : &w->pairs[late].looks) += 1;
    }
    return rc;
}

/* Returns the time from which the late rank and the last but one can be compared: when they left a
 * common collective, or when both were in their steady parts. Otherwise when the last but one
 * came. */
static int64_t since(const struct matching *w, const struct rank_member *last,
                     const struct rank_member *before)
{
    const struct rank *r = w->m->ranks.items;
    int64_t a = w->together[last->rank], b = w->together[before->rank];
    a = a > r[last->rank].begins ? a : r[last->rank].begins;
    b = b > r[before->rank].begins ? b : r[before->rank].begins;
    int64_t t = a > b ? a : b;
    return t == INT64_MIN || t > before->start ? before->start : t;
}

/* Adds the last rank's lateness, divided into its two parts. */
static int add_late(struct matching *w, const struct rank_member *last,
                    const struct rank_member *before, int64_t gain)
{
    const struct rank *r = w->m->ranks.items;
    int64_t from = since(w, last, before), length = last->start - before->start,
            idle = last->start - from - rank_busy(&r[last->rank], from, last->start),
            other_idle = before->start - from - rank_busy(&r[before->rank], from, before->start),
            longer = idle - other_idle;
    uint32_t at;
    int rc = find_late(w, last->rank, &at);
    if (rc)
        return rc;
    struct rank_late *l = &w->m->late_ranks.late[at];
    longer = longer < 0 ? 0 : longer > length ? length : longer;
    int64_t part = cells_whole((double)gain * cells_share((double)longer, (double)length));
    l->collectives++;
    l->waited = before->rank;
    l->gain = cells_sum(l->gain, gain);
    l->idle = cells_sum(l->idle, part);
    l->busy = cells_sum(l->busy, gain - part);
    w->pairs[at].idle = cells_sum(w->pairs[at].idle, idle);
    w->pairs[at].other_idle = cells_sum(w->pairs[at].other_idle, other_idle);
    rc = add_looks(w, at, last->rank, from, last->start, false);
    return rc ? rc : add_looks(w, at, before->rank, from, before->start, true);
}

/* Notes and returns the ns that a member waited until `until` in its steady part, while its device
 * did nothing else.
 */
static int64_t note_wait(struct matching *w, const struct rank_member *one, int64_t until)
{
    struct rank *r = &w->m->ranks.items[one->rank];
    struct rank_op *op = &r->ops[one->op];
    int64_t start = op->start > r->begins ? op->start : r->begins;
    until = until < op->end ? until : op->end;
    op->waited = until - op->start >= RANK_TOGETHER ? until - op->start : 0;
    op->alone = op->waited && until > start ? until - start - rank_busy(r, start, until) : 0;
    return op->alone;
}

/* Adds one collective, whose first member is members[first]. */
static int add_collective(struct matching *w, const struct rank_member *members, size_t count,
                          size_t first)
{
    const struct rank_member *last = NULL, *before = NULL;
    uint32_t number = members[first].one;
    int64_t gain = 0;
    for (size_t i = first; i < count && members[i].end - members[first].end <= RANK_NEAR; i++) {
        const struct rank_member *one = &members[i];
        if (one->one != number || one->group != members[first].group)
            continue;
        if (!last || one->start > last->start) {
            before = last;
            last = one;
        } else if (!before || one->start > before->start) {
            before = one;
        }
    }
    for (size_t i = first; i < count && members[i].end - members[first].end <= RANK_NEAR; i++) {
        if (members[i].one != number)
            continue;
        int64_t alone = note_wait(w, &members[i], last->start);
        w->m->late_ranks.matched++;
        w->m->late_ranks.waited = cells_sum(w->m->late_ranks.waited, alone);
        w->has_matched[members[i].rank] = 1;
        gain = &members[i] == before ? alone : gain;
    }
    int rc = gain > 0 ? add_late(w, last, before, gain) : 0;
    for (size_t i = first; i < count && members[i].end - members[first].end <= RANK_NEAR; i++)
        if (members[i].one == number)
            w->together[members[i].rank] = members[i].end;
    return rc;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* Returns the ns that a late rank spent at a line beyond what the other one did. */
static double longer_at(const struct pair *p, const struct at_line *l)
{
    double own = (double)p->idle * cells_share((double)l->looks, (double)p->looks),
           other = p->other_looks ? (double)p->other_idle *
                                        cells_share((double)l->other_looks, (double)p->other_looks)
                                  : 0;
    return own > other ? own - other : 0;
}

/* Gives the idle part of each rank's lateness to the lines at which the rank was for longer. */
static int make_lines(struct matching *w)
{
    struct sum_late_ranks *s = &w->m->late_ranks;
    double *all = mem_array(s->late_count + 1, sizeof *all);
    int rc = all ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 1; !rc && i < w->at_lines.count; i++) {
        const struct at_line *l = keyed_at(&w->at_lines, i);
        all[l->late] += longer_at(&w->pairs[l->late], l);
    }
    for (size_t i = 1; !rc && i < w->at_lines.count; i++) {
        const struct at_line *l = keyed_at(&w->at_lines, i);
        const struct pair *p = &w->pairs[l->late];
        double longer = longer_at(p, l), idle = (double)s->late[l->late].idle,
               part = cells_share(longer, all[l->late]);
        if (p->looks < RANK_LOOKS_LEAST || !l->place || longer <= 0)
            continue;
        rc = mem_grow(&s->lines, &s->line_cap, s->line_count + 1, sizeof *s->lines, PLACES_MOST);
        if (rc)
            break;
        s->lines[s->line_count++] = (struct rank_line){
            .late = l->late,
            .place = l->place,
            .ns = cells_whole(idle * part),
            .half_width = cells_whole(idle * idle_lines_half_width(l->looks, p->looks)),
            .looks = l->looks};
    }
    mem_free(all);
    return rc;
}

static int match_all(struct matching *w)
{
    struct sum_late_ranks *s = &w->m->late_ranks;
    struct rank_member *members = NULL;
    size_t count = 0;
    uint32_t done = 0;
    int rc = rank_match(w->m, &members, &count);
    for (size_t i = 0; i < w->m->ranks.count; i++)
        s->collectives += w->m->ranks.items[i].op_count;
    for (size_t i = 0; !rc && i < count; i++)
        if (members[i].one > done) {
            done = members[i].one;
            rc = add_collective(w, members, count, i);
        }
    for (size_t i = 0; i < w->m->ranks.count; i++)
        s->ranks += w->has_matched[i];
    mem_free(members);
    return rc ? rc : make_lines(w);
}

int sum_late_ranks_finish(struct model *m)
{
    size_t n = m->ranks.count;
    struct matching w = {.m = m};
    settle_ranks(m);
    if (n < 2)
        return 0;
    keyed_init(&w.at_lines, sizeof(struct at_line), offsetof(struct at_line, looks), PLACES_MOST);
    w.pairs = mem_array(n, sizeof *w.pairs);
    w.late_of = mem_array(n, sizeof *w.late_of);
    w.together = mem_array(n, sizeof *w.together);
    w.has_matched = mem_array(n, 1);
    int rc = w.pairs && w.late_of && w.together && w.has_matched ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < n; i++)
        w.together[i] = INT64_MIN;
    rc = rc ? rc : match_all(&w);
    keyed_fini(&w.at_lines);
    mem_free(w.pairs);
    mem_free(w.late_of);
    mem_free(w.together);
    mem_free(w.has_matched);
    return rc;
}

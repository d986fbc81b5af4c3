/* scopes.c - finds steps by a scope that opens again and again on one thread. */
#include "analyze/model/steps/find.h"

#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>

/* Describes a group that may be the steps. */
struct candidate {
    const struct step_mark *marks;
    size_t count;
    uint32_t group;
    enum step_word word;
    int64_t period, wall; /* ns: medians */
};

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool follow_each_other(const struct candidate *c)
{
    for (size_t i = 1; i < c->count; i++)
        if (c->marks[i].start < c->marks[i - 1].end || c->marks[i].start <= c->marks[i - 1].start)
            return false;
    return true;
}

static int find_medians(struct candidate *c)
{
    int64_t *ns = mem_array(c->count, sizeof *ns);
    if (!ns)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < c->count; i++)
        ns[i] = c->marks[i].end - c->marks[i].start;
    qsort(ns, c->count, sizeof *ns, compare_ns);
    c->wall = ns[c->count / 2];
    for (size_t i = 1; i < c->count; i++)
        ns[i - 1] = c->marks[i].start - c->marks[i - 1].start;
    qsort(ns, c->count - 1, sizeof *ns, compare_ns);
    c->period = ns[(c->count - 1) / 2];
    mem_free(ns);
    return 0;
}

/* Returns true if the scopes cover half of the time from one to the next, or half of the
 * kernels. */
static bool holds_steps(const struct candidate *c, const struct step_sequence *q)
{
    size_t inside = 0, from = 0;
    if (c->wall >= c->period / 2)
        return true;
    for (size_t i = 0; i < c->count; i++) {
        from = step_sequence_place(q, from, c->marks[i].start);
        inside += step_sequence_place(q, from, c->marks[i].end) - from;
    }
    return 2 * inside >= q->count;
}

/* The scopes follow each other. */
static void set_cuts(const struct candidate *c, const struct step_sequence *q, size_t *cuts)
{
    size_t from = 0;
    for (size_t i = 0; i < c->count; i++)
        cuts[i] = from = step_sequence_place(q, from, c->marks[i].start);
    cuts[c->count] = step_sequence_place(q, from, c->marks[c->count - 1].end);
}

/* Returns true if x is the better choice: by its name, then by its length. */
static bool is_better(const struct candidate *x, const struct candidate *y)
{
    if (!y->count || x->word != y->word)
        return !y->count || x->word < y->word;
    int64_t apart = x->period - y->period;
    if (10 * (apart < 0 ? -apart : apart) > y->period)
        return apart > 0;
    return x->wall > y->wall;
}

/* Judges one group; *is_one: its instances may be steps. */
static int judge(struct candidate *c, const struct step_sequence *q, bool *is_one)
{
    struct step_likeness like;
    *is_one = false;
    if (c->count < STEP_SCOPES_LEAST || c->count > STEP_MOST || !follow_each_other(c))
        return 0;
    size_t *cuts = mem_array(c->count + 1, sizeof *cuts);
    int rc = cuts ? find_medians(c) : GPUFL_E_NOMEM;
    if (!rc)
        set_cuts(c, q, cuts);
    if (!rc && 100 * (cuts[c->count] - cuts[0]) >= STEP_COVER_LEAST * q->count &&
        holds_steps(c, q)) {
        rc = step_compare(q, cuts, c->count, NULL, &like);
        *is_one = !rc && 2 * like.working >= c->count &&
                  (c->word < STEP_WORD_ANY || 100 * like.alike >= STEP_ALIKE_LEAST * c->count);
    }
    mem_free(cuts);
    return rc;
}

/* Makes the steps of the chosen group. */
static int make(const struct candidate *c, const struct step_sequence *q, struct step_found *found)
{
    struct step_likeness like;
    size_t *cuts = mem_array(c->count + 1, sizeof *cuts);
    found->at = mem_array(c->count + 1, sizeof *found->at);
    found->alike = mem_array(c->count, 1);
    int rc = cuts && found->at && found->alike ? 0 : GPUFL_E_NOMEM;
    if (!rc) {
        set_cuts(c, q, cuts);
        rc = step_compare(q, cuts, c->count, found->alike, &like);
    }
    for (size_t i = 0; !rc && i < c->count; i++)
        found->at[i] = c->marks[i].start;
    if (!rc) {
        found->at[c->count] = c->marks[c->count - 1].end;
        found->count = c->count;
        found->group = c->group;
    }
    mem_free(cuts);
    return rc;
}

int step_find_scopes(struct step_marks *s, const struct step_sequence *q, struct step_found *found)
{
    struct candidate best = {0};
    int rc = 0;
    *found = (struct step_found){0};
    step_marks_sort(s);
    for (size_t i = 0, n; !rc && q->count && i < s->count; i += n) {
        const struct step_group *g = keyed_at(&s->groups, s->items[i].group);
        bool is_one;
        for (n = 1; i + n < s->count && s->items[i + n].group == s->items[i].group;)
            n++;
        struct candidate c = {&s->items[i], n, s->items[i].group, (enum step_word)g->word, 0, 0};
        rc = judge(&c, q, &is_one);
        if (!rc && is_one && is_better(&c, &best))
            best = c;
    }
    return rc || !best.count ? rc : make(&best, q, found);
}

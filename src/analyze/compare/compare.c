/* compare.c - sorts the items of all digests by key, and compares the items of each key. */
#include "analyze/compare/compare.h"

#include "analyze/common/cells.h"
#include "base/alloc.h"
#include "base/bins.h"
#include "base/err.h"
#include "wire/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 512 << 20 };

static const char *const verdict_words[] = {
#define COMPARE_WORD(id, word) word,
    COMPARE_VERDICTS(COMPARE_WORD)
#undef COMPARE_WORD
};

const char *compare_verdict_word(enum compare_verdict v)
{
    return verdict_words[v];
}

const char *compare_test_word(enum compare_test t)
{
    return t == COMPARE_OF_SESSIONS ? "welch" : t == COMPARE_OF_CALLS ? "mann_whitney" : "none";
}

/* Holds an item, and the session that it is from. */
struct found {
    const struct digest_item *item;
    unsigned side, session;
};

static int by_key(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int order = strcmp(x->item->key, y->item->key);
    if (order)
        return order;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    return x->session < y->session ? -1 : x->session > y->session;
}

/* ---- one side of a row ----------------------------------------------------------------------- */

static int by_bin(const void *a, const void *b)
{
    const struct stats_bin *x = a, *y = b;
    return x->bin < y->bin ? -1 : x->bin > y->bin;
}

/* Joins the bins of several items in one list. NULL: out of memory. */
static struct stats_bin *join_bins(const struct found *f, size_t n, size_t *count)
{
    size_t room = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        room += f[i].item->bin_count;
    struct stats_bin *all = mem_array(room + 1, sizeof *all);
    *count = 0;
    for (size_t i = 0; all && i < n; i++) {
        memcpy(all + at, f[i].item->bins, f[i].item->bin_count * sizeof *all);
        at += f[i].item->bin_count;
    }
    if (!all)
        return NULL;
    qsort(all, at, sizeof *all, by_bin);
    for (size_t i = 0; i < at; i++) {
        if (*count && all[*count - 1].bin == all[i].bin)
            all[*count - 1].count += all[i].count;
        else
            all[(*count)++] = all[i];
    }
    return all;
}

/* Returns a quantile by nearest rank; the middle of a bin is its value. */
static int64_t quantile(const struct stats_bin *bins, size_t n, double q)
{
    uint64_t all = 0, seen = 0;
    for (size_t i = 0; i < n; i++)
        all += bins[i].count;
    uint64_t rank = (uint64_t)ceil(q * (double)all);
    for (size_t i = 0; i < n; i++)
        if ((seen += bins[i].count) >= rank)
            return bins_middle(bins[i].bin);
    return 0;
}

static int add_shapes(struct comparison *c, struct compare_side *s, const struct digest_item *item)
{
    if (!s->shapes)
        s->shapes = region_array(&c->memory, DIGEST_SHAPES, sizeof *s->shapes);
    if (!s->shapes)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < item->shape_count; i++) {
        size_t at = 0;
        while (at < s->shape_count && strcmp(s->shapes[at].text, item->shapes[i].text) != 0)
            at++;
        if (at == s->shape_count && at == DIGEST_SHAPES)
            continue;
        if (at == s->shape_count)
            s->shapes[s->shape_count++] = (struct digest_shape){item->shapes[i].text, 0};
        s->shapes[at].calls += item->shapes[i].calls;
    }
    return 0;
}

static bool knows(const struct digest *d, bool kernels)
{
    return kernels ? d->kernel_count != CELL_NULL : !d->scopes_unknown;
}

/* Returns the number of the side's sessions that know how many kernels, or scopes, they had. */
static size_t knowing(const struct comparison *c, unsigned side, bool kernels)
{
    size_t n = 0;
    for (size_t i = 0; i < c->counts[side]; i++)
        n += knows(c->sides[side][i], kernels);
    return n;
}

/* Sums up one side. logs: gets the logarithm of the mean duration for each session that has the
 * item. */
static int sum_side(struct comparison *c, struct compare_side *s, const struct found *f, size_t n,
                    double logs[COMPARE_SESSIONS])
{
    double gpu = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < n;) {
        int64_t calls = 0, total = 0;
        unsigned session = f[i].session;
        for (; !rc && i < n && f[i].session == session; i++) {
            calls += f[i].item->calls;
            total += f[i].item->total;
            gpu += f[i].item->gpu == CELL_NULL ? NAN : (double)f[i].item->gpu;
            rc = add_shapes(c, s, f[i].item);
        }
        s->calls += calls;
        s->total += total;
        if (calls > 0 && total > 0)
            logs[s->sessions++] = log((double)total / (double)calls);
    }
    s->mean = s->calls ? (double)s->total / (double)s->calls : NAN;
    s->gpu = s->calls ? gpu / (double)s->calls : NAN;
    return rc;
}

/* Sums what the sessions have that know how many kernels, or scopes, they had. */
static void sum_each(const struct comparison *c, struct compare_side *s, unsigned side,
                     const struct found *f, size_t n, bool kernels)
{
    double calls = 0, total = 0, each = (double)knowing(c, side, kernels);
    for (size_t i = 0; i < n; i++) {
        bool is_known = knows(c->sides[side][f[i].session], kernels);
        s->cut = s->cut || !is_known;
        calls += is_known ? (double)f[i].item->calls : 0;
        total += is_known ? (double)f[i].item->total : 0;
    }
    s->calls_each = each > 0 ? calls / each : NAN;
    s->total_each = each > 0 ? total / each : NAN;
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* Returns false if side a has a shape that b does not have, unless b is cut: its shapes are not
 * all. */
static bool has_shapes(const struct compare_side *a, const struct compare_side *b)
{
    for (size_t i = 0; i < a->shape_count && !b->cut; i++) {
        bool found = false;
        for (size_t k = 0; k < b->shape_count && !found; k++)
            found = strcmp(a->shapes[i].text, b->shapes[k].text) == 0;
        if (!found)
            return false;
    }
    return true;
}

static void test_sessions(struct compare_row *r, const double *a, size_t na, const double *b,
                          size_t nb)
{
    struct stats_welch w = stats_welch(a, na, b, nb);
    r->test = COMPARE_OF_SESSIONS;
    r->ratio = exp(w.difference);
    r->low = exp(w.low);
    r->high = exp(w.high);
    r->p = w.p;
}

static int test_row(struct compare_row *r, const struct found *f, size_t na, size_t nb,
                    const double logs[COMPARE_SIDES][COMPARE_SESSIONS])
{
    struct compare_side *a = &r->sides[0], *b = &r->sides[1];
    size_t bins_a, bins_b;
    struct stats_bin *in_a = join_bins(f, na, &bins_a), *in_b = join_bins(f + na, nb, &bins_b);
    if (!in_a || !in_b) {
        mem_free(in_a);
        mem_free(in_b);
        return GPUFL_E_NOMEM;
    }
    a->p50 = quantile(in_a, bins_a, 0.5);
    a->p99 = quantile(in_a, bins_a, 0.99);
    b->p50 = quantile(in_b, bins_b, 0.5);
    b->p99 = quantile(in_b, bins_b, 0.99);
    if (a->sessions && b->sessions) {
        struct stats_rank rank = stats_mann_whitney(in_a, bins_a, in_b, bins_b);
        r->better = rank.better;
        r->ratio = b->mean / a->mean;
        if (a->sessions >= 2 && b->sessions >= 2) {
            test_sessions(r, logs[0], a->sessions, logs[1], b->sessions);
        } else {
            r->test = COMPARE_OF_CALLS;
            r->p = rank.p;
        }
    }
    mem_free(in_a);
    mem_free(in_b);
    return 0;
}

static int make_row(struct comparison *c, struct compare_row *r, const struct found *f, size_t n,
                    bool kernels)
{
    double logs[COMPARE_SIDES][COMPARE_SESSIONS];
    size_t na = 0;
    while (na < n && f[na].side == 0)
        na++;
    *r = (struct compare_row){.name = f[n - 1].item->name,
                              .ratio = NAN,
                              .low = NAN,
                              .high = NAN,
                              .better = NAN,
                              .p = NAN,
                              .q = NAN};
    int rc = sum_side(c, &r->sides[0], f, na, logs[0]);
    rc = rc ? rc : sum_side(c, &r->sides[1], f + na, n - na, logs[1]);
    sum_each(c, &r->sides[0], 0, f, na, kernels);
    sum_each(c, &r->sides[1], 1, f + na, n - na, kernels);
    rc = rc ? rc : test_row(r, f, na, n - na, logs);
    r->difference = r->sides[1].total_each - r->sides[0].total_each;
    r->shapes_differ =
        r->sides[0].calls && r->sides[1].calls &&
        !(has_shapes(&r->sides[0], &r->sides[1]) && has_shapes(&r->sides[1], &r->sides[0]));
    return rc;
}

/* Returns true if the change is too large to be called "same" although the test is not sure. */
static bool is_large(double ratio)
{
    return ratio >= 1 + COMPARE_LARGE || ratio <= 1 / (1 + COMPARE_LARGE);
}

/* A kernel or scope is not called gone from a side whose kernels or scopes are unknown. */
static enum compare_verdict decide(const struct comparison *c, const struct compare_row *r,
                                   bool kernels)
{
    if (!r->sides[0].calls || !r->sides[1].calls) {
        unsigned without = r->sides[0].calls ? 1 : 0;
        if (knowing(c, without, kernels) < c->counts[without])
            return COMPARE_UNCLEAR;
        return without ? COMPARE_GONE : COMPARE_NEW;
    }
    if (isnan(r->q) || isnan(r->ratio))
        return COMPARE_UNCLEAR;
    if (r->q >= COMPARE_ALPHA)
        return is_large(r->ratio) ? COMPARE_UNCLEAR : COMPARE_SAME;
    bool longer = r->ratio >= 1 + c->least, shorter = r->ratio <= 1 / (1 + c->least);
    bool of_calls = r->test == COMPARE_OF_CALLS;
    if (of_calls && ((longer && r->better < 0.5) || (shorter && r->better > 0.5)))
        return COMPARE_MIXED;
    return longer ? COMPARE_SLOWER : shorter ? COMPARE_FASTER : COMPARE_SAME;
}

static int by_difference(const void *a, const void *b)
{
    const struct compare_row *x = a, *y = b;
    double dx = isnan(x->difference) ? -1 : fabs(x->difference), /* what is unknown comes last */
        dy = isnan(y->difference) ? -1 : fabs(y->difference);
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int judge(struct comparison *c, struct compare_row *rows, size_t n, bool kernels)
{
    double *q = mem_array(n + 1, sizeof *q);
    if (!q)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        q[i] = rows[i].p;
    int rc = stats_false_alarms(q, n);
    for (size_t i = 0; !rc && i < n; i++) {
        rows[i].q = q[i];
        rows[i].verdict = decide(c, &rows[i], kernels);
    }
    mem_free(q);
    if (!rc)
        qsort(rows, n, sizeof *rows, by_difference);
    return rc;
}

/* ---- a table --------------------------------------------------------------------------------- */

static int make_rows(struct comparison *c, struct found *f, size_t n, bool kernels)
{
    struct compare_row **rows = kernels ? &c->kernels : &c->scopes;
    size_t *count = kernels ? &c->kernel_count : &c->scope_count;
    size_t keys = 0;
    int rc = 0;
    qsort(f, n, sizeof *f, by_key);
    for (size_t i = 0; i < n; i++)
        keys += i == 0 || strcmp(f[i].item->key, f[i - 1].item->key) != 0;
    *rows = region_array(&c->memory, keys + 1, sizeof **rows);
    if (!*rows)
        return GPUFL_E_NOMEM;
    for (size_t from = 0, to; !rc && from < n; from = to) {
        for (to = from + 1; to < n && strcmp(f[to].item->key, f[from].item->key) == 0; to++)
            ;
        rc = make_row(c, &(*rows)[*count], f + from, to - from, kernels);
        ++*count;
    }
    return rc ? rc : judge(c, *rows, *count, kernels);
}

static int make_table(struct comparison *c, bool kernels)
{
    size_t n = 0, at = 0;
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < c->counts[side]; i++) {
            const struct digest *d = c->sides[side][i];
            n += kernels ? d->kernel_item_count : d->scope_count;
        }
    struct found *f = mem_array(n + 1, sizeof *f);
    if (!f)
        return GPUFL_E_NOMEM;
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        for (unsigned i = 0; i < c->counts[side]; i++) {
            const struct digest *d = c->sides[side][i];
            size_t items = kernels ? d->kernel_item_count : d->scope_count;
            for (size_t k = 0; k < items; k++)
                f[at++] = (struct found){kernels ? &d->kernels[k] : &d->scopes[k], side, i};
        }
    int rc = make_rows(c, f, n, kernels);
    mem_free(f);
    return rc;
}

/* ---- the runs as a whole --------------------------------------------------------------------- */

static double total_of(const struct digest *d, int what)
{
    switch (what) {
    case 0:
        return (double)d->duration;
    case 1:
        return d->kernel_time == CELL_NULL ? NAN : (double)d->kernel_time;
    case 2:
        return d->kernel_count == CELL_NULL ? NAN : (double)d->kernel_count;
    default:
        return d->duration > 0 && d->busy != CELL_NULL ? (double)d->busy / (double)d->duration
                                                       : NAN;
    }
}

static void make_totals(struct comparison *c)
{
    static const char *const keys[COMPARE_TOTALS][2] = {
        {"duration", "ns"}, {"kernel_time", "ns"}, {"kernels", ""}, {"busy_share", ""}};
    for (int t = 0; t < COMPARE_TOTALS; t++) {
        double logs[COMPARE_SIDES][COMPARE_SESSIONS];
        size_t n[COMPARE_SIDES] = {0};
        struct compare_total *total = &c->totals[t];
        *total = (struct compare_total){keys[t][0], keys[t][1], {0, 0}, {0, 0}, NAN, NAN, NAN, NAN};
        for (unsigned side = 0; side < COMPARE_SIDES; side++) {
            for (size_t i = 0; i < c->counts[side]; i++) {
                double v = total_of(c->sides[side][i], t);
                if (isnan(v))
                    continue;
                total->means[side] += v;
                total->known[side]++;
                if (v > 0)
                    logs[side][n[side]++] = log(v);
            }
            total->means[side] = total->known[side] ? total->means[side] / total->known[side] : NAN;
        }
        if (!n[0] || !n[1])
            continue;
        struct stats_welch w = stats_welch(logs[0], n[0], logs[1], n[1]);
        total->ratio = exp(w.difference);
        total->low = exp(w.low);
        total->high = exp(w.high);
        total->p = w.p;
    }
}

/* ---- what is set up differently -------------------------------------------------------------- */

/* Returns the different values of a key on a side; *mean: the mean of the measured ones. */
static const char **values_of(struct comparison *c, unsigned side, const char *key, size_t *count,
                              double *mean)
{
    size_t room = 0, n = 0;
    double sum = 0;
    for (size_t i = 0; i < c->counts[side]; i++)
        room += c->sides[side][i]->fact_count;
    const char **values = region_array(&c->memory, room + 1, sizeof(char *));
    *count = 0;
    for (size_t i = 0; values && i < c->counts[side]; i++) {
        const struct digest *d = c->sides[side][i];
        for (size_t k = 0; k < d->fact_count; k++) {
            bool known = false;
            if (strcmp(d->facts[k].key, key) != 0)
                continue;
            sum += d->facts[k].number;
            n++;
            for (size_t v = 0; v < *count && !known; v++)
                known = strcmp(values[v], d->facts[k].value) == 0;
            if (!known)
                values[(*count)++] = d->facts[k].value;
        }
    }
    *mean = n ? sum / (double)n : NAN;
    return values;
}

static bool same_values(const char *const *a, size_t na, const char *const *b, size_t nb)
{
    for (size_t i = 0; i < na; i++) {
        bool found = false;
        for (size_t k = 0; k < nb && !found; k++)
            found = strcmp(a[i], b[k]) == 0;
        if (!found)
            return false;
    }
    return na == nb;
}

/* Returns true if a side has no value of a fact, and a damaged log may have had one. */
static bool may_be_lost(const struct comparison *c, unsigned side, size_t values)
{
    bool damaged = false;
    for (size_t i = 0; i < c->counts[side]; i++)
        damaged |= c->sides[side][i]->damaged;
    return damaged && !values;
}

static int add_fact(struct comparison *c, const char *key)
{
    struct compare_fact f = {.key = key};
    double means[COMPARE_SIDES];
    for (unsigned side = 0; side < COMPARE_SIDES; side++) {
        const char **values = values_of(c, side, key, &f.counts[side], &means[side]);
        if (!values)
            return GPUFL_E_NOMEM;
        f.values[side] = values;
    }
    f.measured = !isnan(means[0]) && !isnan(means[1]);
    bool same = f.measured ? fabs(means[1] - means[0]) <= COMPARE_LEAST * fabs(means[0])
                           : same_values(f.values[0], f.counts[0], f.values[1], f.counts[1]);
    if (!same && !may_be_lost(c, 0, f.counts[0]) && !may_be_lost(c, 1, f.counts[1]))
        c->facts[c->fact_count++] = f;
    return 0;
}

static int make_facts(struct comparison *c)
{
    size_t room = 0, seen = 0;
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < c->counts[side]; i++)
            room += c->sides[side][i]->fact_count;
    const char **keys = mem_array(room + 1, sizeof(char *));
    c->facts = region_array(&c->memory, room + 1, sizeof *c->facts);
    int rc = keys && c->facts ? 0 : GPUFL_E_NOMEM;
    for (unsigned side = 0; !rc && side < COMPARE_SIDES; side++)
        for (size_t i = 0; !rc && i < c->counts[side]; i++)
            for (size_t k = 0; !rc && k < c->sides[side][i]->fact_count; k++) {
                const char *key = c->sides[side][i]->facts[k].key;
                bool known = false;
                for (size_t s = 0; s < seen && !known; s++)
                    known = strcmp(keys[s], key) == 0;
                if (known)
                    continue;
                keys[seen++] = key;
                rc = add_fact(c, key);
            }
    mem_free(keys);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int compare_open(struct comparison *c, const struct digest *const *a, size_t na,
                 const struct digest *const *b, size_t nb, double least)
{
    *c = (struct comparison){.sides = {a, b}, .counts = {na, nb}, .least = least};
    region_init(&c->memory, MEMORY);
    if (!na || !nb || na > COMPARE_SESSIONS || nb > COMPARE_SESSIONS)
        return GPUFL_E_INVAL;
    make_totals(c);
    int rc = make_facts(c);
    rc = rc ? rc : make_table(c, true);
    return rc ? rc : make_table(c, false);
}

void compare_close(struct comparison *c)
{
    region_fini(&c->memory);
    memset(c, 0, sizeof *c);
}

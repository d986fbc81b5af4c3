/* fleet_days.c - keeps sums of usage by application, host, GPU and day, and by spans of 32 days.
 *
 * A query over a year must not read a row for each session. At every commit the sums are equal to
 * what counting usages and findings again would give: a transaction that changes a session's rows
 * also changes the sums by the difference.
 *
 * Numbers of distinct sessions cannot be added over days. So a session counts once as begun, on its
 * first day, and on each later day as going: the distinct sessions of some days are those going on
 * the first of these days, and those that begin on each. For this, the days of a session must have
 * no gap. Distinct GPUs are kept as bits: of days, a row for each name, GPU and span, and of spans.
 * The worst finding of each day is kept.
 *
 * One transaction at a time changes these sums (meta_write_sums). */
#include "meta/fleet_days.h"

#include <stdlib.h>
#include <string.h>

enum kind { KIND_APP, KIND_GPU, KIND_HOST, KIND_SUM, KIND_COUNT };

static const char *const kinds[KIND_COUNT] = {"app", "gpu", "host", "sum"};

/* This is a row of usage as a part of the sums of one kind. */
struct part {
    enum kind kind;
    const char *name;
    const struct meta_usage *row;
    int sign; /* -1: what the session had; 1: what the session has now */
};

struct parts {
    struct part *at;
    size_t count;
};

static const char *name_of(enum kind kind, const struct meta_usage *u)
{
    const char *names[KIND_COUNT] = {u->app, u->gpu, u->host, ""};
    return meta_fleet_text(names[kind]);
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int part_order(const void *a, const void *b)
{
    const struct part *p = a, *q = b;
    int by = order(p->kind, q->kind);
    by = by ? by : strcmp(p->name, q->name);
    by = by ? by : order(p->row->day, q->row->day);
    by = by ? by : strcmp(meta_fleet_text(p->row->gpu), meta_fleet_text(q->row->gpu));
    return by ? by : order(p->sign, q->sign);
}

static void parts_add(struct parts *parts, const struct meta_usage *rows, size_t count, int sign)
{
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < KIND_COUNT; k++)
            parts->at[parts->count++] =
                (struct part){(enum kind)k, name_of((enum kind)k, &rows[i]), &rows[i], sign};
}

/* Makes all parts of the session's old and new usage, in order. */
static int parts_make(struct parts *parts, const struct meta_fleet_change *c, struct region *mem)
{
    size_t rows = c->had_count + c->has_count;
    *parts = (struct parts){region_array(mem, rows * KIND_COUNT + 1, sizeof *parts->at), 0};
    if (!parts->at)
        return GPUFL_E_NOMEM;
    parts_add(parts, c->had, c->had_count, -1);
    parts_add(parts, c->has, c->has_count, 1);
    qsort(parts->at, parts->count, sizeof *parts->at, part_order);
    return 0;
}

static bool same_name(const struct part *p, const struct part *q)
{
    return p->kind == q->kind && strcmp(p->name, q->name) == 0;
}

static bool part_same_gpu(const struct part *p, const struct part *q)
{
    return strcmp(meta_fleet_text(p->row->gpu), meta_fleet_text(q->row->gpu)) == 0;
}

/* ---- which GPUs ----------------------------------------------------------------------------- */

/* Returns the parameters for the row of a bit, which has the number / META_SPAN; gpu_bit_args adds
 * the bit. */
static struct meta_args gpu_args(const struct part *p, int64_t number)
{
    struct meta_args a = {0};
    meta_arg_text(&a, kinds[p->kind]);
    meta_arg_text(&a, p->name);
    meta_arg_text(&a, meta_fleet_text(p->row->gpu));
    meta_arg_int(&a, number / META_SPAN);
    return a;
}

static struct meta_args gpu_bit_args(const struct part *p, int64_t number)
{
    struct meta_args a = gpu_args(p, number);
    meta_arg_int(&a, INT64_C(1) << number % META_SPAN);
    return a;
}

static int gpu_add(struct meta_tx *tx, const struct part *p, int64_t *gpus, struct err *e)
{
    const struct meta_args day = gpu_bit_args(p, p->row->day);
    const struct meta_args span = gpu_bit_args(p, p->row->day / META_SPAN);
    int64_t changed = 0;
    int rc = meta_run(tx, META_S_fleet_gpu_day_add, &day, NULL, &changed, e);
    if (rc || !changed)
        return rc;
    ++*gpus;
    return p->kind == KIND_SUM ? 0 : meta_run(tx, META_S_fleet_gpu_span_add, &span, NULL, NULL, e);
}

/* The session no longer uses the GPU; another session may use it. */
static int gpu_remove(struct meta_tx *tx, const struct part *p, int64_t *gpus, struct err *e)
{
    const int64_t span = p->row->day / META_SPAN;
    const struct meta_args day_bit = gpu_bit_args(p, p->row->day), day = gpu_args(p, p->row->day);
    const struct meta_args span_bit = gpu_bit_args(p, span), block = gpu_args(p, span);
    struct meta_args used = {0};
    int64_t others = 0, changed = 0;
    meta_arg_int(&used, p->row->day);
    meta_arg_text(&used, meta_fleet_text(p->row->gpu));
    meta_arg_text(&used, kinds[p->kind]);
    meta_arg_text(&used, p->name);
    int rc = meta_number_tx(tx, META_S_usage_is_used, &used, &others, e);
    if (rc || others)
        return rc;
    --*gpus;
    rc = meta_run(tx, META_S_fleet_gpu_day_remove, &day_bit, NULL, NULL, e);
    rc = rc ? rc : meta_run(tx, META_S_fleet_gpu_day_empty, &day, NULL, &changed, e);
    if (rc || !changed || p->kind == KIND_SUM)
        return rc;
    rc = meta_run(tx, META_S_fleet_gpu_span_remove, &span_bit, NULL, NULL, e);
    return rc ? rc : meta_run(tx, META_S_fleet_gpu_span_empty, &block, NULL, NULL, e);
}

/* Changes the GPUs of one name and day. Parts of one GPU follow each other, the old part first. */
static int gpus_change(struct meta_tx *tx, const struct part *p, size_t n, int64_t *gpus,
                       struct err *e)
{
    int rc = 0;
    for (size_t i = 0, next = 0; i < n && rc == 0; i = next) {
        bool had = false, has = false;
        for (next = i; next < n && part_same_gpu(&p[next], &p[i]); next++) {
            had = had || p[next].sign < 0;
            has = has || p[next].sign > 0;
        }
        if (has && !had)
            rc = gpu_add(tx, &p[i], gpus, e);
        else if (had && !has)
            rc = gpu_remove(tx, &p[i], gpus, e);
    }
    return rc;
}

/* ---- days ----------------------------------------------------------------------------------- */

/* Holds the state of a walk over a session's days of one name; one walk for the old, one for the
 * new. */
struct walk {
    bool began, counted; /* on an earlier day */
    int64_t day, counted_day;
};

static void day_add(struct meta_fleet_day *d, const struct part *p)
{
    const struct meta_usage *u = p->row;
    d->parts += p->sign;
    d->wall += p->sign * u->wall;
    d->sampled += p->sign * u->sampled;
    d->utilized += p->sign * u->utilized;
    if (u->busy != META_NONE) {
        d->known += p->sign * u->wall;
        d->busy += p->sign * u->busy;
        d->busy_parts += p->sign;
    }
    if (u->kernels != META_NONE) {
        d->kernels += p->sign * u->kernels;
        d->kernel_parts += p->sign;
    }
    if (u->energy != META_NONE) {
        d->energy += p->sign * u->energy;
        d->energy_parts += p->sign;
    }
}

/* Counts the session on a day. False: there is a gap before it. */
static bool count_in(bool *began, int64_t *last, int64_t day, int64_t *begun, int64_t *going,
                     int sign)
{
    bool follows = !*began || day == *last + 1;
    *(*began ? going : begun) += sign;
    *began = true;
    *last = day;
    return follows;
}

static bool day_count(struct meta_fleet_day *d, const struct part *p, size_t n, int sign,
                      struct walk *w)
{
    bool here = false, counted = false, whole = true;
    for (size_t i = 0; i < n; i++)
        if (p[i].sign == sign) {
            here = true;
            counted = counted || p[i].row->kernels != META_NONE;
        }
    if (here)
        whole = count_in(&w->began, &w->day, d->day, &d->begun, &d->going, sign);
    if (counted)
        whole = count_in(&w->counted, &w->counted_day, d->day, &d->counted_begun, &d->counted_going,
                         sign) &&
                whole;
    return whole || sign < 0 || p->kind == KIND_SUM;
}

static bool is_nothing(const struct meta_fleet_day *d)
{
    const int64_t sums[] = {d->parts,         d->begun,      d->going,   d->counted_begun,
                            d->counted_going, d->gpus,       d->wall,    d->known,
                            d->busy,          d->busy_parts, d->kernels, d->sampled,
                            d->kernel_parts,  d->utilized,   d->energy,  d->energy_parts};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        if (sums[i])
            return false;
    return true;
}

static int day_store(struct meta_tx *tx, const struct meta_fleet_day *d, struct err *e)
{
    struct meta_args row = {0}, key = {0};
    if (is_nothing(d))
        return 0;
    meta_arg_row(&row, META_ROW_fleet_day, d);
    int rc = meta_run(tx, META_S_fleet_day_add, &row, NULL, NULL, e);
    if (rc || d->parts >= 0)
        return rc;
    meta_arg_text(&key, d->kind);
    meta_arg_text(&key, d->name);
    meta_arg_int(&key, d->day);
    return meta_run(tx, META_S_fleet_day_empty, &key, NULL, NULL, e);
}

/* Changes the sums of one name and day by its parts. */
static int day_change(struct meta_tx *tx, const struct part *p, size_t n, struct walk walks[2],
                      struct err *e)
{
    struct meta_fleet_day d = {.kind = kinds[p->kind], .name = p->name, .day = p->row->day};
    for (size_t i = 0; i < n; i++)
        day_add(&d, &p[i]);
    day_count(&d, p, n, -1, &walks[0]);
    if (!day_count(&d, p, n, 1, &walks[1]))
        return err_set(e, GPUFL_E_INVAL,
                       "the days of a session with an application, host or GPU have a gap");
    int rc = p->kind == KIND_GPU ? 0 : gpus_change(tx, p, n, &d.gpus, e);
    return rc ? rc : day_store(tx, &d, e);
}

static int days_change(struct meta_tx *tx, const struct parts *parts, struct err *e)
{
    struct walk walks[2] = {0};
    int rc = 0;
    for (size_t i = 0, next = 0; i < parts->count && rc == 0; i = next) {
        const struct part *p = &parts->at[i];
        if (i && !same_name(p, p - 1))
            memset(walks, 0, sizeof walks);
        while (next < parts->count && same_name(p, &parts->at[next]) &&
               parts->at[next].row->day == p->row->day)
            next++;
        rc = day_change(tx, p, next - i, walks, e);
    }
    return rc;
}

/* Computes again the spans in which the parts have days. fewer: days may have disappeared. */
static int spans_make(struct meta_tx *tx, const struct parts *parts, bool fewer, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < parts->count && rc == 0; i++) {
        const struct part *p = &parts->at[i];
        const int64_t span = p->row->day / META_SPAN;
        if (p->kind == KIND_SUM || (i && same_name(p, p - 1) && p[-1].row->day / META_SPAN == span))
            continue;
        struct meta_args a = {0};
        meta_arg_text(&a, kinds[p->kind]);
        meta_arg_text(&a, p->name);
        meta_arg_int(&a, span);
        rc = meta_run(tx, META_S_fleet_span_make, &a, NULL, NULL, e);
        if (rc == 0 && fewer)
            rc = meta_run(tx, META_S_fleet_span_empty, &a, NULL, NULL, e);
    }
    return rc;
}

/* ---- a session ------------------------------------------------------------------------------ */

static int run_of(struct meta_tx *tx, enum meta_statement_id s, const char *session,
                  int64_t *changed, struct err *e)
{
    struct meta_args of = {0};
    meta_arg_text(&of, session);
    return meta_run(tx, s, &of, NULL, changed, e);
}

/* Removes the session's findings from the sums. *changed: how many days and names changed. */
static int findings_out(struct meta_tx *tx, const char *session, int64_t *changed, struct err *e)
{
    int rc = run_of(tx, META_S_fleet_finding_out, session, NULL, e);
    return rc ? rc : run_of(tx, META_S_fleet_finding_clear, session, changed, e);
}

static int findings_in(struct meta_tx *tx, const char *session, int64_t *changed, struct err *e)
{
    int rc = run_of(tx, META_S_fleet_finding_add, session, changed, e);
    return rc || !*changed ? rc : run_of(tx, META_S_fleet_finding_in, session, NULL, e);
}

int meta_fleet_usage(struct meta_tx *tx, const char *session, struct region *mem,
                     struct meta_usage **rows, size_t *count, struct err *e)
{
    const struct meta_rows into = {META_ROW_usage, mem, rows, count};
    struct meta_args of = {0};
    meta_arg_text(&of, session);
    return meta_list_tx(tx, META_S_usage_of, &of, &into, e);
}

int meta_fleet_change(struct meta_tx *tx, const struct meta_fleet_change *c, struct region *mem,
                      struct err *e)
{
    struct parts parts;
    int64_t changed = 0;
    int rc = parts_make(&parts, c, mem);
    if (rc)
        return err_nomem(e);
    rc = findings_out(tx, c->session, &changed, e);
    rc = rc ? rc : days_change(tx, &parts, e);
    rc = rc ? rc : findings_in(tx, c->session, &changed, e);
    return rc ? rc : spans_make(tx, &parts, c->had_count > 0, e);
}

/* Changes what the findings of a session add to the sums: they are new, or (gone) deleted. */
static int findings_change(struct meta_tx *tx, const char *session, bool gone, struct err *e)
{
    struct meta_fleet_change c = {.session = session};
    struct meta_usage *rows = NULL;
    struct region mem;
    struct parts parts;
    int64_t out = 0, in = 0;
    int rc = findings_out(tx, session, &out, e);
    if (rc == 0 && !gone)
        rc = findings_in(tx, session, &in, e);
    if (rc || (!out && !in))
        return rc;
    region_init(&mem, META_FLEET_MEMORY);
    rc = meta_fleet_usage(tx, session, &mem, &rows, &c.has_count, e);
    c.has = rows;
    if (rc == 0 && parts_make(&parts, &c, &mem))
        rc = err_nomem(e);
    rc = rc ? rc : spans_make(tx, &parts, false, e);
    region_fini(&mem);
    return rc;
}

int meta_fleet_findings(struct meta_tx *tx, const char *session, struct err *e)
{
    return findings_change(tx, session, false, e);
}

int meta_fleet_findings_gone(struct meta_tx *tx, const char *session, struct err *e)
{
    return findings_change(tx, session, true, e);
}

/* ---- days that are forgotten ---------------------------------------------------------------- */

struct forget {
    enum meta_statement_id statement;
    int64_t args[4];
    unsigned arg_count;
};

static int forget_run(struct meta_tx *tx, const struct forget *f, int64_t *changed, struct err *e)
{
    struct meta_args a = {0};
    for (unsigned i = 0; i < f->arg_count; i++)
        meta_arg_int(&a, f->args[i]);
    return meta_run(tx, f->statement, &a, NULL, changed, e);
}

/* Returns bit n and all higher bits. */
static int64_t bits_from(int64_t n)
{
    return (INT64_C(1) << META_SPAN) - (INT64_C(1) << n);
}

int meta_fleet_days_forget(struct meta_tx *tx, int64_t day, struct err *e)
{
    const int64_t span = day / META_SPAN, block = span / META_SPAN, nth = span % META_SPAN;
    const struct forget usage = {META_S_usage_forget, {day}, 1};
    const struct forget all[] = {
        {META_S_fleet_finding_forget, {day}, 1},
        {META_S_fleet_finding_first, {day}, 1},
        {META_S_fleet_day_forget, {day}, 1},
        {META_S_fleet_day_first, {day}, 1},
        {META_S_fleet_span_forget, {span}, 1},
        {META_S_fleet_span_make_all, {span}, 1},
        {META_S_fleet_gpu_day_forget, {span}, 1},
        {META_S_fleet_gpu_day_first, {span, bits_from(day % META_SPAN)}, 2},
        {META_S_fleet_gpu_day_none, {span}, 1},
        {META_S_fleet_gpu_span_forget, {block}, 1},
        {META_S_fleet_gpu_span_first, {block, bits_from(nth + 1), span, INT64_C(1) << nth}, 4},
        {META_S_fleet_gpu_span_none, {block}, 1}};
    int64_t changed = 0;
    int rc = forget_run(tx, &usage, &changed, e);
    if (rc || !changed)
        return rc;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && rc == 0; i++)
        rc = forget_run(tx, &all[i], NULL, e);
    return rc;
}

/* ---- questions ------------------------------------------------------------------------------ */

struct meta_spans meta_spans_in(int64_t from, int64_t to)
{
    int64_t first = (from + META_SPAN - 1) / META_SPAN, last = to / META_SPAN;
    return first < last ? (struct meta_spans){first, last, first * META_SPAN, last * META_SPAN}
                        : (struct meta_spans){0, 0, to, to};
}

/* Adds a span and the bits of its days from..to; no days: no bits. */
static void arg_days(struct meta_args *a, int64_t from, int64_t to)
{
    const int64_t span = from / META_SPAN, begin = span * META_SPAN;
    const int64_t last = to > begin + META_SPAN ? META_SPAN : to - begin;
    meta_arg_int(a, span);
    meta_arg_int(a, from < to ? bits_from(from - begin) & ~bits_from(last) : 0);
}

void meta_arg_gpu_spans(struct meta_args *a, int64_t from, int64_t to)
{
    const struct meta_spans s = meta_spans_in(from, to);
    const bool some = s.first < s.last;
    const int64_t next = (from / META_SPAN + 1) * META_SPAN; /* where the next span begins */
    meta_arg_int(a, some ? s.first / META_SPAN : 1);         /* from 1 to 0: no block */
    meta_arg_int(a, bits_from(s.first % META_SPAN));
    meta_arg_int(a, some ? (s.last - 1) / META_SPAN : 0);
    meta_arg_int(a, some ? ~bits_from((s.last - 1) % META_SPAN + 1) : 0);
    arg_days(a, from, some ? s.before : to < next ? to : next);
    arg_days(a, some ? s.after : next, to);
}

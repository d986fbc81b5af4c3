/* series.c - see series.h.
 *
 * Both sessions are of one host and one boot, so that their columns' times are of one clock, and
 * steps of time begin at the same moments. */
#include "server/api/series.h"

#include "server/request/parts.h"

#include "analyze/model/system/metrics.h"
#include "base/alloc.h"
#include "base/order.h"
#include "wire/record.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 1 << 20, SPANS_MAX = 1 << 12, DEVICES_MOST = 256 };

/* This is a step of a series: the columns of its question. */
struct step {
    int64_t at, least, most, samples;
    double mean;
};

struct steps {
    struct step *items; /* owned */
    size_t count, cap;
};

/* This is a time in which another session samples. */
struct span {
    char session[STORE_ID_MAX];
    int64_t from, to;
};

struct spans {
    int64_t device;     /* whose are wanted; 0: the host's */
    struct span *items; /* owned */
    size_t count, cap;
    bool open;        /* the last one has no end yet */
    const char *self; /* id of the session itself */
    bool any;         /* another session sampled anything */
};

static bool is_text(const struct store_text *t, const char *s)
{
    return t->len == strlen(s) && memcmp(t->at, s, t->len) == 0;
}

/* ---- spans --------------------------------------------------------------------------------- */

static int take_spans(void *arg, const struct store_chunk *c)
{
    enum { AT, DEVICE, SESSION };
    struct spans *s = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->rows; i++) {
        const struct store_vec *v = c->columns;
        bool named = store_known(&v[SESSION], i) && v[SESSION].texts[i].len;
        bool own = !named || is_text(&v[SESSION].texts[i], s->self);
        s->any |= !own;
        if (!store_known(&v[AT], i) || !store_known(&v[DEVICE], i) ||
            v[DEVICE].ints[i] != s->device)
            continue;
        if (s->open)
            s->items[s->count - 1].to = v[AT].ints[i];
        s->open = false;
        if (own || v[SESSION].texts[i].len >= STORE_ID_MAX)
            continue;
        rc = mem_grow(&s->items, &s->cap, s->count + 1, sizeof *s->items, SPANS_MAX);
        if (rc)
            break;
        struct span *x = &s->items[s->count++];
        *x = (struct span){.from = v[AT].ints[i], .to = INT64_MAX};
        memcpy(x->session, v[SESSION].texts[i].at, v[SESSION].texts[i].len);
        s->open = true;
    }
    return rc;
}

/* ---- devices ------------------------------------------------------------------------------- */

/* Finds the UUID of a session's device id, or the id of a UUID. */
struct device_search {
    int64_t id; /* 0: wanted */
    char uuid[96];
};

static int take_devices(void *arg, const struct store_chunk *c)
{
    enum { ID, INDEX, NAME, UUID };
    struct device_search *d = arg;
    for (size_t i = 0; i < c->rows; i++) {
        const struct store_vec *v = c->columns;
        if (!store_known(&v[ID], i) || !store_known(&v[UUID], i))
            continue;
        const struct store_text *uuid = &v[UUID].texts[i];
        if (d->id && v[ID].ints[i] == d->id && uuid->len < sizeof d->uuid) {
            memcpy(d->uuid, uuid->at, uuid->len);
            d->uuid[uuid->len] = '\0';
        } else if (!d->id && *d->uuid && is_text(uuid, d->uuid)) {
            d->id = v[ID].ints[i];
        }
    }
    return 0;
}

static int ask_store(struct call *c, struct store_session *ss, enum store_query q,
                     const struct store_value *args, const struct store_visitor *v, struct err *e)
{
    return c->parts->ops->query(c->parts->store,
                                &(struct store_question){c->who.workspace, ss, q, args}, v, e);
}

/* Finds the device of one session in another; 0: it is not there. */
static int map_device(struct call *c, struct store_session *from, struct store_session *to,
                      int64_t *device, struct err *e)
{
    struct device_search d = {.id = *device};
    const struct store_visitor v = {.arg = &d, .chunk = take_devices};
    int rc = ask_store(c, from, QUERY_devices, NULL, &v, e);
    d.id = 0;
    rc = rc || !*d.uuid ? rc : ask_store(c, to, QUERY_devices, NULL, &v, e);
    *device = d.id;
    return rc;
}

/* ---- steps --------------------------------------------------------------------------------- */

static int take_steps(void *arg, const struct store_chunk *c)
{
    enum { AT, LEAST, MEAN, MOST, SAMPLES };
    struct steps *s = arg;
    int rc = mem_grow(&s->items, &s->cap, s->count + c->rows, sizeof *s->items, STEPS_MAX);
    for (size_t i = 0; !rc && i < c->rows; i++)
        s->items[s->count++] = (struct step){.at = c->columns[AT].ints[i],
                                             .least = c->columns[LEAST].ints[i],
                                             .mean = c->columns[MEAN].reals[i],
                                             .most = c->columns[MOST].ints[i],
                                             .samples = c->columns[SAMPLES].ints[i]};
    return rc;
}

static int compare_steps(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    return ORDER(x->at, y->at);
}

/* Joins the steps of several sessions in order; those of one time become one. */
static void join_steps(struct steps *s)
{
    size_t n = 0;
    if (s->count)
        qsort(s->items, s->count, sizeof *s->items, compare_steps);
    for (size_t i = 0; i < s->count; i++) {
        struct step *x = &s->items[i], *last = n ? &s->items[n - 1] : NULL;
        if (!last || last->at != x->at) {
            s->items[n++] = *x;
            continue;
        }
        int64_t both = last->samples + x->samples;
        last->mean = both > 0
                         ? last->mean + (x->mean - last->mean) * ((double)x->samples / (double)both)
                         : last->mean;
        last->least = x->least < last->least ? x->least : last->least;
        last->most = x->most > last->most ? x->most : last->most;
        last->samples = both;
    }
    s->count = n;
}

/* Answers in columns, like a store. */
static int give_steps(const struct steps *s, const struct store_visitor *v)
{
    enum { COLUMNS = 5 };
    size_t n = s->count ? s->count : 1;
    int64_t *ints = mem_array(4 * n, sizeof *ints);
    double *means = mem_array(n, sizeof *means);
    const struct store_vec columns[COLUMNS] = {{.type = STORE_INT, .ints = ints},
                                               {.type = STORE_INT, .ints = ints + n},
                                               {.type = STORE_REAL, .reals = means},
                                               {.type = STORE_INT, .ints = ints + 2 * n},
                                               {.type = STORE_INT, .ints = ints + 3 * n}};
    const struct store_chunk chunk = {s->count, COLUMNS, columns};
    int rc = ints && means ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < s->count; i++) {
        ints[i] = s->items[i].at;
        ints[n + i] = s->items[i].least;
        means[i] = s->items[i].mean;
        ints[2 * n + i] = s->items[i].most;
        ints[3 * n + i] = s->items[i].samples;
    }
    if (!rc && s->count)
        rc = v->chunk(v->arg, &chunk);
    mem_free(ints);
    mem_free(means);
    return rc;
}

/* ---- the question -------------------------------------------------------------------------- */

static int place_of(enum store_query q, const char *name)
{
    const struct store_query_def *def = &store_queries[q];
    for (unsigned i = 0; i < def->param_count; i++)
        if (strcmp(def->params[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Reads the samples of another session within a span: none if that session is not on this server,
 * or the span is outside the question's. */
static int ask_span(struct call *c, const struct session_ref *s, const struct store_question *all,
                    const struct span *x, struct steps *steps, struct err *e)
{
    struct store_value own[STORE_PARAMS_MAX] = {0};
    enum store_query q = all->q;
    const struct store_visitor v = {.arg = steps, .chunk = take_steps};
    int device = place_of(q, "device"), from = place_of(q, "from"), to = place_of(q, "to");
    struct store_session *ss;
    struct err none;
    memcpy(own, all->args, store_queries[q].param_count * sizeof *own);
    if (own[from].null || own[from].i < x->from)
        own[from] = (struct store_value){.i = x->from};
    if (own[to].null || own[to].i > x->to)
        own[to] = (struct store_value){.i = x->to};
    if (own[from].i >= own[to].i ||
        c->parts->ops->get(c->parts->store, c->who.workspace, x->session, false, &ss, &none))
        return 0;
    int rc = device >= 0 ? map_device(c, s->columns, ss, &own[device].i, e) : 0;
    if (!rc && (device < 0 || own[device].i))
        rc = ask_store(c, ss, q, own, &v, e);
    c->parts->ops->put(ss);
    return rc;
}

bool series_is(enum store_query q)
{
    return q == QUERY_device_series || q == QUERY_host_series;
}

int series_shared(struct call *c, const struct session_ref *s, bool *shared, struct err *e)
{
    struct spans spans = {.self = s->row.id};
    const struct store_visitor v = {.arg = &spans, .chunk = take_spans};
    int rc = s->columns ? ask_store(c, s->columns, QUERY_samplers, NULL, &v, e) : 0;
    *shared = spans.any;
    mem_free(spans.items);
    return rc;
}

/* A process's own metrics come from its own samples alone. */
static bool of_process(enum store_query q, const struct store_value *args)
{
    int64_t metric = args[place_of(q, "metric")].i;
    return q == QUERY_host_series && sum_metrics_is_own((unsigned)metric);
}

int series_ask(struct call *c, const struct session_ref *s, enum store_query q,
               const struct store_value *args, const struct store_visitor *v, struct err *e)
{
    int device = place_of(q, "device");
    struct spans spans = {.self = s->row.id, .device = device >= 0 ? args[device].i : 0};
    const struct store_visitor take = {.arg = &spans, .chunk = take_spans};
    struct steps steps = {0};
    const struct store_visitor own = {.arg = &steps, .chunk = take_steps};
    const struct store_question all = {c->who.workspace, s->columns, q, args};
    int rc = ask_store(c, s->columns, q, args, &own, e);
    if (!rc && !of_process(q, args))
        rc = ask_store(c, s->columns, QUERY_samplers, NULL, &take, e);
    for (size_t i = 0; !rc && i < spans.count; i++)
        rc = ask_span(c, s, &all, &spans.items[i], &steps, e);
    if (!rc) {
        join_steps(&steps);
        rc = give_steps(&steps, v);
    }
    mem_free(spans.items);
    mem_free(steps.items);
    return rc;
}

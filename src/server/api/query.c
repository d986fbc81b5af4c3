/* query.c - answers every question of the column store over HTTP.
 *
 * The route says which question; its parameters become the question's by their
 * names. Times in questions and answers are ns since the session's start. */
#include "server/api/series.h"
#include "server/common/columns.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/session_ref.h"

#include "wire/record.h"

#include <string.h>

enum { VIEW_STEPS_MAX = 16384 /* steps of a tile view: four of the widest screens */ };

static enum store_query query_of(const struct route *r)
{
    unsigned i = 0;
    while (i < STORE_QUERY_COUNT && strcmp(store_queries[i].id, r->of) != 0)
        i++;
    return (enum store_query)i; /* a test sees that there is one */
}

static const struct value *value_of(const struct call *c, const char *name)
{
    for (unsigned i = 0; i < c->route->param_count; i++)
        if (strcmp(c->route->params[i].name, name) == 0)
            return &c->values[i];
    return NULL;
}

static const struct param *param_of(const struct call *c, const struct value *v)
{
    return &c->route->params[v - c->values];
}

/* Finds a metric by the name of its column. */
static bool metric(struct call *c, enum store_query q, const char *name, int64_t *out)
{
    const struct record *r =
        &records[q == QUERY_host_series ? RECORD_host_metric : RECORD_device_metric];
    struct buf known;
    buf_init(&known, 4096);
    for (unsigned i = 0; i < r->column_count; i++) {
        if (r->columns[i].coding == CODING_TIME || r->columns[i].ref != RECORD_NONE)
            continue; /* when and whose it was */
        if (strcmp(r->columns[i].name, name) == 0) {
            buf_fini(&known);
            *out = i;
            return true;
        }
        buf_printf(&known, "%s%s", known.len ? ", " : "", r->columns[i].name);
    }
    http_problem_of(c->http, 400, "metric", "There is no metric '%s'; known: %s.", name,
                    buf_cstr(&known));
    buf_fini(&known);
    return false;
}

/* Reads one argument. false: the problem is the answer. */
static bool argument(struct call *c, enum store_query q, const struct store_param *p, int64_t start,
                     struct store_value *out)
{
    const struct value *v = value_of(c, p->name);
    *out = (struct store_value){.null = !v || !v->given};
    if (out->null)
        return true;
    if (strcmp(p->name, "metric") == 0)
        return metric(c, q, v->text, &out->i);
    out->i = v->i;
    if (param_of(c, v)->type == PARAM_TIME && __builtin_add_overflow(v->i, start, &out->i))
        out->i = v->i < 0 ? INT64_MIN + 1 : INT64_MAX;
    out->r = v->r;
    if (v->text)
        out->text = (struct store_text){v->text, strlen(v->text)};
    out->list = v->list;
    out->list_count = v->count;
    return true;
}

/* A view of tiles fills a screen: a larger one is a mistake of level or step. */
static bool view_fits(struct call *c, enum store_query q)
{
    if (q != QUERY_tiles)
        return true;
    int64_t level = value_of(c, "level")->i, step = value_of(c, "step")->i, window, width;
    if (__builtin_sub_overflow(value_of(c, "to")->i, value_of(c, "from")->i, &window))
        window = INT64_MAX;
    if (__builtin_mul_overflow(TILE_WIDTH(level), step, &width) || window / width <= VIEW_STEPS_MAX)
        return true;
    http_problem_of(c->http, 400, "step",
                    "That window has more than %d steps; take a higher level or a longer step.",
                    VIEW_STEPS_MAX);
    return false;
}

static void send(struct call *c, const struct session_ref *s, struct columns *columns,
                 const char *tag)
{
    struct json_out j;
    char epoch[24];
    call_json(c, &j);
    json_out_object(&j, NULL);
    if (s) {
        snprintf(epoch, sizeof epoch, "%lld", (long long)s->row.started);
        json_out_text(&j, "epoch", epoch);
    }
    int rc = columns_put(columns, &j);
    json_out_close_object(&j);
    if (rc)
        j.buf.error = rc;
    call_json_send(c, &j, 200);
    if (*tag && c->http->answer.status == 200)
        http_set(c->http, "ETag", tag);
}

static void ask_store(struct call *c, enum store_query q, const struct session_ref *s,
                      const char *tag)
{
    const struct store_query_def *def = &store_queries[q];
    struct store_value args[STORE_PARAMS_MAX];
    struct columns columns;
    struct err e = {0};
    int64_t start = s ? s->start : 0;
    if (!view_fits(c, q))
        return;
    for (unsigned i = 0; i < def->param_count; i++)
        if (!argument(c, q, &def->params[i], start, &args[i]))
            return;
    int rc = columns_init(&columns, def, start, CALL_JSON_MAX);
    const struct store_visitor v = columns_visitor(&columns);
    if (rc == 0 && s && s->columns && series_is(q))
        rc = series_ask(c, s, q, args, &v, &e);
    else if (rc == 0 && (!s || s->columns))
        rc = c->parts->ops->query(
            c->parts->store,
            &(struct store_question){c->who.workspace, s ? s->columns : NULL, q, args}, &v, &e);
    if (rc == GPUFL_E_FULL)
        http_problem(c->http, 400, "The answer would have more than %d MiB; ask for less of it.",
                     CALL_JSON_MAX >> 20);
    else if (rc)
        call_fail(c, rc, "question", &e);
    else
        send(c, s, &columns, tag);
    columns_fini(&columns);
}

void api_query(struct call *c)
{
    enum store_query q = query_of(c->route);
    struct session_ref s;
    char tag[32];
    if (store_queries[q].of_workspace) {
        ask_store(c, q, NULL, "");
        return;
    }
    if (!session_ref_open(c, value_of(c, "session")->text, &s))
        return;
    struct err e = {0};
    bool shared = false; /* the answer may change after this session's end */
    int rc = series_is(q) ? series_shared(c, &s, &shared, &e) : 0;
    tag[0] = '\0';
    if (rc)
        call_fail(c, rc, "question", &e);
    else if (shared || !session_ref_unchanged(c, &s, tag))
        ask_store(c, q, &s, tag);
    session_ref_close(c, &s);
}

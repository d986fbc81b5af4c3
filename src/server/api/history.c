/* history.c - serves one kernel, scope or application over sessions and days (docs/history.md): the
 * store has a row of each, analyze/compare/history.h says what is unusual. */
#include "server/api/history_rows.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS 86400000000000ll

static const char *const kinds[] = {"kernel", "scope", "app"};

struct answering {
    struct json_out j;
    const struct history_rows *rows;
    const struct history *found;
};

/* ---- out ------------------------------------------------------------------------------------- */

static void put_epoch(struct json_out *j, const char *key, int64_t ns)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)ns);
    json_out_text(j, key, text);
}

static void put_steps(struct answering *a)
{
    json_out_array(&a->j, "steps");
    for (size_t i = 0; i < a->found->step_count; i++) {
        const struct history_step *s = &a->found->steps[i];
        json_out_object(&a->j, NULL);
        json_out_text(&a->j, "session", a->rows->sessions[s->at]->session);
        put_epoch(&a->j, "started", a->rows->sessions[s->at]->started);
        json_out_small(&a->j, "p", s->p);
        json_out_number(&a->j, "before_ns", s->before);
        json_out_number(&a->j, "after_ns", s->after);
        json_out_number(&a->j, "ratio", s->after / s->before);
        json_out_bool(&a->j, "other_machines", s->other_machines);
        json_out_close_object(&a->j);
    }
    json_out_close_array(&a->j);
}

static void put_groups(struct answering *a, const char *key, const struct history_group *groups,
                       size_t n)
{
    json_out_array(&a->j, key);
    for (size_t i = 0; i < n; i++) {
        json_out_object(&a->j, NULL);
        json_out_text(&a->j, "name", groups[i].name);
        json_out_count(&a->j, "sessions", groups[i].sessions);
        json_out_number(&a->j, "ratio", groups[i].ratio);
        json_out_small(&a->j, "p", groups[i].p);
        json_out_small(&a->j, "q", groups[i].q);
        json_out_bool(&a->j, "outlying", groups[i].outlying);
        json_out_close_object(&a->j);
    }
    json_out_close_array(&a->j);
}

static void put_shapes(struct answering *a)
{
    json_out_array(&a->j, "shapes");
    for (size_t i = 0; i < a->rows->shape_count; i++) {
        const struct history_shape *s = &a->rows->shapes[i];
        json_out_object(&a->j, NULL);
        json_out_text(&a->j, "shape", s->shape);
        json_out_int(&a->j, "sessions", s->sessions);
        json_out_int(&a->j, "calls", s->calls);
        json_out_int(&a->j, "total_ns", s->total);
        json_out_close_object(&a->j);
    }
    json_out_close_array(&a->j);
}

/* Chooses some of many, evenly over them. */
struct choice {
    size_t some, many, sum;
};

static bool choose(struct choice *c)
{
    c->sum += c->some;
    if (c->sum < c->many)
        return false;
    c->sum -= c->many;
    return true;
}

static size_t outliers_of(const struct history_rows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->points[i].outlier;
    return count;
}

/* Lists most sessions at most, outliers before others, and the first session after each step.
 * Returns how many it leaves out. */
static size_t put_sessions(struct answering *a, size_t most)
{
    size_t outliers = outliers_of(a->rows), others = a->rows->count - outliers, left_out = 0;
    size_t step = 0, listed = outliers < most ? outliers : most;
    struct choice choices[2] = {
        {.some = others < most - listed ? others : most - listed, .many = others},
        {.some = listed, .many = outliers}};
    json_out_array(&a->j, "sessions");
    for (size_t i = 0; i < a->rows->count; i++) {
        const struct history_session *s = a->rows->sessions[i];
        const struct history_point *p = &a->rows->points[i];
        bool chosen = choose(&choices[p->outlier]);
        bool stepped = step < a->found->step_count && a->found->steps[step].at == i;
        step += stepped;
        if (!chosen && !stepped) {
            left_out++;
            continue;
        }
        json_out_object(&a->j, NULL);
        json_out_text(&a->j, "session", s->session);
        put_epoch(&a->j, "started", s->started);
        json_out_text(&a->j, "app", s->app);
        json_out_text(&a->j, "host", s->host);
        json_out_text_or_null(&a->j, "gpu", s->gpu);
        json_out_int(&a->j, "calls", s->calls);
        json_out_int(&a->j, "total_ns", s->total);
        json_out_number(&a->j, "mean_ns", p->mean);
        json_out_number(&a->j, "p50_ns", s->p50);
        json_out_number(&a->j, "p99_ns", s->p99);
        json_out_number(&a->j, "share", s->share);
        json_out_number(&a->j, "level_ns", p->level);
        json_out_number(&a->j, "ratio", p->ratio);
        json_out_bool(&a->j, "outlier", p->outlier);
        json_out_close_object(&a->j);
    }
    json_out_close_array(&a->j);
    return left_out;
}

/* ---- days ------------------------------------------------------------------------------------ */

static int64_t day_of(int64_t ns)
{
    return ns / DAY_NS - (ns % DAY_NS < 0);
}

enum { DAY_MEAN, DAY_P99, DAY_SHARE, DAY_VALUES };

static double value_of(const struct answering *a, size_t i, int which)
{
    return which == DAY_MEAN  ? a->rows->points[i].mean
           : which == DAY_P99 ? a->rows->sessions[i]->p99
                              : a->rows->sessions[i]->share;
}

/* Writes a day, whose sessions are one day's. room: to - from values. */
static void put_day(struct answering *a, size_t from, size_t to, double *room)
{
    static const char *const keys[DAY_VALUES] = {"mean_ns", "p99_ns", "share"};
    int64_t calls = 0, outliers = 0;
    size_t known = 0;
    for (size_t i = from; i < to; i++) {
        calls += a->rows->sessions[i]->calls;
        outliers += a->rows->points[i].outlier;
    }
    json_out_object(&a->j, NULL);
    json_out_int(&a->j, "day", day_of(a->rows->sessions[from]->started));
    json_out_count(&a->j, "sessions", to - from);
    json_out_int(&a->j, "calls", calls);
    for (int v = 0; v < DAY_VALUES; v++) {
        size_t n = 0;
        for (size_t i = from; i < to; i++)
            if (!isnan(value_of(a, i, v)))
                room[n++] = value_of(a, i, v);
        json_out_number(&a->j, keys[v], stats_median(room, n));
        known = v == DAY_SHARE ? n : known;
    }
    json_out_count(&a->j, "shares_known", known);
    json_out_int(&a->j, "outliers", outliers);
    json_out_close_object(&a->j);
}

static void put_days(struct answering *a, double *room)
{
    json_out_array(&a->j, "days");
    for (size_t from = 0, to; from < a->rows->count; from = to) {
        int64_t day = day_of(a->rows->sessions[from]->started);
        for (to = from + 1; to < a->rows->count && day_of(a->rows->sessions[to]->started) == day;
             to++)
            ;
        put_day(a, from, to, room);
    }
    json_out_close_array(&a->j);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Returns what is shown of a name; valid while brief is. */
static const char *shortened(bool kernel, struct buf *name, struct buf *brief)
{
    if (kernel)
        shorten_kernel(brief, buf_cstr(name), SHORT_COLUMNS);
    else
        buf_put(brief, name->data, name->len);
    return buf_cstr(brief);
}

static void send(struct call *c, struct history_rows *rows, const struct history *found,
                 double *room)
{
    struct answering a = {.rows = rows, .found = found};
    const char *symbol = ARG(c, history, name)->text;
    struct buf name, brief;
    buf_init(&name, DEMANGLE_ROOM);
    buf_init(&brief, DEMANGLE_ROOM);
    if (ARG(c, history, kind)->i == 0)
        demangle_put(&name, symbol);
    else
        buf_str(&name, symbol);
    call_json(c, &a.j);
    json_out_object(&a.j, NULL);
    json_out_text(&a.j, "kind", kinds[ARG(c, history, kind)->i]);
    json_out_text(&a.j, "name", buf_error(&name) ? symbol : buf_cstr(&name));
    json_out_text(&a.j, "short_name", shortened(ARG(c, history, kind)->i == 0, &name, &brief));
    json_out_text(&a.j, "symbol", symbol);
    json_out_count(&a.j, "session_count", rows->count);
    json_out_number(&a.j, "level_ns", rows->count ? rows->points[rows->count - 1].level : NAN);
    put_steps(&a);
    put_groups(&a, "hosts", found->hosts, found->host_count);
    put_groups(&a, "gpus", found->gpus, found->gpu_count);
    put_shapes(&a);
    put_days(&a, room);
    json_out_count(&a.j, "outlier_count", outliers_of(rows));
    json_out_count(&a.j, "sessions_left_out",
                   put_sessions(&a, (size_t)ARG(c, history, sessions)->i));
    json_out_close_object(&a.j);
    buf_fini(&name);
    buf_fini(&brief);
    call_json_send(c, &a.j, 200);
}

/* Fills the arguments of the question by their names: `limit` is ours, and a parameter that was
 * left out is null. */
static void fill(const struct call *c, struct store_value args[STORE_PARAMS_MAX])
{
    const struct store_query_def *def = &store_queries[QUERY_trend];
    for (unsigned i = 0; i < def->param_count; i++) {
        args[i] = (struct store_value){.null = true};
        if (strcmp(def->params[i].name, "limit") == 0)
            args[i] = (struct store_value){.i = HISTORY_ROWS_MAX + 1};
        for (unsigned k = 0; k < c->route->param_count; k++) {
            const struct value *v = &c->values[k];
            if (!v->given || strcmp(c->route->params[k].name, def->params[i].name) != 0)
                continue;
            args[i] = (struct store_value){.i = v->i};
            if (v->text)
                args[i].text = (struct store_text){v->text, strlen(v->text)};
        }
    }
}

static int read_rows(struct call *c, struct history_rows *rows, struct err *e)
{
    struct store_value args[STORE_PARAMS_MAX];
    const struct store_visitor v = history_rows_visitor(rows);
    const struct parts *s = c->parts;
    fill(c, args);
    int rc = s->ops->query(
        s->store, &(struct store_question){c->who.workspace, NULL, QUERY_trend, args}, &v, e);
    return rc ? rc : history_rows_finish(rows);
}

void api_history(struct call *c)
{
    struct history_rows rows;
    struct history found;
    struct err e = {0};
    history_rows_init(&rows);
    int rc = read_rows(c, &rows, &e);
    double *room = rc ? NULL : region_array(&rows.memory, rows.count + 1, sizeof *room);
    if (rc == 0)
        rc = room ? history_find(&found, rows.points, rows.count, &rows.memory) : GPUFL_E_NOMEM;
    if (rc == GPUFL_E_FULL)
        http_problem(c->http, 400,
                     "That is in more than %d rows of sessions and launch shapes; ask for less "
                     "time, one host, or one launch shape.",
                     HISTORY_ROWS_MAX);
    else if (rc)
        call_fail(c, rc, "history", &e);
    else
        send(c, &rows, &found, room);
    history_rows_fini(&rows);
}

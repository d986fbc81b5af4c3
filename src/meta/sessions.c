/* sessions.c - keeps the registry of sessions: adds them, and changes them when they grow, end or
 * are dropped.
 *
 * Labels and GPUs have tables of their own, by which lists are filtered. The session's row also has
 * them as JSON, for responses, and in the text in which a search looks. Both are made again from
 * the tables whenever these change. */
#include "meta/fleet_days.h"

#include <stdlib.h>
#include <string.h>

static struct meta_args of_session(const char *session)
{
    struct meta_args a = {0};
    meta_arg_text(&a, session);
    return a;
}

/* ---- what is searched, and shown ---------------------------------------------------------- */

/* Holds the texts that are made from the rows: JSON, and the words for the search. */
struct shown {
    struct buf *json, *search;
    unsigned count;
};

static int gpu_row(void *arg, const struct meta_value *cells, unsigned n)
{
    struct shown *p = arg;
    if (n != 3)
        return GPUFL_E_CORRUPT;
    buf_str(p->json, p->count++ ? ",{" : "{");
    if (cells[0].len) {
        buf_str(p->json, "\"uuid\":");
        buf_json(p->json, cells[0].at, cells[0].len);
        buf_char(p->json, ',');
    }
    buf_str(p->json, "\"name\":");
    buf_json(p->json, cells[1].at, cells[1].len);
    if (cells[2].len) {
        buf_str(p->json, ",\"vendor\":");
        buf_json(p->json, cells[2].at, cells[2].len);
    }
    buf_char(p->json, '}');
    for (unsigned i = 0; i < 2; i++) {
        buf_char(p->search, '\n');
        buf_put(p->search, cells[i].at, cells[i].len);
    }
    return 0;
}

static int label_row(void *arg, const struct meta_value *cells, unsigned n)
{
    struct shown *p = arg;
    if (n != 2)
        return GPUFL_E_CORRUPT;
    if (p->count++)
        buf_char(p->json, ',');
    buf_json(p->json, cells[0].at, cells[0].len);
    buf_char(p->json, ':');
    buf_json(p->json, cells[1].at, cells[1].len);
    buf_char(p->search, '\n');
    buf_put(p->search, cells[0].at, cells[0].len);
    buf_char(p->search, '=');
    buf_put(p->search, cells[1].at, cells[1].len);
    return 0;
}

static int labels_read(struct meta_tx *tx, const char *session, struct buf *json,
                       struct buf *search, struct err *e)
{
    struct shown p = {json, search, 0};
    const struct meta_args a = of_session(session);
    buf_char(json, '{');
    int rc = meta_run(tx, META_S_label_list, &a, &(struct meta_reader){label_row, &p}, NULL, e);
    buf_char(json, '}');
    return rc;
}

static int gpus_read(struct meta_tx *tx, const char *session, struct buf *json, struct buf *search,
                     struct err *e)
{
    struct shown p = {json, search, 0};
    const struct meta_args a = of_session(session);
    buf_char(json, '[');
    int rc = meta_run(tx, META_S_session_gpu_list, &a, &(struct meta_reader){gpu_row, &p}, NULL, e);
    buf_char(json, ']');
    return rc;
}

/* Adds a text that this file made; its length is not checked. */
static void arg_made(struct meta_args *a, struct buf *text)
{
    a->v[a->n++] =
        (struct meta_value){.kind = META_KIND_TEXT, .at = buf_cstr(text), .len = text->len};
}

static int session_index(struct meta_tx *tx, const struct meta_session *s, struct err *e)
{
    struct buf gpus, labels, search;
    enum { MOST = 8 << 20 };
    buf_init(&gpus, MOST);
    buf_init(&labels, MOST);
    buf_init(&search, MOST);
    const char *const words[] = {s->id, s->app, s->host, s->account};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        buf_str(&search, words[i] ? words[i] : "");
        buf_char(&search, '\n');
    }
    int rc = gpus_read(tx, s->id, &gpus, &search, e);
    if (rc == 0)
        rc = labels_read(tx, s->id, &labels, &search, e);
    if (rc == 0 && (buf_error(&gpus) || buf_error(&labels) || buf_error(&search)))
        rc = err_set(e, GPUFL_E_FULL, "the session's labels and GPUs take too much room");
    if (rc == 0) {
        struct meta_args a = of_session(s->id);
        meta_lower(search.data, search.len);
        arg_made(&a, &gpus);
        arg_made(&a, &labels);
        arg_made(&a, &search);
        rc = meta_run(tx, META_S_session_index, &a, NULL, NULL, e);
    }
    buf_fini(&search);
    buf_fini(&labels);
    buf_fini(&gpus);
    return rc;
}

static const char *text_or_none(const char *text)
{
    return text ? text : "";
}

static int labels_put(struct meta_tx *tx, const char *session, const struct meta_pairs *labels,
                      struct err *e)
{
    unsigned count = labels ? labels->count : 0;
    const struct meta_args clear = of_session(session);
    int rc = count ? meta_run(tx, META_S_label_clear, &clear, NULL, NULL, e) : 0;
    for (unsigned i = 0; i < count && rc == 0; i++) {
        struct meta_args a = of_session(session);
        meta_arg_text(&a, text_or_none(labels->at[i].key));
        meta_arg_text(&a, text_or_none(labels->at[i].value));
        rc = meta_run(tx, META_S_label_add, &a, NULL, NULL, e);
    }
    return rc;
}

static int gpus_put(struct meta_tx *tx, const char *session, const struct meta_session_gpus *gpus,
                    struct err *e)
{
    unsigned count = gpus ? gpus->count : 0;
    const struct meta_args clear = of_session(session);
    int rc = count ? meta_run(tx, META_S_session_gpu_clear, &clear, NULL, NULL, e) : 0;
    for (unsigned i = 0; i < count && rc == 0; i++) {
        struct meta_args a = of_session(session);
        meta_arg_int(&a, i);
        meta_arg_text(&a, text_or_none(gpus->at[i].uuid));
        meta_arg_text(&a, text_or_none(gpus->at[i].name));
        meta_arg_text(&a, text_or_none(gpus->at[i].vendor));
        rc = meta_run(tx, META_S_session_gpu_add, &a, NULL, NULL, e);
    }
    return rc;
}

/* ---- put ---------------------------------------------------------------------------------- */

struct put {
    const struct meta_session *s;
    const struct meta_session_gpus *gpus; /* NULL: none */
    const struct meta_pairs *labels;      /* NULL: none */
    struct region mem;                    /* of the row that was there */
};

static void keep_text(const char **at, const char *was)
{
    if (!*at || !**at)
        *at = was;
}

/* Checks that this is the stored session, and takes from that what is unknown now. */
static int session_same(struct meta_session *s, const struct meta_session *was, struct err *e)
{
    bool other_host = s->host && *s->host && *was->host && strcmp(s->host, was->host) != 0;
    bool other_pid = s->pid != META_NONE && was->pid != META_NONE && s->pid != was->pid;
    if (other_host || other_pid)
        return err_set(e, GPUFL_E_STATE,
                       "session %.40s is there already, of another process: its id was used twice",
                       s->id);
    keep_text(&s->app, was->app);
    keep_text(&s->host, was->host);
    keep_text(&s->account, was->account);
    keep_text(&s->engine, was->engine);
    keep_text(&s->format, was->format);
    keep_text(&s->client, was->client);
    s->pid = s->pid == META_NONE ? was->pid : s->pid;
    s->started = s->started ? s->started : was->started;
    return 0;
}

static int session_add(struct meta_tx *tx, struct meta_session *s, struct err *e)
{
    struct meta_args a = {0};
    s->state = "live";
    s->ended = s->records = s->bytes = 0;
    s->kernels = META_NONE;
    s->busy = NAN;
    s->gpus = "[]";
    s->labels = "{}";
    meta_arg_row(&a, META_ROW_session, s);
    return meta_run(tx, META_S_session_add, &a, NULL, NULL, e);
}

static int session_about(struct meta_tx *tx, const struct meta_session *s, struct err *e)
{
    struct meta_args a = of_session(s->id);
    meta_arg_text(&a, s->app ? s->app : "");
    meta_arg_text(&a, s->host ? s->host : "");
    meta_arg_int(&a, s->pid);
    meta_arg_text(&a, s->account ? s->account : "");
    meta_arg_text(&a, s->engine ? s->engine : "");
    meta_arg_text(&a, s->format ? s->format : "");
    meta_arg_text(&a, s->client ? s->client : "");
    meta_arg_int(&a, s->simulated);
    meta_arg_int(&a, s->started);
    return meta_run(tx, META_S_session_about, &a, NULL, NULL, e);
}

static int session_put(struct meta_tx *tx, void *arg, struct err *e)
{
    struct put *p = arg;
    struct meta_session s = *p->s, was;
    const struct meta_part part = {META_ROW_session, &was};
    const struct meta_args a = of_session(s.id);
    int64_t dropped = 0;
    region_clear(&p->mem);
    int rc = meta_number_tx(tx, META_S_dropped_here, &a, &dropped, e);
    if (rc == 0 && dropped)
        rc = err_set(e, GPUFL_E_STATE, "session %.40s was deleted", s.id);
    if (rc)
        return rc;
    rc = meta_get_tx(tx, META_S_session_get, &a, &(struct meta_one){&part, 1, &p->mem, "session"},
                     e);
    if (rc == GPUFL_E_NOENT)
        rc = session_add(tx, &s, e);
    else if (rc == 0 && (rc = session_same(&s, &was, e)) == 0)
        rc = session_about(tx, &s, e);
    if (rc || (rc = gpus_put(tx, s.id, p->gpus, e)) || (rc = labels_put(tx, s.id, p->labels, e)))
        return rc;
    return session_index(tx, &s, e);
}

int meta_session_put(struct meta *m, const char *workspace, const struct meta_session *s,
                     const struct meta_session_gpus *gpus, const struct meta_pairs *labels,
                     struct err *e)
{
    if (!meta_id_ok(s->id))
        return err_set(e, GPUFL_E_INVAL,
                       "no session id, or one with other characters than "
                       "0-9 A-Z a-z _ -, or of more than %d",
                       META_ID_MAX - 1);
    if ((gpus && gpus->count > META_GPUS_MAX) || (labels && labels->count > META_LABELS_MAX))
        return err_set(e, GPUFL_E_INVAL, "a session has at most %d GPUs and %d labels",
                       META_GPUS_MAX, META_LABELS_MAX);
    struct put p = {.s = s, .gpus = gpus, .labels = labels};
    region_init(&p.mem, 16 << 20);
    int rc = meta_write(m, workspace, session_put, &p, e);
    region_fini(&p.mem);
    return rc;
}

/* ---- labels ------------------------------------------------------------------------------- */

struct label {
    const char *session, *name, *value;
};

/* Counts the session's labels that have other names. */
struct others {
    const char *name;
    unsigned count;
};

static int count_other(void *arg, const struct meta_value *cells, unsigned n)
{
    struct others *o = arg;
    size_t len = strlen(o->name);
    o->count += n > 0 && (cells[0].len != len || memcmp(cells[0].at, o->name, len) != 0);
    return 0;
}

/* Nothing must be changed if the label is refused: the transaction may be that of several calls and
 * go on. */
static int label_change(struct meta_tx *tx, const struct label *l, struct err *e)
{
    struct meta_args a = of_session(l->session);
    struct others others = {l->name, 0};
    int64_t changed = 0;
    const struct meta_args of = a;
    const struct meta_reader count = {count_other, &others};
    meta_arg_text(&a, l->name);
    if (!l->value) {
        int rc = meta_run(tx, META_S_label_remove, &a, NULL, &changed, e);
        return rc || changed ? rc : err_set(e, GPUFL_E_NOENT, "no such label");
    }
    int rc = meta_run(tx, META_S_label_list, &of, &count, NULL, e);
    if (rc)
        return rc;
    if (others.count >= META_LABELS_MAX)
        return err_set(e, GPUFL_E_STATE, "a session has at most %d labels", META_LABELS_MAX);
    meta_arg_text(&a, l->value);
    return meta_run(tx, META_S_label_add, &a, NULL, NULL, e);
}

static int session_label(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct label *l = arg;
    const struct meta_args a = of_session(l->session);
    struct meta_session s;
    const struct meta_part part = {META_ROW_session, &s};
    struct region mem;
    region_init(&mem, 16 << 20);
    int rc =
        meta_get_tx(tx, META_S_session_get, &a, &(struct meta_one){&part, 1, &mem, "session"}, e);
    if (rc || (rc = label_change(tx, l, e)))
        goto done;
    rc = session_index(tx, &s, e);
done:
    region_fini(&mem);
    return rc;
}

int meta_session_label(struct meta *m, const char *workspace, const char *session, const char *name,
                       const char *value, struct err *e)
{
    struct label l = {session, name, value};
    if (!name || !*name)
        return err_set(e, GPUFL_E_INVAL, "a label has a name");
    return meta_write(m, workspace, session_label, &l, e);
}

/* ---- grow, end, get ----------------------------------------------------------------------- */

int meta_session_grow(struct meta *m, const char *workspace, const char *session,
                      const struct meta_growth *g, struct err *e)
{
    struct meta_args a = of_session(session);
    meta_arg_int(&a, g->records);
    meta_arg_int(&a, g->kernels);
    meta_arg_int(&a, g->bytes);
    meta_arg_real(&a, g->busy);
    meta_arg_int(&a, g->received);
    return meta_change_one(m, workspace, META_S_session_grow, &a, "session", e);
}

struct end {
    const char *session, *state;
    int64_t ended;
};

static int session_end(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct end *end = arg;
    const struct meta_args here = of_session(end->session);
    struct meta_args a = here;
    int64_t there = 0;
    meta_arg_text(&a, end->state);
    meta_arg_int(&a, end->ended);
    int rc = meta_number_tx(tx, META_S_session_here, &here, &there, e);
    if (rc == 0 && !there)
        rc = err_set(e, GPUFL_E_NOENT, "no such session");
    return rc ? rc : meta_run(tx, META_S_session_end, &a, NULL, NULL, e);
}

int meta_session_end(struct meta *m, const char *workspace, const char *session, const char *state,
                     int64_t ended, struct err *e)
{
    struct end end = {session, state, ended};
    if (strcmp(state, "ended") != 0 && strcmp(state, "aborted") != 0)
        return err_set(e, GPUFL_E_INVAL, "a session ends as ended or aborted");
    return meta_write(m, workspace, session_end, &end, e);
}

int meta_session_get(const struct meta_ask *ask, const char *session, struct meta_session *out)
{
    return meta_get_by(ask, META_S_session_get, META_ROW_session, session, out, "session");
}

/* ---- drop --------------------------------------------------------------------------------- */

struct drop {
    const char *session;
    int64_t now;
};

static int session_drop(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct drop *d = arg;
    struct meta_args remove = of_session(d->session), add = remove;
    meta_arg_int(&add, d->now);
    int rc = meta_fleet_findings_gone(tx, d->session, e);
    rc = rc ? rc : meta_run_one(tx, META_S_session_remove, &remove, "session", e);
    return rc ? rc : meta_run(tx, META_S_dropped_add, &add, NULL, NULL, e);
}

int meta_session_drop(struct meta *m, const char *workspace, const char *session, int64_t now,
                      struct err *e)
{
    struct drop d = {session, now};
    return meta_write_sums(m, workspace, session_drop, &d, e);
}

int meta_session_is_dropped(struct meta *m, const char *workspace, const char *session,
                            bool *dropped, struct err *e)
{
    const struct meta_args a = of_session(session);
    int64_t count = 0;
    int rc = meta_number(m, workspace, META_S_dropped_here, &a, &count, e);
    *dropped = count > 0;
    return rc;
}

int meta_dropped_list(const struct meta_ask *ask, unsigned limit, struct meta_dropped **rows,
                      size_t *count)
{
    struct meta_args a = {0};
    meta_arg_int(&a, meta_page_limit(limit));
    return meta_list(ask, META_S_dropped_list, &a, META_ROW_dropped, rows, count);
}

int meta_dropped_freed(struct meta *m, const char *workspace, const char *session, struct err *e)
{
    const struct meta_args a = of_session(session);
    return meta_change_one(m, workspace, META_S_dropped_freed, &a, "dropped session", e);
}

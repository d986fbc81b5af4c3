/* meta.c - opens the small tables, and runs statements on pools of connections.
 *
 * There are two pools if the engine has one writer (SQLite, whose readers go on meanwhile), else
 * one. A connection belongs to one thread from take to give; a broken connection is closed instead
 * of given back, and the next take opens a new one. A transaction that failed because of another
 * one is run again after growing random pauses, for TRY_NS in all.
 *
 * Threads: struct pool is guarded by its lock; all else is constant after meta_open. */
#include "meta/inside.h"
#include "meta/together.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define TRY_NS 10000000000 /* how long a transaction is tried, and a connection waited for */

enum { POOL_MAX = 64 };

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t given; /* a connection was given back, or a new one may be opened */
    struct meta_conn *idle[POOL_MAX];
    unsigned idle_count, open, most; /* guarded by lock; open: idle and in use */
    bool write;
};

struct meta {
    const struct meta_engine *engine;
    struct meta_config config; /* strings owned */
    char *sql[META_S_COUNT];   /* owned; expanded */
    struct pool read, write;   /* write: unused unless the engine has one writer */
};

/* ---- pools -------------------------------------------------------------------------------- */

static int pool_init(struct pool *p, unsigned most, bool write)
{
    pthread_condattr_t attr;
    p->most = most < 1 ? 1 : most > POOL_MAX ? POOL_MAX : most;
    p->write = write;
    if (pthread_mutex_init(&p->lock, NULL))
        return GPUFL_E_NOMEM;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&p->given, &attr);
    pthread_condattr_destroy(&attr);
    if (failed)
        pthread_mutex_destroy(&p->lock);
    return failed ? GPUFL_E_NOMEM : 0;
}

static void pool_fini(struct pool *p, const struct meta_engine *engine)
{
    for (unsigned i = 0; i < p->idle_count; i++)
        engine->disconnect(p->idle[i]);
    pthread_cond_destroy(&p->given);
    pthread_mutex_destroy(&p->lock);
}

static struct timespec in_ns(int64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += t.tv_nsec;
    t.tv_sec += ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    return t;
}

static int pool_take(struct meta *m, struct pool *p, struct meta_conn **out, struct err *e)
{
    struct timespec deadline = in_ns(TRY_NS);
    int late = 0;
    *out = NULL;
    pthread_mutex_lock(&p->lock);
    while (!p->idle_count && p->open >= p->most && !late)
        late = pthread_cond_timedwait(&p->given, &p->lock, &deadline);
    if (p->idle_count)
        *out = p->idle[--p->idle_count];
    else if (p->open < p->most)
        p->open++;
    else
        late = -1;
    pthread_mutex_unlock(&p->lock);
    if (late == -1)
        return err_set(e, GPUFL_E_TIMEOUT, "no connection to the small tables became free");
    if (*out)
        return 0;
    int rc = m->engine->connect(out, &m->config, (const char *const *)m->sql, p->write, e);
    if (rc) {
        pthread_mutex_lock(&p->lock);
        p->open--;
        pthread_cond_signal(&p->given);
        pthread_mutex_unlock(&p->lock);
    }
    return rc;
}

static void pool_give(struct meta *m, struct pool *p, struct meta_conn *conn)
{
    bool broken = m->engine->broken(conn);
    if (broken)
        m->engine->disconnect(conn);
    pthread_mutex_lock(&p->lock);
    if (broken)
        p->open--;
    else
        p->idle[p->idle_count++] = conn;
    pthread_cond_signal(&p->given);
    pthread_mutex_unlock(&p->lock);
}

static struct pool *pool_for(struct meta *m, bool write)
{
    return write && m->engine->one_writer ? &m->write : &m->read;
}

/* ---- running ------------------------------------------------------------------------------ */

static bool workspace_fits(const struct meta_statement *s, const char *workspace)
{
    if (s->of != META_TENANT)
        return true;
    return meta_id_ok(workspace) || (workspace && strcmp(workspace, META_SERVER_LOG) == 0);
}

int meta_run(struct meta_tx *tx, enum meta_statement_id id, const struct meta_args *a,
             const struct meta_reader *reader, int64_t *changed, struct err *e)
{
    const struct meta_statement *s = &meta_statements[id];
    struct meta_value values[META_ARGS_MAX + 1];
    unsigned n = 0;
    if (a && a->error.code)
        return err_set(e, a->error.code, "%s", a->error.text);
    if (!workspace_fits(s, tx->workspace))
        return err_set(e, GPUFL_E_INVAL, "no workspace, or not the id of one");
    if (s->of == META_TENANT)
        values[n++] = (struct meta_value){
            .kind = META_KIND_TEXT, .at = tx->workspace, .len = strlen(tx->workspace)};
    if (a) {
        memcpy(values + n, a->v, a->n * sizeof a->v[0]);
        n += a->n;
    }
    const struct meta_command command = {id, values, n, reader, changed};
    return tx->m->engine->run(tx->conn, &command, e);
}

int meta_run_one(struct meta_tx *tx, enum meta_statement_id id, const struct meta_args *a,
                 const char *what, struct err *e)
{
    int64_t changed = 0;
    int rc = meta_run(tx, id, a, NULL, &changed, e);
    return rc || changed ? rc : err_set(e, GPUFL_E_NOENT, "no such %s", what);
}

/* Counts the attempts of one transaction. */
struct tries {
    int64_t began, pause; /* ns */
    unsigned seed;
};

/* Waits before the next attempt. False: the time for attempts is over. */
static bool try_again(struct tries *t)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (t->pause == 0) {
        t->began = at;
        t->pause = 250000;
        t->seed = (unsigned)(at ^ (uintptr_t)t);
    }
    if (at - t->began > TRY_NS)
        return false;
    t->seed = t->seed * 1103515245u + 12345u;
    int64_t ns = t->pause / 2 + t->pause * (int64_t)(t->seed >> 16 & 0xff) / 256;
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
    t->pause = t->pause < 100000000 ? t->pause * 2 : t->pause;
    return true;
}

struct attempt {
    struct meta *m;
    const char *workspace;
    bool write;
    enum meta_begin how;
    int (*fn)(struct meta_tx *tx, void *arg, struct err *e);
    void *arg;
};

/* Runs a transaction once: 0, an error, or META_AGAIN. *lost: there was no connection. */
static int attempt_once(const struct attempt *a, bool *lost, struct err *e)
{
    struct pool *p = pool_for(a->m, a->write);
    struct meta_tx tx = {a->m, NULL, a->workspace};
    int rc = pool_take(a->m, p, &tx.conn, e);
    *lost = rc == GPUFL_E_IO || rc == GPUFL_E_UNAVAILABLE;
    if (rc)
        return rc;
    const struct meta_engine *engine = a->m->engine;
    if (!a->write) {
        rc = a->fn(&tx, a->arg, e);
    } else if ((rc = engine->begin(tx.conn, a->how, e)) == 0) {
        if ((rc = a->fn(&tx, a->arg, e)) == 0)
            rc = engine->commit(tx.conn, e);
        if (rc)
            engine->rollback(tx.conn);
    }
    pool_give(a->m, p, tx.conn);
    return rc;
}

/* Runs it until it is done. A database that cannot be reached is waited for only if it was
 * reachable before: it may restart. Otherwise the address may be wrong. */
static int attempt_run(const struct attempt *a, struct err *e)
{
    struct tries tries = {0};
    bool lost = false, began = false;
    for (;;) {
        int rc = attempt_once(a, &lost, e);
        if (rc != META_AGAIN && !(lost && began))
            return rc;
        began = true;
        if (!try_again(&tries))
            return rc != META_AGAIN
                       ? rc
                       : err_set(
                             e, GPUFL_E_TIMEOUT,
                             "other writers changed these rows for too long, or the connection to "
                             "the small tables broke again and again");
    }
}

/* This is the transaction of meta_together in which this thread is; else NULL. */
static _Thread_local const struct meta_tx *joined;

struct together {
    int (*fn)(void *arg, struct err *e);
    void *arg;
};

static int together_run(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct together *t = arg;
    const struct meta_tx *outer = joined;
    joined = tx;
    int rc = t->fn(t->arg, e);
    joined = outer;
    return rc;
}

int meta_together(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg, struct err *e)
{
    struct together t = {fn, arg};
    return meta_write(m, NULL, together_run, &t, e);
}

int meta_together_sums(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg,
                       struct err *e)
{
    struct together t = {fn, arg};
    return meta_write_sums(m, NULL, together_run, &t, e);
}

/* Runs it as a part of this thread's transaction of meta_together, or as a transaction. */
static int attempt_join(const struct attempt *a, struct err *e)
{
    if (!joined || joined->m != a->m)
        return attempt_run(a, e);
    struct meta_tx inner = {a->m, joined->conn, a->workspace};
    return a->fn(&inner, a->arg, e);
}

int meta_write(struct meta *m, const char *workspace,
               int (*fn)(struct meta_tx *tx, void *arg, struct err *e), void *arg, struct err *e)
{
    const struct attempt a = {m, workspace, true, META_BEGIN, fn, arg};
    return attempt_join(&a, e);
}

int meta_write_sums(struct meta *m, const char *workspace,
                    int (*fn)(struct meta_tx *tx, void *arg, struct err *e), void *arg,
                    struct err *e)
{
    const struct attempt a = {m, workspace, true, META_BEGIN_SUMS, fn, arg};
    return attempt_join(&a, e);
}

struct single {
    enum meta_statement_id s;
    const struct meta_args *args;
    int64_t *changed;
};

static int single_run(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct single *s = arg;
    return meta_run(tx, s->s, s->args, NULL, s->changed, e);
}

int meta_change(struct meta *m, const char *workspace, enum meta_statement_id s,
                const struct meta_args *a, int64_t *changed, struct err *e)
{
    struct single one = {s, a, changed};
    return meta_write(m, workspace, single_run, &one, e);
}

int meta_change_one(struct meta *m, const char *workspace, enum meta_statement_id s,
                    const struct meta_args *a, const char *what, struct err *e)
{
    int64_t changed = 0;
    int rc = meta_change(m, workspace, s, a, &changed, e);
    if (rc == 0 && changed == 0)
        rc = err_set(e, GPUFL_E_NOENT, "no such %s", what);
    return rc;
}

int meta_read(struct meta *m, const char *workspace,
              int (*fn)(struct meta_tx *tx, void *arg, struct err *e), void *arg, struct err *e)
{
    const struct attempt a = {m, workspace, false, META_BEGIN, fn, arg};
    return attempt_run(&a, e);
}

/* ---- open, close -------------------------------------------------------------------------- */

static const struct meta_engine *engine_for(const struct meta_config *c, struct err *e)
{
    if (!c->url && c->path && *c->path && c->path[0] != ':')
        return &meta_engine_sqlite;
    if (!c->url) {
        err_set(e, GPUFL_E_INVAL, "the small tables need the path of a file, or postgres://…");
        return NULL;
    }
#if GPUFL_POSTGRES
    if (strncmp(c->url, "postgres://", 11) == 0 || strncmp(c->url, "postgresql://", 13) == 0)
        return &meta_engine_postgres;
    err_set(e, GPUFL_E_INVAL, "the small tables' address does not begin with postgres://");
#else
    err_set(
        e, GPUFL_E_NOT_BUILT,
        "this gpufl-server was built without PostgreSQL (libpq): the small tables can only be a "
        "file");
#endif
    return NULL;
}

static int sql_expand_all(struct meta *m, struct err *e)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    int rc = 0;
    for (unsigned i = 0; i < META_S_COUNT && rc == 0; i++) {
        buf_clear(&out);
        rc = meta_sql_expand(meta_statements[i].sql, &out);
        if (rc == 0 && !(m->sql[i] = mem_strdup(buf_cstr(&out))))
            rc = GPUFL_E_NOMEM;
        if (rc)
            err_set(e, rc, "statement %s: %s", meta_statements[i].id, err_text(rc));
    }
    buf_fini(&out);
    return rc;
}

static int schema_prepare(struct meta *m, struct err *e)
{
    struct tries tries = {0};
    struct pool *p = pool_for(m, true);
    int rc = 0;
    do {
        struct meta_conn *conn = NULL;
        rc = pool_take(m, p, &conn, e);
        if (rc == 0) {
            rc = meta_migrate(m->engine, conn, 0, m->config.migrate, e);
            pool_give(m, p, conn);
        }
    } while (rc == META_AGAIN && try_again(&tries));
    return rc == META_AGAIN
               ? err_set(
                     e, GPUFL_E_TIMEOUT,
                     "other processes hold the small tables, or every connection to them breaks")
               : rc;
}

int meta_open(struct meta **out, const struct meta_config *c, struct err *e)
{
    *out = NULL;
    const struct meta_engine *engine = engine_for(c, e);
    if (!engine)
        return c->url && !meta_has_postgres() ? GPUFL_E_NOT_BUILT : GPUFL_E_INVAL;
    struct meta *m = mem_zalloc(sizeof *m);
    if (!m)
        return err_nomem(e);
    m->engine = engine;
    unsigned most = c->connections ? c->connections : engine->one_writer ? 4 : 8;
    if (pool_init(&m->read, most, !engine->one_writer)) {
        mem_free(m);
        return err_nomem(e);
    }
    if (pool_init(&m->write, 1, true)) {
        pool_fini(&m->read, engine);
        mem_free(m);
        return err_nomem(e);
    }
    m->config = *c;
    m->config.path = c->path ? mem_strdup(c->path) : NULL;
    m->config.url = c->url ? mem_strdup(c->url) : NULL;
    int rc = 0;
    if ((c->path && !m->config.path) || (c->url && !m->config.url))
        rc = err_nomem(e);
    else if ((rc = sql_expand_all(m, e)) == 0)
        rc = schema_prepare(m, e);
    if (rc) {
        meta_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

void meta_close(struct meta *m)
{
    if (!m)
        return;
    pool_fini(&m->read, m->engine);
    pool_fini(&m->write, m->engine);
    for (unsigned i = 0; i < META_S_COUNT; i++)
        mem_free(m->sql[i]);
    mem_free((char *)m->config.path);
    mem_free((char *)m->config.url);
    mem_free(m);
}

const char *meta_engine(const struct meta *m)
{
    return m->engine->name;
}

bool meta_one_writer(const struct meta *m)
{
    return m->engine->one_writer;
}

bool meta_has_postgres(void)
{
    return GPUFL_POSTGRES;
}

/* ---- as a whole --------------------------------------------------------------------------- */

static int check_run(struct meta_tx *tx, void *arg, struct err *e)
{
    (void)arg;
    return tx->m->engine->check(tx->conn, e);
}

int meta_check(struct meta *m, struct err *e)
{
    return meta_read(m, NULL, check_run, NULL, e);
}

static int backup_run(struct meta_tx *tx, void *arg, struct err *e)
{
    return tx->m->engine->backup(tx->conn, arg, e);
}

int meta_backup(struct meta *m, const char *path, struct err *e)
{
    return meta_read(m, NULL, backup_run, (void *)path, e);
}

int meta_ping(struct meta *m, struct err *e)
{
    int64_t version = 0;
    int rc = meta_number(m, NULL, META_S_ping, NULL, &version, e);
    if (rc == 0 && version != meta_version())
        rc = err_set(e, GPUFL_E_STATE,
                     "the schema changed to %lld while this server ran: restart it",
                     (long long)version);
    return rc;
}

/* session.c - finds, makes, releases and deletes sessions.
 *
 * A session here is little: its number, its references, and its writer's state. It stays after the
 * last put until others need the room; the one used longest ago goes first.
 *
 * A deleted session gets a last commit that says so. When it has no more readers, its rows are
 * removed (sweep.c); after a process was killed, the next one removes them. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void click_session_name(struct store_session *ss, struct store *s, struct workspace *w,
                        const char *id)
{
    memset(ss, 0, sizeof *ss);
    ss->store = s;
    ss->workspace = w;
    snprintf(ss->at.id, sizeof ss->at.id, "%s", id);
    snprintf(ss->at.workspace, sizeof ss->at.workspace, "%s", w->name);
    ss->key = place_key(id);
    ss->host = place_host(ss->key, s->links.place.host_count);
    ss->seen = -1;
}

/* ---- its size -------------------------------------------------------------------------------- */

/* Says for how many ns the sizes of tables are not asked for again; a session's size is estimated
 * from them. */
#define SIZES_NS INT64_C(5000000000)

static int take_sizes(void *arg, const struct page *p)
{
    struct place_sizes *sizes = arg;
    for (size_t i = 0; i < p->rows; i++) {
        int place = place_find(page_text(p, 0, i));
        if (place < 0)
            continue;
        sizes->rows[place] = page_int(p, 1, i);
        sizes->bytes[place] = page_int(p, 2, i);
    }
    return 0;
}

static int read_sizes(const struct store_session *ss, struct place_sizes *out, struct err *e)
{
    char name[2 * STORE_ID_MAX + 16];
    struct buf text;
    buf_init(&text, 4096);
    snprintf(name, sizeof name, "%s_%s", ss->store->links.place.prefix, ss->workspace->name);
    buf_str(&text, "SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND "
                   "database = ");
    literal_text(&text, name, strlen(name));
    buf_str(&text, " GROUP BY table FORMAT Native");
    *out = (struct place_sizes){.at = clock_mono()};
    int rc = link_ask(&ss->store->links, ss->host,
                      &(struct link_question){text.data, text.len, take_sizes, out, 0}, e);
    buf_fini(&text);
    return rc;
}

/* Returns true if the sizes are recent and include all tables in which the session has rows. */
static bool sizes_fit(const struct place_sizes *sizes, const int64_t rows[TABLE_COUNT])
{
    bool fit = sizes->at && clock_mono() - sizes->at < SIZES_NS;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        fit &= sizes->rows[i] >= rows[i];
    return fit;
}

/* Estimates the bytes of a session by its share of the rows, since sessions share parts. */
static int find_share(const struct store_session *ss, const struct state *t, int64_t *bytes,
                      struct err *e)
{
    struct workspace *w = ss->workspace;
    struct place_sizes now;
    int64_t rows[TABLE_COUNT] = {0};
    double share = 0;
    int rc = 0;
    state_add_rows(t, rows);
    pthread_mutex_lock(&w->sizes_lock);
    now = w->sizes[ss->host];
    pthread_mutex_unlock(&w->sizes_lock);
    if (!sizes_fit(&now, rows)) {
        rc = read_sizes(ss, &now, e);
        pthread_mutex_lock(&w->sizes_lock);
        if (rc == 0)
            w->sizes[ss->host] = now;
        pthread_mutex_unlock(&w->sizes_lock);
    }
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        if (now.rows[i] > 0)
            share += (double)now.bytes[i] * ((double)rows[i] / (double)now.rows[i]);
    *bytes = (int64_t)share;
    return rc;
}

/* ---- sessions on the server ------------------------------------------------------------------ */

/* Makes a first commit without rows, numbered after everything before, unless another process made
 * one. */
static int make_in(const struct store_session *ss, struct err *e)
{
    struct state was, t;
    state_init(&was);
    state_init(&t);
    int rc = state_read(ss, &was, e);
    bool there = !rc && was.kind != STATE_DROPPED, new = rc == GPUFL_E_NOENT;
    t.kind = STATE_MADE;
    t.commit = rc ? 0 : was.commit;
    t.commit = state_number(&t);
    rc = new ? 0 : rc;
    if (!rc && !there && !(new &&known_make(ss, &t)))
        rc = state_write(ss, &t, e);
    state_fini(&was);
    state_fini(&t);
    return rc;
}

static int make(const struct store_session *ss, struct err *e)
{
    int rc = place_ready(ss->store, ss->workspace, TABLE_position, e);
    if (rc == 0)
        rc = turn_take(ss, e);
    if (rc)
        return rc;
    rc = make_in(ss, e);
    int given = turn_give(ss, rc ? NULL : e);
    return rc ? rc : given;
}

/* Adds the present columns to the tables in which the session has rows. */
static int refresh(const struct store_session *ss, const struct state *t, struct err *e)
{
    int rc = 0;
    int64_t rows[TABLE_COUNT] = {0};
    state_add_rows(t, rows);
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        if (rows[i])
            rc = place_ready(ss->store, ss->workspace, i, e);
    return rc;
}

static int open_session(const struct store_session *ss, bool create, struct err *e)
{
    struct state t;
    state_init(&t);
    int rc = state_read(ss, &t, e);
    bool gone = !rc && t.kind == STATE_DROPPED;
    if (rc == GPUFL_E_NOENT)
        known_read(ss, NULL);
    if (gone && create)
        rc = sweep_session(ss, &t, e);
    if (!rc && gone && !create)
        rc = session_absent(ss->at.id, e);
    if ((rc == GPUFL_E_NOENT && create) || (!rc && gone))
        rc = make(ss, e);
    else if (!rc)
        rc = refresh(ss, &t, e);
    state_fini(&t);
    return rc;
}

/* The commit of a session with damaged rows can be read; the flag lets a writer that would continue
 * the session fail. */
int click_session_note(struct store_session *ss, int rc)
{
    if (rc == GPUFL_E_CORRUPT)
        atomic_store_explicit(&ss->damaged, true, memory_order_relaxed);
    return rc;
}

/* ---- closed ---------------------------------------------------------------------------------- */

void click_session_close(struct listed *at)
{
    struct store_session *ss = (struct store_session *)at;
    if (ss->dropped)
        sweep_ask(ss->store, ss->workspace);
    else
        known_settle(ss);
}

void click_session_free(struct listed *at)
{
    struct store_session *ss = (struct store_session *)at;
    click_write_close(ss);
    known_close(ss);
    pthread_mutex_destroy(&ss->write_lock);
    mem_free(ss);
}

/* ---- get and put ----------------------------------------------------------------------------- */

/* Attaches a session. [store.open.lock held; released while the server is asked] */
static int attach(struct store *s, struct workspace *w, const char *id, bool create,
                  struct store_session **out, struct err *e)
{
    struct store_session *ss = mem_zalloc(sizeof *ss);
    if (!ss)
        return err_nomem(e);
    click_session_name(ss, s, w, id);
    int rc = s->alone ? known_open(ss, e) : 0;
    if (rc) {
        mem_free(ss);
        return rc;
    }
    pthread_mutex_init(&ss->write_lock, NULL);
    session_list_add(&s->open, &ss->at);
    pthread_mutex_unlock(&s->open.lock);
    rc = open_session(ss, create, e);
    pthread_mutex_lock(&s->open.lock);
    session_list_opened(&s->open, &ss->at);
    if (rc) {
        session_list_remove(&s->open, &ss->at);
        click_session_free(&ss->at);
        return rc;
    }
    *out = ss;
    return 0;
}

/* Takes a reference to an open session. [store.open.lock held] */
static int take(struct store *s, struct store_session *ss, bool create, struct store_session **out,
                struct err *e)
{
    if (ss->dropped)
        return session_going(ss->at.id, create, e);
    ss->at.refs++;
    session_list_used(&s->open, &ss->at);
    *out = ss;
    return 0;
}

int click_session_get(struct store *s, const char *workspace, const char *session, bool create,
                      struct store_session **out, struct err *e)
{
    *out = NULL;
    int rc = session_check_ids(workspace, session, e);
    if (rc)
        return rc;
    struct workspace *w = workspace_of(s, workspace);
    if (!w)
        return err_nomem(e);
    pthread_mutex_lock(&s->open.lock);
    struct listed *at = session_list_find_settled(&s->open, workspace, session);
    if (!at) {
        session_list_make_room(&s->open);
        at = session_list_find_settled(&s->open, workspace, session);
    }
    rc = at ? take(s, (struct store_session *)at, create, out, e)
            : attach(s, w, session, create, out, e);
    pthread_mutex_unlock(&s->open.lock);
    return rc;
}

void click_session_put(struct store_session *ss)
{
    struct session_list *open = &ss->store->open;
    pthread_mutex_lock(&open->lock);
    if (!--ss->at.refs && (ss->dropped || open->count > open->most))
        session_list_close(open, &ss->at);
    pthread_mutex_unlock(&open->lock);
}

/* ---- size, deletion, final form -------------------------------------------------------------- */

/* Takes a reference to an open session; NULL: it is not open. */
static struct store_session *take_open(struct store *s, const char *workspace, const char *session)
{
    pthread_mutex_lock(&s->open.lock);
    struct store_session *ss =
        (struct store_session *)session_list_find_settled(&s->open, workspace, session);
    if (ss)
        ss->at.refs++;
    pthread_mutex_unlock(&s->open.lock);
    return ss;
}

void click_session_forget(struct store *s, const char *workspace, const char *session)
{
    struct store_session *ss = take_open(s, workspace, session);
    if (!ss)
        return;
    known_forget(ss);
    click_session_put(ss);
}

int click_session_size(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                       struct err *e)
{
    struct store_session *ss, alone;
    struct state t;
    *bytes = 0;
    int rc = session_check_ids(workspace, session, e);
    struct workspace *w = rc ? NULL : workspace_of(s, workspace);
    if (rc || !w)
        return rc ? rc : err_nomem(e);
    ss = take_open(s, workspace, session);
    click_session_name(&alone, s, w, session);
    state_init(&t);
    rc = state_read(ss ? ss : &alone, &t, e);
    if (!rc && t.kind == STATE_DROPPED)
        rc = session_absent(session, e);
    if (rc == 0)
        rc = find_share(&alone, &t, bytes, e);
    state_fini(&t);
    if (ss)
        click_session_put(ss);
    return rc;
}

static int end_in(const struct store_session *ss, struct err *e)
{
    struct state t;
    state_init(&t);
    int rc = state_read(ss, &t, e);
    if (!rc && t.kind == STATE_DROPPED)
        rc = session_absent(ss->at.id, e);
    if (!rc) {
        t.kind = STATE_DROPPED;
        t.commit = state_number(&t);
        rc = state_write(ss, &t, e);
    }
    state_fini(&t);
    return rc ? rc : click_aside_end(ss, e);
}

/* Writes the commit that deletes a session; present readers still see the rows. */
static int end(const struct store_session *ss, struct err *e)
{
    int rc = turn_take(ss, e);
    if (rc)
        return rc;
    rc = end_in(ss, e);
    int given = turn_give(ss, rc ? NULL : e);
    return rc ? rc : given;
}

int click_session_drop(struct store *s, const char *workspace, const char *session, struct err *e)
{
    struct store_session *ss, alone;
    int rc = session_check_ids(workspace, session, e);
    struct workspace *w = rc ? NULL : workspace_of(s, workspace);
    if (rc || !w)
        return rc ? rc : err_nomem(e);
    pthread_mutex_lock(&s->open.lock);
    ss = (struct store_session *)session_list_find_settled(&s->open, workspace, session);
    if (ss && ss->dropped) {
        rc = session_absent(session, e);
        ss = NULL;
    } else if (ss) {
        ss->at.refs++;
    }
    pthread_mutex_unlock(&s->open.lock);
    if (rc)
        return rc;
    click_session_name(&alone, s, w, session);
    rc = end(ss ? ss : &alone, e);
    if (ss) {
        ss->dropped = !rc;
        click_session_put(ss); /* the last put removes the rows */
    } else if (!rc) {
        click_session_forget(s, workspace, session);
        sweep_ask(s, w);
    }
    return rc;
}

static int settle(struct store_session *ss, struct err *e)
{
    int rc = turn_take(ss, e);
    if (rc)
        return rc == GPUFL_E_BUSY ? 0 : rc; /* the writer will settle it */
    rc = click_tidy_session(ss, e);
    int given = turn_give(ss, rc ? NULL : e);
    return rc ? rc : given;
}

int click_session_settle(struct store_session *ss, struct err *e)
{
    if (pthread_mutex_trylock(&ss->write_lock))
        return 0; /* committed rows are in their final form; ClickHouse merges by itself */
    int rc = ss->dropped ? 0 : settle(ss, e);
    pthread_mutex_unlock(&ss->write_lock);
    return rc;
}

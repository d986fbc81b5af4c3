/* session.c - sessions: found, made, let go of, deleted.
 *
 * What is kept of one here is little: its number, who has it, and what its writer remembers. It
 * stays after the last put until others need the room, the one used longest ago first.
 *
 * A session that is deleted gets a last commit that says so, and, when nobody reads it any more, its
 * partitions are dropped; whoever finds such a commit later (the one who wrote it was killed)
 * drops them. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int no_memory(struct err *e)
{
    return err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
}

static int absent(const char *session, struct err *e)
{
    return err_set(e, GPUFL_E_NOENT, "there is no session %.64s", session);
}

static int check_ids(const char *workspace, const char *session, struct err *e)
{
    if (store_id_ok(workspace) && store_id_ok(session))
        return 0;
    return err_set(e, GPUFL_E_INVAL,
                   "a workspace and a session are named by letters, digits, - and _, at most %d "
                   "of them",
                   STORE_ID_MAX - 1);
}

/* A session by itself, in no list. */
static void name_session(struct store_session *ss, struct store *s, struct workspace *w,
                         const char *id)
{
    memset(ss, 0, sizeof *ss);
    ss->store = s;
    ss->workspace = w;
    snprintf(ss->id, sizeof ss->id, "%s", id);
    ss->key = place_key(id);
    ss->host = place_host(ss->key, s->links.place.host_count);
    ss->seen = -1;
}

/* ---- its partitions --------------------------------------------------------------------------- */

struct parts {
    int64_t bytes;
    char tables[TABLE_COUNT * 2][LINK_NAME_MAX]; /* those of a newer version as well */
    unsigned count;
};

static int take_parts(void *arg, const struct page *p)
{
    struct parts *all = arg;
    for (size_t i = 0; i < p->rows; i++) {
        struct store_text name = page_text(p, 0, i);
        all->bytes += page_int(p, 1, i);
        if (all->count < TABLE_COUNT * 2)
            snprintf(all->tables[all->count++], LINK_NAME_MAX, "%.*s", (int)name.len, name.at);
    }
    return 0;
}

static int find_parts(const struct store_session *ss, struct parts *all, struct err *e)
{
    char name[2 * STORE_ID_MAX + 16];
    struct buf text;
    memset(all, 0, sizeof *all);
    buf_init(&text, 4096);
    snprintf(name, sizeof name, "%s_%s", ss->store->links.place.prefix, ss->workspace->name);
    buf_str(&text,
            "SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active AND database = ");
    literal_text(&text, name, strlen(name));
    buf_printf(&text, " AND partition = '%" PRIu64 "' GROUP BY table FORMAT Native", ss->key);
    int code = link_ask(&ss->store->links, ss->host, text.data, text.len, 0, take_parts, all, e);
    buf_fini(&text);
    return code;
}

static int drop_parts(const struct store_session *ss, struct err *e)
{
    struct parts all;
    struct buf text;
    int code = find_parts(ss, &all, e);
    buf_init(&text, 4096);
    for (unsigned i = 0; !code && i < all.count; i++) {
        buf_clear(&text);
        buf_str(&text, "ALTER TABLE ");
        place_put(&text, ss->store, ss->workspace->name, all.tables[i]);
        buf_printf(&text, " DROP PARTITION %" PRIu64, ss->key);
        code = link_do(&ss->store->links, ss->host, buf_cstr(&text), e);
    }
    buf_fini(&text);
    return code;
}

/* ---- made and found on the server ------------------------------------------------------------ */

/* A first commit, without rows, behind all that came before it. */
static int make(const struct store_session *ss, int64_t after, struct err *e)
{
    struct state t;
    state_init(&t);
    t.kind = STATE_MADE;
    t.commit = after;
    t.commit = state_number(&t);
    int code = place_ready(ss->store, ss->workspace, TABLE_position, e);
    code = code ? code : state_write(ss, &t, e);
    state_fini(&t);
    return code;
}

/* Tables with rows of the session get the columns of today. */
static int refresh(const struct store_session *ss, const struct state *t, struct err *e)
{
    int code = 0;
    for (unsigned i = 0; !code && i < TABLE_COUNT; i++)
        if (t->rows[i])
            code = place_ready(ss->store, ss->workspace, place_of(i), e);
    return code;
}

static int open_session(const struct store_session *ss, bool create, struct err *e)
{
    struct state t;
    state_init(&t);
    int code = state_read(ss, &t, e);
    bool gone = !code && t.kind == STATE_DROPPED;
    if (gone)
        code = drop_parts(ss, e);
    if (!code && gone && !create)
        code = absent(ss->id, e);
    if ((code == GPUFL_E_NOENT && create) || (!code && gone))
        code = make(ss, gone ? t.commit : 0, e);
    else if (!code)
        code = refresh(ss, &t, e);
    state_fini(&t);
    return code;
}

/* ---- the list ------------------------------------------------------------------------------ */

/* [store.lock held] */
static struct store_session *find(struct store *s, const char *workspace, const char *id)
{
    for (struct store_session *ss = s->sessions; ss; ss = ss->next)
        if (!strcmp(ss->id, id) && !strcmp(ss->workspace->name, workspace))
            return ss;
    return NULL;
}

static void unlink_session(struct store *s, struct store_session *ss)
{
    struct store_session **at = &s->sessions;
    while (*at != ss)
        at = &(*at)->next;
    *at = ss->next;
    s->attached--;
}

static void free_session(struct store_session *ss)
{
    click_write_close(ss);
    pthread_mutex_destroy(&ss->write_lock);
    mem_free(ss);
}

/* Lets go of one that nobody has. [store.lock held; let go of meanwhile] */
static void close_session(struct store *s, struct store_session *ss)
{
    ss->state = SESSION_CLOSING;
    pthread_mutex_unlock(&s->lock);
    if (ss->dropped)
        drop_parts(ss, NULL); /* where that fails, whoever asks for it next does it */
    pthread_mutex_lock(&s->lock);
    unlink_session(s, ss);
    pthread_cond_broadcast(&s->changed);
    free_session(ss);
}

/* [store.lock held; let go of] */
static void make_room(struct store *s)
{
    while (s->attached >= s->attached_most) {
        struct store_session *last = NULL;
        for (struct store_session *ss = s->sessions; ss; ss = ss->next)
            if (!ss->refs && ss->state == SESSION_OPEN)
                last = ss;
        if (!last)
            return;
        close_session(s, last);
    }
}

void click_session_close_all(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->sessions)
        close_session(s, s->sessions);
    pthread_mutex_unlock(&s->lock);
}

/* ---- get and put ---------------------------------------------------------------------------- */

/* [store.lock held; let go of while the server is asked] */
static int attach(struct store *s, struct workspace *w, const char *id, bool create,
                  struct store_session **out, struct err *e)
{
    struct store_session *ss = mem_zalloc(sizeof *ss);
    if (!ss)
        return no_memory(e);
    name_session(ss, s, w, id);
    pthread_mutex_init(&ss->write_lock, NULL);
    ss->refs = 1;
    ss->state = SESSION_OPENING;
    ss->next = s->sessions;
    s->sessions = ss;
    s->attached++;
    pthread_mutex_unlock(&s->lock);
    int code = open_session(ss, create, e);
    pthread_mutex_lock(&s->lock);
    ss->state = SESSION_OPEN;
    pthread_cond_broadcast(&s->changed);
    if (code) {
        unlink_session(s, ss);
        free_session(ss);
        return code;
    }
    *out = ss;
    return 0;
}

/* One that is open, with a reference. [store.lock held; let go of] */
static int take(struct store *s, struct store_session *ss, bool create, struct store_session **out,
                struct err *e)
{
    if (ss->dropped)
        return create ? err_set(e, GPUFL_E_BUSY,
                                "session %s is being deleted and still read; try again", ss->id)
                      : absent(ss->id, e);
    ss->refs++;
    unlink_session(s, ss);
    ss->next = s->sessions;
    s->sessions = ss;
    s->attached++;
    *out = ss;
    return 0;
}

/* [store.lock held; let go of] */
static struct store_session *find_settled(struct store *s, const char *workspace, const char *id)
{
    struct store_session *ss;
    while ((ss = find(s, workspace, id)) && ss->state != SESSION_OPEN)
        pthread_cond_wait(&s->changed, &s->lock);
    return ss;
}

int click_session_get(struct store *s, const char *workspace, const char *session, bool create,
                      struct store_session **out, struct err *e)
{
    *out = NULL;
    int code = check_ids(workspace, session, e);
    if (code)
        return code;
    struct workspace *w = workspace_of(s, workspace);
    if (!w)
        return no_memory(e);
    pthread_mutex_lock(&s->lock);
    struct store_session *ss = find_settled(s, workspace, session);
    if (!ss) {
        make_room(s);
        ss = find_settled(s, workspace, session);
    }
    code = ss ? take(s, ss, create, out, e) : attach(s, w, session, create, out, e);
    pthread_mutex_unlock(&s->lock);
    return code;
}

void click_session_put(struct store_session *ss)
{
    struct store *s = ss->store;
    pthread_mutex_lock(&s->lock);
    if (!--ss->refs && (ss->dropped || s->attached > s->attached_most))
        close_session(s, ss);
    pthread_mutex_unlock(&s->lock);
}

/* ---- size, deletion, final form -------------------------------------------------------------- */

int click_session_size(struct store *s, const char *workspace, const char *session, int64_t *bytes,
                       struct err *e)
{
    struct store_session ss;
    struct parts all;
    struct state t;
    *bytes = 0;
    int code = check_ids(workspace, session, e);
    struct workspace *w = code ? NULL : workspace_of(s, workspace);
    if (code || !w)
        return code ? code : no_memory(e);
    name_session(&ss, s, w, session);
    state_init(&t);
    code = state_read(&ss, &t, e);
    if (!code && t.kind == STATE_DROPPED)
        code = absent(session, e);
    state_fini(&t);
    code = code ? code : find_parts(&ss, &all, e);
    if (!code)
        *bytes = all.bytes;
    return code;
}

/* The commit that ends a session; whoever reads it still sees the rows. */
static int end(const struct store_session *ss, struct err *e)
{
    struct state t;
    state_init(&t);
    int code = state_read(ss, &t, e);
    if (!code && t.kind == STATE_DROPPED)
        code = absent(ss->id, e);
    if (!code) {
        t.kind = STATE_DROPPED;
        t.commit = state_number(&t);
        code = state_write(ss, &t, e);
    }
    state_fini(&t);
    return code;
}

int click_session_drop(struct store *s, const char *workspace, const char *session, struct err *e)
{
    struct store_session *ss, alone;
    int code = check_ids(workspace, session, e);
    struct workspace *w = code ? NULL : workspace_of(s, workspace);
    if (code || !w)
        return code ? code : no_memory(e);
    pthread_mutex_lock(&s->lock);
    ss = find_settled(s, workspace, session);
    if (ss && ss->dropped) {
        code = absent(session, e);
        ss = NULL;
    } else if (ss) {
        ss->refs++;
    }
    pthread_mutex_unlock(&s->lock);
    if (code)
        return code;
    name_session(&alone, s, w, session);
    code = end(ss ? ss : &alone, e);
    if (!ss)
        return code ? code : drop_parts(&alone, e);
    ss->dropped = !code;
    click_session_put(ss); /* the last one drops its partitions */
    return code;
}

int click_session_settle(struct store_session *ss, struct err *e)
{
    if (pthread_mutex_trylock(&ss->write_lock))
        return 0; /* what is committed is in its final form but for merges, which go on by themselves */
    int code = ss->dropped ? 0 : click_tidy_session(ss, e);
    pthread_mutex_unlock(&ss->write_lock);
    return code;
}

/* session.c - sessions: finds, makes, attaches, detaches and deletes their files.
 *
 * A session is in the store's list while its file is attached. A thread that attaches or detaches a
 * session sets an intermediate state, releases the lock while DuckDB works, and wakes the others. A
 * session without a reference stays attached until others need the room; the one used longest ago
 * is detached first. */
#include "store/duckdb/engine.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"
#include "store/duckdb/history.h"
#include "store/duckdb/session_twice.h"
#include "store/duckdb/small.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FORMAT = 1 /* layout of the files; kept in table about */ };

static const char history[] = ".history"; /* cannot be the id of a session, which has no dot */

/* ---- statements of a session --------------------------------------------------------------- */

void session_put_name(struct buf *b, const struct store_session *ss, const struct table *t)
{
    buf_printf(b, "%s.main.", ss->alias);
    sql_name(b, t->name);
}

void session_name(struct buf *b, const struct store_session *ss, unsigned table)
{
    session_put_name(b, ss, store_table(table));
}

const char *session_type(enum cell_type type)
{
    static const char *const names[] = {
        [CELL_INT] = "BIGINT",
        [CELL_REAL] = "DOUBLE",
        [CELL_TEXT] = "VARCHAR",
        [CELL_BYTES] = "BLOB",
    };
    return names[type];
}

void session_table(struct buf *b, const struct store_session *ss, unsigned table)
{
    const struct table *t = store_table(table);
    unsigned have = atomic_load_explicit(&ss->have[table], memory_order_relaxed);
    if (have >= t->column_count) {
        session_name(b, ss, table);
        return;
    }
    buf_str(b, have ? "(SELECT rowid, *" : "(SELECT 0 AS rowid");
    for (unsigned i = have; i < t->column_count; i++) {
        buf_printf(b, ", CAST(NULL AS %s) AS ", session_type(t->columns[i].type));
        sql_name(b, t->columns[i].name);
    }
    if (have) {
        buf_str(b, " FROM ");
        session_name(b, ss, table);
        buf_char(b, ')');
    } else {
        buf_str(b, " WHERE false)");
    }
}

static void add_columns(struct buf *b, const struct store_session *ss, const struct table *t,
                        unsigned have)
{
    for (unsigned i = have; i < t->column_count; i++) {
        buf_str(b, "ALTER TABLE ");
        session_put_name(b, ss, t);
        buf_str(b, " ADD COLUMN ");
        sql_name(b, t->columns[i].name);
        buf_printf(b, " %s;", session_type(t->columns[i].type));
    }
}

void session_make_table(struct buf *b, const struct store_session *ss, const struct table *t,
                        unsigned have)
{
    if (have) {
        add_columns(b, ss, t, have);
        return;
    }
    buf_str(b, "CREATE TABLE ");
    session_put_name(b, ss, t);
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_str(b, i ? ", " : " (");
        sql_name(b, t->columns[i].name);
        buf_printf(b, " %s", session_type(t->columns[i].type));
    }
    buf_str(b, ");");
}

void session_note_table(struct buf *b, const struct store_session *ss, unsigned table)
{
    buf_str(b, "INSERT INTO ");
    session_name(b, ss, TABLE_about);
    buf_str(b, " VALUES (");
    sql_literal(b, store_table(table)->name);
    buf_printf(b, ", %u);", store_table(table)->column_count);
}

/* ---- opening a file ------------------------------------------------------------------------ */

/* Makes table `about`, which lists the others, in a new file. */
static int make_file(struct store_session *ss, struct connection *c, struct err *e)
{
    struct buf text;
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "BEGIN;");
    session_make_table(&text, ss, store_table(TABLE_about), 0);
    buf_str(&text, "INSERT INTO ");
    session_name(&text, ss, TABLE_about);
    buf_printf(&text, " VALUES ('', %d);COMMIT", FORMAT);
    int rc = sql_run(ss->store->duck, c->handle, buf_cstr(&text), e);
    if (rc)
        engine_undo(ss->store, c);
    else
        ss->have[TABLE_about] = (unsigned char)store_table(TABLE_about)->column_count;
    buf_fini(&text);
    return rc;
}

static int foreign(const struct store_session *ss, const char *why, struct err *e)
{
    return err_set(e, GPUFL_E_CORRUPT,
                   "the file of session %s cannot be read: %.250s; delete the session, or put a "
                   "backup of %.64s/%.64s.duckdb back",
                   ss->at.id, why, ss->at.workspace, ss->at.id);
}

/* Returns true for an error of the process or the machine, which says nothing about the file. */
static bool is_shortage(int rc, const struct err *why)
{
    return rc == GPUFL_E_FULL || rc == GPUFL_E_NOMEM || rc == GPUFL_E_PERM ||
           rc == GPUFL_E_TIMEOUT || strstr(why->text, "Too many open files");
}

/* A file without table `about` is new, after a crash, or not one of ours. */
static int check_empty(struct store_session *ss, struct connection *c, bool *empty, struct err *e)
{
    struct sql q;
    struct sql_arg args[] = {SQL_TEXT(ss->alias, strlen(ss->alias))};
    int rc = sql_open(&q, ss->store->duck, c->handle,
                      &(struct sql_bound){
                          "SELECT count(*) FROM duckdb_tables() WHERE database_name = $1", args, 1},
                      e);
    int more = rc ? rc : sql_next(&q, e);
    *empty = more > 0 && sql_int(&q, 0, 0) == 0;
    sql_close(&q);
    return more < 0 ? more : 0;
}

static int take_about(struct store_session *ss, const struct sql *q, struct err *e)
{
    for (size_t i = 0; i < q->page.rows; i++) {
        struct store_text name = sql_text(q, 0, i);
        int64_t columns = sql_int(q, 1, i);
        int table = store_table_find(name.at, name.len);
        if (history_note(ss, name, columns))
            continue;
        if (!name.len && columns > FORMAT)
            return foreign(ss, "a newer version of this program wrote it", e);
        if (table >= 0 && columns > 0 && columns <= RECORD_MAX_COLUMNS)
            ss->have[table] = (unsigned char)columns;
    }
    return 0;
}

static int read_about(struct store_session *ss, struct connection *c, struct err *e)
{
    struct buf text;
    struct sql q;
    struct err why = {0};
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "SELECT name, max(columns) FROM ");
    session_name(&text, ss, TABLE_about);
    buf_str(&text, " GROUP BY name");
    int rc = sql_open(&q, ss->store->duck, c->handle, &(struct sql_bound){buf_cstr(&text), NULL, 0},
                      &why),
        more = 1;
    while (!rc && (more = sql_next(&q, &why)) > 0)
        rc = take_about(ss, &q, e);
    sql_close(&q);
    buf_fini(&text);
    if (rc && !*why.text)
        return rc;
    if (is_shortage(rc ? rc : more, &why))
        return err_set_vendor(e, rc ? rc : more, why.vendor, "%s", why.text);
    if (!rc && more == 0) {
        ss->have[TABLE_about] = (unsigned char)store_table(TABLE_about)->column_count;
        return 0;
    }
    rc = rc ? rc : more;
    if (rc != GPUFL_E_STATE && rc != GPUFL_E_CORRUPT)
        /* A passing error, which says nothing about the file. */
        return err_set(e, rc, "%s", why.text);
    bool empty = false;
    rc = check_empty(ss, c, &empty, e);
    if (rc)
        return rc;
    return empty ? make_file(ss, c, e) : foreign(ss, why.text, e);
}

/* The library keeps a detached file open until the last transaction that used the file has ended,
 * in any of its connections or threads. No call reports that moment, so it is polled. */
static int run_attach(struct store_session *ss, struct connection *c, const char *text,
                      struct err *why)
{
    static const struct timespec between = {0, 5000000};
    enum { TRIES = 1000 };
    int rc = 0;
    for (int i = 0; i < TRIES; i++) {
        rc = sql_run(ss->store->duck, c->handle, text, why);
        if (!rc || !strstr(why->text, "Unique file handle conflict"))
            return rc;
        atomic_fetch_add_explicit(&ss->store->held, 1, memory_order_relaxed);
        nanosleep(&between, NULL);
    }
    return rc;
}

static int attach(struct store_session *ss, const char *path, struct connection *c, struct err *e)
{
    struct buf text;
    struct err why = {0};
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "ATTACH ");
    sql_literal(&text, path);
    buf_printf(&text, " AS %s", ss->alias);
    int rc = run_attach(ss, c, buf_cstr(&text), &why);
    buf_fini(&text);
    if (!rc)
        return 0;
    if (is_shortage(rc, &why))
        return err_set_vendor(e, rc == GPUFL_E_IO ? GPUFL_E_NOMEM : rc, why.vendor, "%s", why.text);
    if (rc == GPUFL_E_BUSY)
        return err_set(e, rc, "the file of session %s is open elsewhere: %.250s", ss->at.id,
                       why.text);
    return rc == GPUFL_E_CORRUPT ? foreign(ss, why.text, e) : err_set(e, rc, "%s", why.text);
}

static int detach(struct store_session *ss, struct connection *c, struct err *e)
{
    char text[64];
    snprintf(text, sizeof text, "DETACH %s", ss->alias);
    return sql_run(ss->store->duck, c->handle, text, e);
}

/* A file that the library has written only in part cannot be opened again, and cannot be
 * distinguished from one that was cut later. So a file is made under another name and renamed when
 * it is complete; what a crash leaves under the other name is replaced the next time. */
static int create_file(struct store_session *ss, struct connection *c, struct err *e)
{
    char made[PATH_MAX + 8];
    snprintf(made, sizeof made, "%s.new", ss->path);
    int rc = session_remove_files(made, e);
    if (rc == 0)
        rc = attach(ss, made, c, e);
    if (rc == 0)
        rc = detach(ss, c, e);
    if (!rc && rename(made, ss->path))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "cannot rename %s", made);
    return rc;
}

static int open_file(struct store_session *ss, struct err *e)
{
    struct connection *c;
    int rc = engine_take(ss->store, &c, e);
    if (rc)
        return rc;
    engine_fit(ss->store, c);
    bool made = !file_exists(ss->path);
    rc = made ? create_file(ss, c, e) : 0;
    if (rc == 0)
        rc = attach(ss, ss->path, c, e);
    if (!rc) { /* asking whether it is empty would read all attached files, sound or not */
        rc = made ? make_file(ss, c, e) : read_about(ss, c, e);
        if (rc)
            detach(ss, c, NULL);
    }
    if (rc)
        engine_discard(ss->store, c);
    else
        engine_give(ss->store, c);
    return rc;
}

/* ---- closed -------------------------------------------------------------------------------- */

void session_free(struct listed *at)
{
    struct store_session *ss = (struct store_session *)at;
    write_close(ss);
    small_free(ss);
    pthread_mutex_destroy(&ss->write_lock);
    mem_free(ss->path);
    mem_free(ss);
}

void session_close(struct listed *at)
{
    struct store_session *ss = (struct store_session *)at;
    struct connection *c;
    if (ss->small) {
        small_close(ss);
        return;
    }
    write_close(ss);
    if (engine_take(ss->store, &c, NULL))
        return;
    if (!ss->dropped && !ss->broken)
        session_settle(ss, NULL);
    detach(ss, c, NULL);
    engine_give(ss->store, c);
}

/* ---- get and put --------------------------------------------------------------------------- */

/* Makes a session that is not in the list; NULL: out of memory. [store.open.lock held] */
static struct store_session *make_session(struct store *s, const char *workspace, const char *id,
                                          const char *path)
{
    struct store_session *ss = mem_zalloc(sizeof *ss);
    char *own = mem_strdup(path);
    if (!ss || !own) {
        mem_free(ss);
        mem_free(own);
        return NULL;
    }
    ss->store = s;
    ss->path = own;
    snprintf(ss->at.workspace, sizeof ss->at.workspace, "%s", workspace);
    snprintf(ss->at.id, sizeof ss->at.id, "%s", id);
    snprintf(ss->alias, sizeof ss->alias, "s%" PRIu64, ++s->aliases);
    pthread_mutex_init(&ss->write_lock, NULL);
    ss->sound_at = atomic_load_explicit(&sql_given_up, memory_order_relaxed);
    return ss;
}

/* Puts a session into the list, as being opened, with one reference; NULL: out of memory.
 * [store.open.lock held] */
static struct store_session *new_session(struct store *s, const char *workspace, const char *id,
                                         const char *path)
{
    struct store_session *ss = make_session(s, workspace, id, path);
    if (ss)
        session_list_add(&s->open, &ss->at);
    return ss;
}

/* Opens the file at path as a session that is not in the list. */
static int open_unlisted(struct store_session *small, const char *path, struct store_session **out,
                         struct err *e)
{
    struct store *s = small->store;
    pthread_mutex_lock(&s->open.lock);
    struct store_session *ss = make_session(s, small->at.workspace, small->at.id, path);
    pthread_mutex_unlock(&s->open.lock);
    *out = NULL;
    if (!ss)
        return err_nomem(e);
    int rc = open_file(ss, e);
    if (rc)
        session_free(&ss->at);
    else
        *out = ss;
    return rc;
}

int session_open_own(struct store_session *small, const char *path, struct store_session **out,
                     struct err *e)
{
    int rc = session_remove_current(path, e);
    *out = NULL;
    return rc ? rc : open_unlisted(small, path, out, e);
}

int session_open_file(struct store_session *small, struct store_session **out, struct err *e)
{
    return open_unlisted(small, small->path, out, e);
}

/* Opens a session that is in a pack, has a file, or is new and begins in a pack. */
static int open_any(struct store_session *ss, struct err *e)
{
    struct store *s = ss->store;
    struct packed_state state = {0};
    bool packed = packs_find(s->packs, ss->at.workspace, ss->at.id, &state);
    bool there = file_exists(ss->path);
    bool file = !packed && (there || !s->small_most || strcmp(ss->at.id, history) == 0);
    int rc = packed && there ? session_choose(ss, &file, e) : 0;
    if (!rc && file)
        return open_file(ss, e);
    if (!rc && !packed)
        rc = packs_make(s->packs, ss->at.workspace, ss->at.id, e);
    return rc ? rc : small_open(ss, e);
}

/* Opens a session. [store.open.lock held; released while the file is opened] */
static int open_session(struct store *s, const char *workspace, const char *id, const char *path,
                        struct store_session **out, struct err *e)
{
    struct store_session *ss = new_session(s, workspace, id, path);
    if (!ss)
        return err_nomem(e);
    pthread_mutex_unlock(&s->open.lock);
    int rc = open_any(ss, e);
    pthread_mutex_lock(&s->open.lock);
    session_list_opened(&s->open, &ss->at);
    if (!rc) {
        *out = ss;
        return 0;
    }
    session_list_remove(&s->open, &ss->at);
    session_free(&ss->at);
    return rc;
}

/* Finds an open session, or NULL, and makes room for one. [store.open.lock held; released
 * meanwhile] */
static struct store_session *find_settled(struct store *s, const char *workspace, const char *id)
{
    struct listed *at = session_list_find_settled(&s->open, workspace, id);
    if (!at) {
        session_list_make_room(&s->open);
        at = session_list_find_settled(&s->open, workspace, id);
    }
    return (struct store_session *)at;
}

static bool answers(struct store_session *ss)
{
    struct connection *c;
    char text[80];
    const struct store_session *file = small_file(ss);
    if (!file || engine_take(ss->store, &c, NULL))
        return true; /* other errors show elsewhere */
    snprintf(text, sizeof text, "SELECT name FROM %s.main.about LIMIT 1", file->alias);
    bool sound = !sql_run(ss->store->duck, c->handle, text, NULL);
    engine_give(ss->store, c);
    return sound;
}

/* Takes a reference to an open session. The library invalidates a file when a checkpoint fails (a
 * full disk). The file is then detached as soon as the session has no reference, and *again asks
 * the caller to look once more. [store.open.lock held; released meanwhile] */
static int take(struct store *s, struct store_session *ss, bool *again, struct err *e)
{
    unsigned given_up = atomic_load_explicit(&sql_given_up, memory_order_relaxed);
    ss->at.refs++;
    if (ss->sound_at != given_up) {
        pthread_mutex_unlock(&s->open.lock);
        bool sound = answers(ss);
        pthread_mutex_lock(&s->open.lock);
        ss->sound_at = sound ? given_up : ss->sound_at;
        ss->broken |= !sound;
    }
    if (!ss->broken) {
        session_list_used(&s->open, &ss->at);
        return 0;
    }
    if (--ss->at.refs)
        return err_set(e, GPUFL_E_BUSY,
                       "session %s could not be written and is opened again when its readers have "
                       "finished; try again",
                       ss->at.id);
    session_list_close(&s->open, &ss->at);
    *again = true;
    return 0;
}

bool session_exists(struct store *s, const char *workspace, const char *id, const char *path)
{
    struct packed_state state;
    return packs_find(s->packs, workspace, id, &state) || file_exists(path);
}

static int get(struct store *s, const char *workspace, const char *session, bool create,
               struct store_session **out, struct err *e)
{
    char path[PATH_MAX];
    struct store_session *ss;
    bool again;
    *out = NULL;
    int rc = session_path(s, workspace, session, create, path, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&s->open.lock);
    do {
        again = false;
        ss = find_settled(s, workspace, session);
        if (ss && (ss->dropped || ss->leaving)) {
            rc = session_going(session, create, e);
        } else if (ss) {
            rc = take(s, ss, &again, e);
            *out = rc || again ? NULL : ss;
        } else if (!create && !session_exists(s, workspace, session, path)) {
            rc = session_absent(session, e);
        } else {
            rc = open_session(s, workspace, session, path, out, e);
        }
    } while (again);
    pthread_mutex_unlock(&s->open.lock);
    return rc;
}

int session_get(struct store *s, const char *workspace, const char *session, bool create,
                struct store_session **out, struct err *e)
{
    *out = NULL;
    int rc = session_check_ids(workspace, session, e);
    return rc ? rc : get(s, workspace, session, create, out, e);
}

int session_get_history(struct store *s, const char *workspace, bool create,
                        struct store_session **out, struct err *e)
{
    *out = NULL;
    int rc = session_check_ids(workspace, "x", e);
    return rc ? rc : get(s, workspace, history, create, out, e);
}

void session_put(struct store_session *ss)
{
    struct store *s = ss->store;
    pthread_mutex_lock(&s->open.lock);
    if (!--ss->at.refs && (ss->dropped || ss->broken || s->open.count > s->open.most))
        session_list_close(&s->open, &ss->at);
    pthread_mutex_unlock(&s->open.lock);
}

struct store_session *session_reserve(struct store *s, const char *workspace, const char *id,
                                      const char *path)
{
    return new_session(s, workspace, id, path);
}

void session_unreserve(struct store_session *ss)
{
    session_list_remove(&ss->store->open, &ss->at);
    session_free(&ss->at);
}

/* ---- holding, for a copy of the files ------------------------------------------------------ */

int session_hold(struct store *s, const char *workspace, const char *id, struct store_session **out,
                 struct err *e)
{
    char path[PATH_MAX];
    struct store_session *ss;
    *out = NULL;
    int rc = session_path(s, workspace, id, false, path, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&s->open.lock);
    ss = (struct store_session *)session_list_find_settled(&s->open, workspace, id);
    if (ss && !ss->dropped && !ss->leaving)
        ss->at.refs++;
    else if (ss || !file_exists(path))
        rc = session_absent(id, e);
    else if (!(ss = session_reserve(s, workspace, id, path)))
        rc = err_nomem(e);
    pthread_mutex_unlock(&s->open.lock);
    if (rc || !ss)
        return rc;
    if (ss->at.state == SESSION_OPEN)
        pthread_mutex_lock(&ss->write_lock);
    *out = ss;
    return 0;
}

void session_unhold(struct store_session *ss)
{
    struct store *s = ss->store;
    if (ss->at.state == SESSION_OPEN) {
        pthread_mutex_unlock(&ss->write_lock);
        session_put(ss);
        return;
    }
    pthread_mutex_lock(&s->open.lock);
    session_unreserve(ss);
    pthread_mutex_unlock(&s->open.lock);
}

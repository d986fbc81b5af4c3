/* keep.c - keeps history, exports and backups, which outlive a session's rows. */
#include "store/duckdb/write.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/intern.h"
#include "store/duckdb/small.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEPT_MAX = 1 << 24 /* sessions; for more, rows are searched */ };

/* ---- history --------------------------------------------------------------------------------- */

static int put_history_row(struct rows *r, const struct store_chunk *c, size_t row,
                           const char *session, struct err *e)
{
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    rows_text(r, 0, session, strlen(session));
    for (unsigned i = 1; i < def->column_count; i++) {
        const struct store_vec *v = &c->columns[i];
        if (!store_known(v, row))
            rows_null(r, i);
        else if (def->columns[i].type == STORE_INT)
            rows_int(r, i, v->ints[row]);
        else if (def->columns[i].type == STORE_REAL)
            rows_real(r, i, v->reals[row]);
        else
            rows_text(r, i, v->texts[row].at, v->texts[row].len);
    }
    return rows_end(r, e);
}

/* Notes a session that has or may have rows. *news: it was not noted before. */
static int note_kept(struct writer *w, const char *session, size_t len, bool *news)
{
    const uint64_t hash = intern_hash(session, len);
    uint32_t index;
    bool added;
    int rc = keyed_put(&w->kept, &hash, &index, &added);
    *news = index && added;
    return rc;
}

static int read_kept(struct store_session *ss, struct err *e)
{
    struct writer *w = ss->writer;
    struct sql q;
    bool news;
    int more = 1;
    keyed_fini(&w->kept);
    keyed_init(&w->kept, sizeof(uint64_t), sizeof(uint64_t), KEPT_MAX);
    if (!ss->have[TABLE_history]) {
        w->kept_read = true;
        return 0;
    }
    buf_clear(&w->text);
    buf_str(&w->text, "SELECT DISTINCT session FROM ");
    session_name(&w->text, ss, TABLE_history);
    int rc = sql_open(&q, ss->store->duck, w->connection->handle,
                      &(struct sql_bound){buf_cstr(&w->text), NULL, 0}, e);
    while (!rc && (more = sql_next(&q, e)) > 0)
        for (size_t i = 0; !rc && i < q.page.rows; i++) {
            struct store_text id = sql_text(&q, 0, i);
            rc = note_kept(w, id.at, id.len, &news) ? err_nomem(e) : 0;
        }
    sql_close(&q);
    rc = rc ? rc : more;
    w->kept_read = rc == 0;
    return rc;
}

/* Rows of a session that has none yet are added without searching all rows. */
static int replace_history(struct store_session *ss, const char *session,
                           const struct store_chunk *c, struct err *e)
{
    struct writer *w = ss->writer;
    struct rows *r;
    bool news = false;
    int rc = w->kept_read ? 0 : read_kept(ss, e);
    if (!rc && note_kept(w, session, strlen(session), &news))
        rc = err_nomem(e);
    if (!rc && !news && ss->have[TABLE_history]) {
        const struct sql_arg of[] = {SQL_TEXT(session, strlen(session))};
        buf_clear(&w->text);
        buf_str(&w->text, "DELETE FROM ");
        session_name(&w->text, ss, TABLE_history);
        buf_str(&w->text, " WHERE session = $1");
        rc = sql_run_with(ss->store->duck, w->connection->handle, buf_cstr(&w->text), of, 1, e);
    }
    rc = rc || !c->rows ? rc : write_table(ss, TABLE_history, &r, e);
    for (size_t i = 0; !rc && i < c->rows; i++)
        rc = put_history_row(r, c, i, session, e);
    return rc;
}

static int history_ok(const struct store_history *h, struct err *e)
{
    const unsigned columns = store_queries[QUERY_kernel_history].column_count;
    if (!store_id_ok(h->session))
        return err_set(e, GPUFL_E_INVAL, "%.64s is no name of a session", h->session);
    if (h->rows->rows && h->rows->column_count != columns)
        return err_set(e, GPUFL_E_INVAL, "rows of history have %u columns", columns);
    return 0;
}

/* Keeps all in one transaction, because for a small session most of the cost is that of a
 * transaction and its write to the disk. */
int keep_history(struct store *s, const char *workspace, const struct store_history *of,
                 size_t count, struct err *e)
{
    struct store_session *ss;
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = history_ok(&of[i], e);
    if (rc == 0)
        rc = session_get_history(s, workspace, true, &ss, e);
    if (rc)
        return rc;
    rc = write_begin_waiting(ss, e);
    if (!rc) {
        for (size_t i = 0; !rc && i < count; i++)
            rc = replace_history(ss, of[i].session, of[i].rows, e);
        if (rc)
            write_rollback(ss);
        else
            rc = write_commit(ss, NULL, 0, e);
    }
    session_put(ss);
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int io_failed(const char *what, const char *path, struct err *e)
{
    int why = errno;
    return err_set_vendor(e, err_from_errno(why), why, "cannot %s %s", what, path);
}

static int copy_open(int from, const char *from_path, int to, const char *to_path, struct err *e)
{
    enum { STEP = 1 << 20 };
    char *room = mem_alloc(STEP);
    ssize_t n = 0;
    int rc = 0;
    if (!room)
        return err_nomem(e);
    while (!rc && (n = read(from, room, STEP)) > 0)
        if (file_write_all(to, room, (size_t)n))
            rc = io_failed("write", to_path, e);
    if (!rc && n < 0)
        rc = io_failed("read", from_path, e);
    if (!rc && fsync(to))
        rc = io_failed("write", to_path, e);
    mem_free(room);
    return rc;
}

/* Copies a file, if it exists. */
static int copy_file(const char *from_path, const char *to_path, struct err *e)
{
    int from = open(from_path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return errno == ENOENT ? 0 : io_failed("open", from_path, e);
    int to = open(to_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int rc = to < 0 ? io_failed("make", to_path, e) : copy_open(from, from_path, to, to_path, e);
    close(from);
    if (to >= 0 && close(to) && !rc)
        rc = io_failed("write", to_path, e);
    return rc;
}

int keep_copy(const char *from, const char *to, int64_t most, struct err *e)
{
    char log_from[PATH_MAX + 8], log_to[PATH_MAX + 8];
    snprintf(log_from, sizeof log_from, "%s.wal", from);
    snprintf(log_to, sizeof log_to, "%s.wal", to);
    int64_t log = file_size(log_from), size = file_size(from) + (log > 0 ? log : 0);
    if (size > most)
        return err_set(e, GPUFL_E_FULL,
                       "a session that is still being written, and has %" PRId64
                       " MiB, cannot be queried until it has ended",
                       size >> 20);
    int rc = copy_file(from, to, e);
    return rc ? rc : copy_file(log_from, log_to, e);
}

/* ---- Parquet --------------------------------------------------------------------------------- */

/* Puts the select of a record's rows, with texts instead of ids of names. */
static void parquet_text(struct buf *b, const struct small_reading *from, enum record_type type,
                         const char *path)
{
    const struct record *r = &records[type];
    buf_str(b, "COPY (SELECT ");
    for (unsigned i = 0; i < r->column_count; i++) {
        if (r->columns[i].ref == RECORD_name)
            buf_printf(b, "%sn%u.text AS ", i ? ", " : "", i);
        else
            buf_str(b, i ? ", r." : "r.");
        sql_name(b, r->columns[i].name);
    }
    buf_str(b, " FROM ");
    small_read_table(b, from, type);
    buf_str(b, " r");
    for (unsigned i = 0; i < r->column_count; i++) {
        if (r->columns[i].ref != RECORD_name)
            continue;
        buf_str(b, " LEFT JOIN ");
        small_read_table(b, from, TABLE_names);
        buf_printf(b, " n%u ON n%u.id = r.", i, i);
        sql_name(b, r->columns[i].name);
    }
    buf_str(b, ") TO ");
    sql_literal(b, path);
    buf_str(b, " (FORMAT parquet, COMPRESSION zstd)");
}

void keep_clean(const struct store *s)
{
    file_remove_named(s->root, ".export-", ".parquet");
}

int keep_parquet(struct store_session *ss, enum record_type type, const char *path, struct err *e)
{
    static _Atomic unsigned number;
    struct connection *c;
    struct buf text;
    char name[64], made[PATH_MAX];
    /* The instance may write only below its own folder. */
    snprintf(name, sizeof name, ".export-%u.parquet", ++number);
    if (path_join(made, sizeof made, ss->store->root, name))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    struct small_reading from;
    int rc = engine_take(ss->store, &c, e);
    if (rc)
        return rc;
    rc = small_read_begin(ss, &from, e);
    if (rc == 0) {
        buf_init(&text, SQL_TEXT_MAX);
        parquet_text(&text, &from, type, made);
        rc = sql_run(ss->store->duck, c->handle, buf_cstr(&text), e);
        buf_fini(&text);
        small_read_end(&from);
    }
    engine_give(ss->store, c);
    if (!rc && rename(made, path))
        rc = errno == EXDEV ? copy_file(made, path, e) : io_failed("make", path, e);
    unlink(made);
    return rc;
}

/* ---- backup ---------------------------------------------------------------------------------- */

/* Copies the files of a session, which is not written meanwhile. */
static int copy_session(struct store *s, const char *workspace, const char *file,
                        const char *folder, struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX], log_from[PATH_MAX + 8], log_to[PATH_MAX + 8];
    int n = snprintf(from, sizeof from, "%s/%s/%s", s->root, workspace, file);
    int m = snprintf(to, sizeof to, "%s/%s", folder, file);
    if (n < 0 || m < 0 || n >= PATH_MAX || m >= PATH_MAX)
        return err_set(e, GPUFL_E_INVAL, "the name of a folder is too long: %.200s", folder);
    snprintf(log_from, sizeof log_from, "%s.wal", from);
    snprintf(log_to, sizeof log_to, "%s.wal", to);
    unlink(log_to); /* of an earlier backup to this folder */
    int rc = copy_file(from, to, e);
    return rc ? rc : copy_file(log_from, log_to, e);
}

/* Finds the session of a file; false: the file is not a session's. */
static bool session_of(const char *file, char id[STORE_ID_MAX + 16])
{
    size_t len = strlen(file), suffix = strlen(".duckdb");
    if (len <= suffix || len - suffix >= STORE_ID_MAX + 16 ||
        strcmp(file + len - suffix, ".duckdb") != 0)
        return false;
    memcpy(id, file, len - suffix);
    id[len - suffix] = '\0';
    return true;
}

static int backup_file(struct store *s, const char *workspace, const char *file, const char *folder,
                       struct err *e)
{
    struct store_session *ss;
    char id[STORE_ID_MAX + 16];
    if (!session_of(file, id))
        return 0;
    int rc = session_hold(s, workspace, id, &ss, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc; /* deleted since the list was read */
    rc = copy_session(s, workspace, file, folder, e);
    session_unhold(ss);
    return rc;
}

static int backup_workspace(struct store *s, const char *workspace, const char *folder,
                            struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    const struct dirent *entry;
    if (path_join(from, sizeof from, s->root, workspace) ||
        path_join(to, sizeof to, folder, workspace))
        return err_set(e, GPUFL_E_INVAL, "the name of a folder is too long: %.200s", folder);
    DIR *d = opendir(from);
    if (!d)
        return io_failed("read", from, e);
    int rc = file_mkdirs(to, 0700, e);
    while (!rc && (entry = readdir(d)))
        rc = backup_file(s, workspace, entry->d_name, to, e);
    closedir(d);
    return rc;
}

int keep_flaws(struct store *s, int (*take)(void *arg, const char *flaw), void *arg)
{
    return packs_flaws(s->packs, take, arg);
}

int keep_backup(struct store *s, const char *folder, struct err *e)
{
    char to[PATH_MAX];
    const struct dirent *entry;
    if (path_join(to, sizeof to, folder, "columns"))
        return err_set(e, GPUFL_E_INVAL, "the name of a folder is too long: %.200s", folder);
    DIR *d = opendir(s->root);
    if (!d)
        return io_failed("read", s->root, e);
    /* Packs are copied first: for a session that gets a file meanwhile, the backup has both, and
     * the file has all rows. */
    int rc = file_mkdirs(to, 0700, e);
    if (rc == 0)
        rc = packs_backup(s->packs, to, e);
    while (!rc && (entry = readdir(d)))
        if (store_id_ok(entry->d_name))
            rc = backup_workspace(s, entry->d_name, to, e);
    closedir(d);
    return rc;
}

int keep_sessions(struct store *s, const char *workspace, int (*take)(void *arg, const char *id),
                  void *arg, struct err *e)
{
    char folder[PATH_MAX], id[STORE_ID_MAX + 16];
    const struct dirent *entry;
    struct packed_state state;
    if (!store_id_ok(workspace) || path_join(folder, sizeof folder, s->root, workspace))
        return err_set(e, GPUFL_E_INVAL, "%.64s is no name of a workspace", workspace);
    int rc = packs_list(s->packs, workspace, take, arg, e);
    if (rc)
        return rc;
    DIR *d = opendir(folder);
    if (!d)
        return errno == ENOENT ? 0 : io_failed("read", folder, e);
    while (!rc && (entry = readdir(d)))
        if (session_of(entry->d_name, id) &&
            store_id_ok(id) && /* the history's file is not a session's */
            !packs_find(s->packs, workspace, id, &state))
            rc = take(arg, id);
    closedir(d);
    return rc;
}

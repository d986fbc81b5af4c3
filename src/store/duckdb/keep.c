/* keep.c - makes exports and backups of a session's rows. */
#include "store/duckdb/write.h"

#include "base/alloc.h"
#include "base/file/file.h"
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

/* backup.c - copies of folders, and a walk over all sessions. */
#include "server/backup.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "server/data_lock.h"
#include "server/server.h"
#include "store/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 8, BLOCK = 1 << 20, MEMORY = 64 << 20, PAGE = 500 };

static const int64_t LOAD_NS = 60000000000;

/* ---- copying ---------------------------------------------------------------------------------- */

static int io_failed(const char *what, const char *path, struct err *e)
{
    return err_set_vendor(e, err_from_errno(errno), errno, "cannot %s %s", what, path);
}

/* What of a copy the kernel does not make itself: between file systems, and within some. */
static bool kernel_refuses(int error)
{
    return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

/* The next block; bytes, 0 at the end, negative: errno says. */
static ssize_t copy_block(int in, int out, bool *by_hand, char *room)
{
    ssize_t n = *by_hand ? 0 : copy_file_range(in, NULL, out, NULL, BLOCK, 0);
    if (n < 0 && kernel_refuses(errno))
        *by_hand = true;
    if (!*by_hand)
        return n;
    n = read(in, room, BLOCK);
    int code = n > 0 ? file_write_all(out, room, (size_t)n) : 0;
    errno = code ? -code : errno;
    return code ? -1 : n;
}

/* To the disk, so that a backup that is said to be there is. */
static int copy_open(int in, int out, const char *to, int64_t *bytes, struct err *e)
{
    bool by_hand = false;
    char *room = mem_alloc(BLOCK);
    if (!room)
        return err_nomem(e);
    ssize_t n = 1;
    while (n > 0 || (n < 0 && errno == EINTR)) {
        n = copy_block(in, out, &by_hand, room);
        *bytes += n > 0 ? n : 0;
    }
    mem_free(room);
    return n < 0 || fsync(out) ? io_failed("write", to, e) : 0;
}

static int copy_file(const char *from, const char *to, int64_t *bytes, struct err *e)
{
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return errno == ENOENT ? 0 : io_failed("read", from, e); /* it went meanwhile */
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = out < 0 ? io_failed("create", to, e) : copy_open(in, out, to, bytes, e);
    if (out >= 0 && close(out) && rc == 0)
        rc = io_failed("write", to, e);
    close(in);
    return rc;
}

static int copy_tree(const char *from, const char *to, int depth, int64_t *bytes, struct err *e);

static int copy_entry(const char *from, const char *to, const char *name, int depth, int64_t *bytes,
                      struct err *e)
{
    char source[PATH_MAX], target[PATH_MAX];
    struct stat st;
    if (path_join(source, sizeof source, from, name) || path_join(target, sizeof target, to, name))
        return err_set(e, GPUFL_E_INVAL, "the name of a file is too long below %.200s", from);
    if (lstat(source, &st))
        return errno == ENOENT ? 0 : io_failed("read", source, e); /* it went meanwhile */
    if (S_ISDIR(st.st_mode))
        return copy_tree(source, target, depth + 1, bytes, e);
    return S_ISREG(st.st_mode) ? copy_file(source, target, bytes, e) : 0;
}

static int copy_tree(const char *from, const char *to, int depth, int64_t *bytes, struct err *e)
{
    const struct dirent *entry;
    if (depth > DEPTH_MAX)
        return err_set(e, GPUFL_E_INVAL, "%s has folders in folders too deep", from);
    DIR *d = opendir(from);
    if (!d)
        return io_failed("read", from, e);
    int rc = file_mkdirs(to, 0700, e);
    while (rc == 0 && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = copy_entry(from, to, entry->d_name, depth, bytes, e);
    closedir(d);
    return rc;
}

static int64_t tree_bytes(const char *folder, int depth)
{
    const struct dirent *entry;
    char path[PATH_MAX];
    struct stat st;
    int64_t bytes = 0;
    DIR *d = depth > DEPTH_MAX ? NULL : opendir(folder);
    while (d && (entry = readdir(d))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            path_join(path, sizeof path, folder, entry->d_name) || lstat(path, &st))
            continue;
        bytes += S_ISDIR(st.st_mode) ? tree_bytes(path, depth + 1) : st.st_size;
    }
    if (d)
        closedir(d);
    return bytes;
}

/* ---- backups ------------------------------------------------------------------------------------ */

/* All workspaces from one store to another. */
static int copy_all(struct meta *m, const struct store_end *from, const struct store_end *to,
                    struct store_copied *count, struct err *e)
{
    struct meta_workspace *rows;
    struct region mem;
    size_t n = 0;
    region_init(&mem, MEMORY);
    int rc = meta_workspace_list(m, &mem, &rows, &n, e);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = store_copy_workspace(from, to, rows[i].id, count, e);
    region_fini(&mem);
    return rc;
}

/* Columns that stand in a server, as the files of a store without one: a backup that can be restored to
 * either. */
static int copy_out(struct server *s, const char *folder, struct err *e)
{
    const struct store_config c = {.data = folder};
    const struct store_end from = {s->ops, s->store};
    struct store_end to = {&store_duckdb, NULL};
    struct store_copied count = {0};
    int rc = to.ops->open(&to.store, &c, e);
    if (rc)
        return rc;
    rc = copy_all(s->meta, &from, &to, &count, e);
    to.ops->close(to.store);
    return rc;
}

/* The parts, in an order in which none refers to what a later one lacks: the small tables name
 * sessions whose columns come behind; what senders sent is known at most once too seldom. */
static int write_parts(struct server *s, const char *folder, struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    int64_t bytes = 0;
    if (path_join(to, sizeof to, folder, "meta.db"))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    int rc = meta_backup(s->meta, to, e);
    if (rc == GPUFL_E_UNAVAILABLE)
        rc = 0; /* PostgreSQL has backups of its own */
    if (rc == 0 && (path_join(from, sizeof from, s->options.data, "kept") ||
                    path_join(to, sizeof to, folder, "kept")))
        rc = err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    if (rc == 0 && file_exists(from))
        rc = copy_tree(from, to, 0, &bytes, e);
    if (rc)
        return rc;
    return s->ops->backup ? s->ops->backup(s->store, folder, e) : copy_out(s, folder, e);
}

int upkeep_backup(struct server *s, char *name, size_t size, int64_t *bytes, struct err *e)
{
    char base[PATH_MAX], folder[PATH_MAX], part[PATH_MAX + 8];
    time_t now = (time_t)(clock_real() / 1000000000);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(name, size, "%Y%m%dT%H%M%SZ", &tm);
    if (path_join(base, sizeof base, s->options.data, "backups") ||
        path_join(folder, sizeof folder, base, name))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    snprintf(part, sizeof part, "%s.part", folder);
    if (file_exists(folder) || file_exists(part))
        return err_set(e, GPUFL_E_STATE, "there is a backup of this second already");
    if (!loader_drain(s->intake.loader, LOAD_NS))
        return err_set(e, GPUFL_E_TIMEOUT, "what was received is not loaded in time; try again");
    int rc = file_mkdirs(part, 0700, e);
    rc = rc ? rc : write_parts(s, part, e);
    if (rc == 0 && rename(part, folder))
        rc = io_failed("rename", part, e);
    if (rc) /* half a backup is none, and it may be what fills the disk */
        file_remove_tree(part);
    *bytes = rc ? 0 : tree_bytes(folder, 0);
    return rc;
}

void upkeep_clean(const char *data)
{
    char backups[PATH_MAX];
    file_remove_named(data, "export-", "");
    if (path_join(backups, sizeof backups, data, "backups") == 0)
        file_remove_named(backups, "", ".part");
}

/* The files of a backup that was copied to the data folder, on to the server that keeps columns: then
 * they go. Which workspaces there are the files say themselves: small tables may stand elsewhere. */
static int copy_in(const struct options *o, struct err *e)
{
    char columns[PATH_MAX];
    const struct store_config c = {.data = o->data};
    struct store_end from = {&store_duckdb, NULL}, to = {NULL, NULL};
    struct store_copied count = {0};
    const struct dirent *entry;
    if (path_join(columns, sizeof columns, o->data, "columns"))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    DIR *d = opendir(columns);
    if (!d)
        return errno == ENOENT ? 0 : io_failed("read", columns, e);
    int rc = server_open_columns(o, NULL, &to.ops, &to.store, e);
    rc = rc ? rc : from.ops->open(&from.store, &c, e);
    while (rc == 0 && (entry = readdir(d)))
        if (entry->d_name[0] != '.') /* and spills */
            rc = store_copy_workspace(&from, &to, entry->d_name, &count, e);
    closedir(d);
    if (from.store)
        from.ops->close(from.store);
    if (to.store)
        to.ops->close(to.store);
    if (rc)
        return rc;
    file_remove_tree(columns);
    printf("%" PRId64 " sessions to ClickHouse with %" PRId64 " rows; %" PRId64
           " were there already\n",
           count.sessions, count.rows, count.there);
    return 0;
}

static bool is_backup(const char *from)
{
    static const char *const parts[] = {"columns", "meta.db", "kept"}; /* what stands elsewhere
                                                                          lacks */
    char path[PATH_MAX];
    bool backup = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        backup |= !path_join(path, sizeof path, from, parts[i]) && file_exists(path);
    return backup;
}

int upkeep_restore(const char *from, const struct options *o, struct err *e)
{
    int64_t bytes = 0;
    if (!is_backup(from))
        return err_set(e, GPUFL_E_NOENT,
                       "%s is no backup: it has no columns; backups are below DATA/backups", from);
    if (rmdir(o->data) && errno != ENOENT)
        return err_set(e, GPUFL_E_STATE,
                       "%s is there and not empty: restore to a folder that is not", o->data);
    struct data_lock lock = DATA_LOCK_INIT;
    int rc = file_mkdirs(o->data, 0700, e);
    rc = rc ? rc : data_lock_take(&lock, o->data, e);
    rc = rc ? rc : copy_tree(from, o->data, 0, &bytes, e);
    if (rc == 0 && o->columns)
        rc = copy_in(o, e);
    data_lock_drop(&lock);
    if (rc == 0)
        printf("restored %" PRId64 " bytes to %s\n", bytes, o->data);
    return rc;
}

/* ---- checks --------------------------------------------------------------------------------------- */

/* Locks the folder first. Small tables in PostgreSQL need none. */
static int open_meta(struct meta **out, const struct options *o, bool migrate,
                     struct data_lock *lock, struct err *e)
{
    char path[PATH_MAX];
    if (path_join(path, sizeof path, o->data, "meta.db"))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    if (!o->meta && !file_exists(path))
        return err_set(e, GPUFL_E_NOENT, "%s is no server's data folder: it has no meta.db",
                       o->data);
    const struct meta_config c = {.path = path, .url = o->meta, .migrate = migrate};
    int rc = file_exists(o->data) ? data_lock_take(lock, o->data, e) : 0;
    return rc ? rc : meta_open(out, &c, e);
}

int upkeep_migrate(const struct options *o, struct err *e)
{
    struct meta *m = NULL;
    struct data_lock lock = DATA_LOCK_INIT;
    int rc = open_meta(&m, o, true, &lock, e);
    if (rc == 0)
        printf("the small tables have version %d\n", meta_version());
    meta_close(m);
    data_lock_drop(&lock);
    return rc;
}

struct tally {
    uint64_t sessions, damaged, rows;
};

static int count_rows(void *arg, const struct store_chunk *c)
{
    struct tally *t = arg;
    for (size_t row = 0; row < c->rows; row++)
        t->rows += (uint64_t)c->columns[1].ints[row];
    return 0;
}

static void check_session(const struct store_ops *ops, struct store *store, const char *workspace,
                          const char *session, struct tally *t)
{
    struct store_session *ss = NULL;
    struct err e = {0};
    const struct store_visitor v = {.arg = t, .chunk = count_rows};
    int rc = ops->get(store, workspace, session, false, &ss, &e);
    t->sessions++;
    if (rc == GPUFL_E_NOENT)
        return; /* nothing of it was committed */
    if (rc == 0) {
        rc = ops->query(store, workspace, ss, QUERY_counts, NULL, &v, &e);
        ops->put(ss);
    }
    if (rc) {
        t->damaged++;
        printf("session %s of workspace %s: %s\n", session, workspace,
               e.text[0] ? e.text : err_text(rc));
    }
}

static int check_workspace(struct meta *m, const struct store_ops *ops, struct store *store,
                           const char *workspace, struct tally *t, struct err *e)
{
    const struct meta_session_query all = {0};
    struct meta_page page = {.limit = PAGE};
    char after[1024];
    int rc = 0;
    do {
        struct meta_session *rows;
        struct region mem;
        size_t count = 0;
        region_init(&mem, MEMORY);
        rc = meta_session_list(m, workspace, &all, &page, &mem, &rows, &count, e);
        for (size_t i = 0; i < count && rc == 0; i++)
            check_session(ops, store, workspace, rows[i].id, t);
        snprintf(after, sizeof after, "%s", rc == 0 && page.next ? page.next : "");
        region_fini(&mem);
        page.after = after;
    } while (rc == 0 && after[0]);
    return rc;
}

static int check_columns(struct meta *m, const struct options *o, struct tally *t, struct err *e)
{
    struct meta_workspace *rows;
    const struct store_ops *ops;
    struct store *store = NULL;
    struct region mem;
    size_t count = 0;
    int rc = server_open_columns(o, NULL, &ops, &store, e);
    if (rc)
        return rc;
    region_init(&mem, MEMORY);
    rc = meta_workspace_list(m, &mem, &rows, &count, e);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_workspace(m, ops, store, rows[i].id, t, e);
    region_fini(&mem);
    ops->close(store);
    return rc;
}

int upkeep_check(const struct options *o, struct err *e)
{
    struct meta *m = NULL;
    struct tally t = {0};
    struct data_lock lock = DATA_LOCK_INIT;
    int rc = open_meta(&m, o, false, &lock, e);
    rc = rc ? rc : meta_check(m, e);
    rc = rc ? rc : check_columns(m, o, &t, e);
    meta_close(m);
    data_lock_drop(&lock);
    if (rc)
        return rc;
    printf("%" PRIu64 " sessions, %" PRIu64 " rows, %" PRIu64 " damaged\n", t.sessions, t.rows,
           t.damaged);
    return t.damaged ? err_set(e, GPUFL_E_CORRUPT, "%" PRIu64 " sessions are damaged", t.damaged)
                     : 0;
}

/* offline.c - restores a backup, and walks over all sessions for a check. */
#include "server/offline.h"

#include "base/file.h"
#include "server/backup/file_tree.h"
#include "server/data_lock.h"
#include "server/server.h"
#include "store/copy.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, PAGE = 500 };

/* ---- restoring ------------------------------------------------------------------------------- */

/* Copies the column files of a restored backup to the ClickHouse server and removes the files. The
 * files name the workspaces: the small tables may be in PostgreSQL. */
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
        return errno == ENOENT
                   ? 0
                   : err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", columns);
    int rc = server_open_columns(o, NULL, &to.ops, &to.store, e);
    if (rc == 0)
        rc = from.ops->open(&from.store, &c, e);
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
    static const char *const parts[] = {"columns", "meta.db",
                                        "kept"}; /* a backup lacks what another server keeps */
    char path[PATH_MAX];
    bool backup = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        backup |= !path_join(path, sizeof path, from, parts[i]) && file_exists(path);
    return backup;
}

int offline_restore(const char *from, const struct options *o, struct err *e)
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
    if (rc == 0)
        rc = data_lock_take(&lock, o->data, e);
    if (rc == 0)
        rc = file_tree_copy(from, o->data, &bytes, e);
    if (rc == 0 && o->columns)
        rc = copy_in(o, e);
    data_lock_drop(&lock);
    if (rc == 0)
        printf("restored %" PRId64 " bytes to %s\n", bytes, o->data);
    return rc;
}

/* ---- checks ---------------------------------------------------------------------------------- */

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

int offline_migrate(const struct options *o, struct err *e)
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
        rc = ops->query(store, &(struct store_question){workspace, ss, QUERY_counts, NULL}, &v, &e);
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
        const struct meta_ask ask = {m, workspace, &mem, e};
        rc = meta_session_list(&ask, &all, &page, &rows, &count);
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
    const struct meta_ask ask = {m, NULL, &mem, e};
    rc = meta_workspace_list(&ask, &rows, &count);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_workspace(m, ops, store, rows[i].id, t, e);
    region_fini(&mem);
    ops->close(store);
    return rc;
}

int offline_check(const struct options *o, struct err *e)
{
    struct meta *m = NULL;
    struct tally t = {0};
    struct data_lock lock = DATA_LOCK_INIT;
    int rc = open_meta(&m, o, false, &lock, e);
    if (rc == 0)
        rc = meta_check(m, e);
    if (rc == 0)
        rc = check_columns(m, o, &t, e);
    meta_close(m);
    data_lock_drop(&lock);
    if (rc)
        return rc;
    printf("%" PRIu64 " sessions, %" PRIu64 " rows, %" PRIu64 " damaged\n", t.sessions, t.rows,
           t.damaged);
    return t.damaged ? err_set(e, GPUFL_E_CORRUPT, "%" PRIu64 " sessions are damaged", t.damaged)
                     : 0;
}

/* backup.c - see backup.h. */
#include "server/backup/backup.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "server/backup/file_tree.h"
#include "store/copy.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

enum { MEMORY = 64 << 20 };

static const int64_t LOAD_NS = 60000000000;

/* Copies all workspaces from one store to another. */
static int copy_all(struct meta *m, const struct store_end *from, const struct store_end *to,
                    struct store_copied *count, struct err *e)
{
    struct meta_workspace *rows;
    struct region mem;
    size_t n = 0;
    region_init(&mem, MEMORY);
    const struct meta_ask ask = {m, NULL, &mem, e};
    int rc = meta_workspace_list(&ask, &rows, &n);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = store_copy_workspace(from, to, rows[i].id, count, e);
    region_fini(&mem);
    return rc;
}

/* Writes columns that a ClickHouse server keeps as DuckDB's files: such a backup can be restored to
 * either store. */
static int copy_out(const struct backup_source *s, const char *folder, struct err *e)
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

/* Writes the parts in an order in which none refers to what a later one lacks: small tables come
 * first and name sessions whose columns come after; of what senders sent, the backup may lack the
 * newest, and then the sender sends it again. */
static int write_parts(const struct backup_source *s, const char *folder, struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    int64_t bytes = 0;
    if (path_join(to, sizeof to, folder, "meta.db"))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    int rc = meta_backup(s->meta, to, e);
    if (rc == GPUFL_E_UNAVAILABLE)
        rc = 0; /* PostgreSQL makes its own backups */
    if (rc == 0 &&
        (path_join(from, sizeof from, s->data, "kept") || path_join(to, sizeof to, folder, "kept")))
        rc = err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    if (rc == 0 && file_exists(from))
        rc = file_tree_copy(from, to, &bytes, e);
    if (rc)
        return rc;
    return s->ops->backup ? s->ops->backup(s->store, folder, e) : copy_out(s, folder, e);
}

int backup_make(const struct backup_source *s, char *name, size_t size, int64_t *bytes,
                struct err *e)
{
    char base[PATH_MAX], folder[PATH_MAX], part[PATH_MAX + 8];
    time_t now = (time_t)(clock_real() / 1000000000);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(name, size, "%Y%m%dT%H%M%SZ", &tm);
    if (path_join(base, sizeof base, s->data, "backups") ||
        path_join(folder, sizeof folder, base, name))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    snprintf(part, sizeof part, "%s.part", folder);
    if (file_exists(folder) || file_exists(part))
        return err_set(e, GPUFL_E_STATE, "there is a backup of this second already");
    if (!loader_drain(s->loader, LOAD_NS))
        return err_set(e, GPUFL_E_TIMEOUT, "what was received is not loaded in time; try again");
    int rc = file_mkdirs(part, 0700, e);
    if (rc == 0)
        rc = write_parts(s, part, e);
    if (rc == 0 && rename(part, folder))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "cannot rename %s", part);
    if (rc) /* half a backup is useless, and may be what fills the disk */
        file_remove_tree(part);
    *bytes = rc ? 0 : file_tree_bytes(folder);
    return rc;
}

void backup_clean(const char *data)
{
    char backups[PATH_MAX];
    file_remove_named(data, "export-", "");
    if (path_join(backups, sizeof backups, data, "backups") == 0)
        file_remove_named(backups, "", ".part");
}

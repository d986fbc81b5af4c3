/* offline.c - restores a backup, walks over all sessions for a check, loads what was set aside. */
#include "server/offline.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "server/backup/file_tree.h"
#include "server/data_lock.h"
#include "server/intake/aside.h"
#include "server/server.h"
#include "store/copy.h"
#include "store/page.h"
#include "wire/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
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

/* Checks that the folder is empty, except for a lock and lost+found, or has the remains of an
 * interrupted restore. */
static int check_target(const char *data, struct err *e)
{
    static const char *const ours[] = {".", "..", "lock", "lost+found"};
    const struct dirent *entry;
    char part[PATH_MAX];
    bool other = false;
    if (path_join(part, sizeof part, data, DATA_LOCK_RESTORE))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    DIR *d = file_exists(part) ? NULL : opendir(data);
    while (d && !other && (entry = readdir(d))) {
        other = true;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            other &= strcmp(entry->d_name, ours[i]) != 0;
    }
    if (d)
        closedir(d);
    return other ? err_set(e, GPUFL_E_STATE,
                           "%s is there and not empty: restore to a folder that is not", data)
                 : 0;
}

/* This is a step of a restore, for one entry of the data folder: removes, copies or moves the
 * entry. */
typedef int (*entry_step)(const char *part, const char *data, const char *name, struct err *e);

static int remove_entry(const char *part, const char *data, const char *name, struct err *e)
{
    char path[PATH_MAX];
    (void)part;
    if (path_join(path, sizeof path, data, name))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    if (unlink(path) && errno != ENOENT)
        file_remove_tree(path);
    return 0;
}

static int move_entry(const char *part, const char *data, const char *name, struct err *e)
{
    char source[PATH_MAX], target[PATH_MAX];
    if (path_join(source, sizeof source, part, name) ||
        path_join(target, sizeof target, data, name))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    return rename(source, target) ? err_set_vendor(e, err_from_errno(errno), errno,
                                                   "cannot move %s to %s", source, target)
                                  : 0;
}

static int each_entry(const char *folder, const char *part, const char *data, entry_step step,
                      struct err *e)
{
    const struct dirent *entry;
    DIR *d = opendir(folder);
    if (!d)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", folder);
    int rc = 0;
    while (rc == 0 && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "lock") != 0)
            rc = step(part, data, entry->d_name, e);
    closedir(d);
    return rc;
}

/* Writes the file system's directories and files to the disk. */
static int sync_disk(const char *folder, struct err *e)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || syncfs(fd) ? err_set_vendor(e, err_from_errno(errno), errno,
                                                   "cannot write %s to the disk", folder)
                                  : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Copies the backup below DATA/restore.part and moves the entries into DATA at the end.
 * restore.part goes last: a restore that was killed at any moment is recognized. [data locked] */
static int restore_parts(const char *from, const struct options *o, int64_t *bytes, struct err *e)
{
    char part[PATH_MAX];
    struct options inner = *o;
    if (path_join(part, sizeof part, o->data, DATA_LOCK_RESTORE))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    int rc = file_exists(part) ? each_entry(from, part, o->data, remove_entry, e) : 0;
    if (rc)
        return rc;
    file_remove_tree(part);
    rc = file_tree_copy(from, part, bytes, e);
    inner.data = part;
    if (rc == 0 && o->columns)
        rc = copy_in(&inner, e);
    if (rc || (rc = sync_disk(part, e)) || (rc = each_entry(part, part, o->data, move_entry, e)) ||
        (rc = sync_disk(o->data, e)))
        return rc;
    file_remove_tree(part);
    return sync_disk(o->data, e);
}

int offline_restore(const char *from, const struct options *o, struct err *e)
{
    int64_t bytes = 0;
    struct data_lock lock = DATA_LOCK_INIT;
    if (!is_backup(from))
        return err_set(e, GPUFL_E_NOENT,
                       "%s is no backup: it has no columns; backups are below DATA/backups", from);
    int rc = check_target(o->data, e);
    if (rc || (rc = file_mkdirs(o->data, 0700, e)))
        return rc;
    rc = data_lock_take_restore(&lock, o->data, e);
    if (rc == 0)
        rc = restore_parts(from, o, &bytes, e);
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
    char path[PATH_MAX], part[PATH_MAX];
    if (path_join(path, sizeof path, o->data, "meta.db") ||
        path_join(part, sizeof part, o->data, DATA_LOCK_RESTORE))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    if (!o->meta && !file_exists(path) && !file_exists(part))
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
    uint64_t sessions, rows;
    uint64_t damaged;   /* they cannot be read, or have fewer rows than the small tables say */
    uint64_t unchecked; /* there was no memory, file or time to read them */
    uint64_t elsewhere; /* without a file here, and another server may have the file */
    uint64_t unlisted;  /* with a file, and without a row in the small tables */
    uint64_t flaws;     /* files, or parts of files, whose session is unknown */
};

/* This is a check that is being made. */
struct check {
    struct meta *meta;
    const struct store_ops *ops;
    struct store *store;
    const char *workspace;
    bool alone;      /* no other server keeps columns of these small tables */
    uint64_t events; /* rows of the session at hand that the small tables count */
    struct tally tally;
    struct err *e;
};

static int count_rows(void *arg, const struct store_chunk *chunk)
{
    struct check *c = arg;
    for (size_t row = 0; row < chunk->rows; row++) {
        const struct store_text *name = &chunk->columns[0].texts[row];
        int type = record_find(name->at, name->len);
        uint64_t rows = (uint64_t)chunk->columns[1].ints[row];
        c->tally.rows += rows;
        if (type >= 0 && records[type].kind == RECORD_KIND_EVENT)
            c->events += rows;
    }
    return 0;
}

static int skip_positions(void *arg, const struct store_position *p, unsigned n)
{
    (void)arg;
    (void)p;
    (void)n;
    return 0;
}

static int count_page(void *arg, unsigned table, const struct page *p)
{
    uint64_t *events = arg;
    *events += table < RECORD_COUNT && records[table].kind == RECORD_KIND_EVENT ? p->rows : 0;
    return 0;
}

/* Reads all rows: where many sessions share a part, a commit counts what may not be there. */
static int read_all(struct check *c, struct store_session *ss, struct err *e)
{
    uint64_t read = 0;
    const struct store_walk w = {&read, skip_positions, count_page, NULL};
    int rc = c->ops->walk(ss, &w, e);
    c->events = read < c->events ? read : c->events;
    return rc;
}

/* Returns true for an error that says nothing of the session: the check lacked memory, room, time
 * or permission. */
static bool is_shortage(int rc)
{
    return rc == GPUFL_E_NOMEM || rc == GPUFL_E_FULL || rc == GPUFL_E_TIMEOUT ||
           rc == GPUFL_E_BUSY || rc == GPUFL_E_PERM || rc == GPUFL_E_UNAVAILABLE;
}

static void say_session(const struct check *c, const char *session, const char *text)
{
    printf("session %s of workspace %s: %s\n", session, c->workspace, text);
}

/* The session has no columns: nothing of it was committed, another server has it, or it is lost. */
static void check_absent(struct check *c, const struct meta_session *row)
{
    if (row->records <= 0)
        return;
    c->tally.elsewhere += !c->alone;
    if (!c->alone)
        return;
    c->tally.damaged++;
    say_session(c, row->id,
                "its rows are lost: the small tables count them, and the store has "
                "nothing of the session");
}

static void check_session(struct check *c, const struct meta_session *row)
{
    struct store_session *ss = NULL;
    struct err e = {0};
    const struct store_visitor v = {.arg = c, .chunk = count_rows};
    int rc = c->ops->get(c->store, c->workspace, row->id, false, &ss, &e);
    c->tally.sessions++;
    c->events = 0;
    if (rc == GPUFL_E_NOENT) {
        check_absent(c, row);
        return;
    }
    if (rc == 0) {
        const struct store_question q = {c->workspace, ss, QUERY_counts, NULL};
        rc = c->ops->query(c->store, &q, &v, &e);
        if (!rc && c->ops->far)
            rc = read_all(c, ss, &e);
        c->ops->put(ss);
    }
    if (rc == 0 && (int64_t)c->events < row->records)
        rc = err_set(&e, GPUFL_E_CORRUPT,
                     "%" PRIu64 " of %" PRId64 " rows are there: the others are lost", c->events,
                     row->records);
    if (rc == 0)
        return;
    c->tally.damaged += !is_shortage(rc);
    c->tally.unchecked += is_shortage(rc);
    printf("session %s of workspace %s%s: %s\n", row->id, c->workspace,
           is_shortage(rc) ? " could not be checked" : "", e.text[0] ? e.text : err_text(rc));
}

static int check_listed(struct check *c)
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
        const struct meta_ask ask = {c->meta, c->workspace, &mem, c->e};
        rc = meta_session_list(&ask, &all, &page, &rows, &count);
        for (size_t i = 0; i < count && rc == 0; i++)
            check_session(c, &rows[i]);
        snprintf(after, sizeof after, "%s", rc == 0 && page.next ? page.next : "");
        region_fini(&mem);
        page.after = after;
    } while (rc == 0 && after[0]);
    return rc;
}

/* Checks a session of the store: the small tables name it, or have dropped it, or know nothing of
 * it. */
static int check_known(void *arg, const char *session)
{
    struct check *c = arg;
    struct meta_session row;
    struct region mem;
    bool dropped = false;
    region_init(&mem, MEMORY);
    const struct meta_ask ask = {c->meta, c->workspace, &mem, c->e};
    int rc = meta_session_get(&ask, session, &row);
    if (rc == GPUFL_E_NOENT) {
        rc = meta_session_is_dropped(c->meta, c->workspace, session, &dropped, c->e);
        c->tally.unlisted += rc == 0 && !dropped;
        if (rc == 0 && !dropped)
            say_session(c, session,
                        "the store has rows of it, and the small tables do not list it");
    }
    region_fini(&mem);
    return rc;
}

static int say_flaw(void *arg, const char *flaw)
{
    struct check *c = arg;
    c->tally.flaws++;
    printf("%s\n", flaw);
    return 0;
}

static int check_columns(struct check *c, const struct options *o)
{
    struct meta_workspace *rows;
    struct region mem;
    size_t count = 0;
    int rc = server_open_columns(o, NULL, &c->ops, &c->store, c->e);
    if (rc)
        return rc;
    c->alone = !o->meta || o->columns;
    region_init(&mem, MEMORY);
    const struct meta_ask ask = {c->meta, NULL, &mem, c->e};
    rc = meta_workspace_list(&ask, &rows, &count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        c->workspace = rows[i].id;
        rc = check_listed(c);
        if (rc == 0)
            rc = c->ops->sessions(c->store, c->workspace, check_known, c, c->e);
    }
    region_fini(&mem);
    if (rc == 0 && c->ops->flaws)
        rc = c->ops->flaws(c->store, say_flaw, c);
    c->ops->close(c->store);
    return rc;
}

static int say_tally(const struct tally *t, struct err *e)
{
    printf("%" PRIu64 " sessions, %" PRIu64 " rows, %" PRIu64 " damaged\n", t->sessions, t->rows,
           t->damaged);
    if (t->elsewhere)
        printf("%" PRIu64
               " sessions have no file here: other servers have them, or they are lost\n",
               t->elsewhere);
    if (t->unlisted)
        printf("%" PRIu64 " sessions are not in the small tables: they appear when something "
               "is sent to them again\n",
               t->unlisted);
    if (t->damaged)
        return err_set(e, GPUFL_E_CORRUPT, "%" PRIu64 " sessions are damaged", t->damaged);
    if (t->flaws)
        return err_set(e, GPUFL_E_CORRUPT,
                       "%" PRIu64 " files of columns are damaged, and it is not known which "
                       "sessions lack rows",
                       t->flaws);
    if (t->unchecked)
        return err_set(e, GPUFL_E_NOMEM,
                       "%" PRIu64 " sessions could not be checked, which says nothing about them",
                       t->unchecked);
    return 0;
}

int offline_check(const struct options *o, struct err *e)
{
    struct check c = {.e = e};
    struct data_lock lock = DATA_LOCK_INIT;
    int rc = open_meta(&c.meta, o, false, &lock, e);
    if (rc == 0)
        rc = meta_check(c.meta, e);
    if (rc == 0)
        rc = check_columns(&c, o);
    meta_close(c.meta);
    data_lock_drop(&lock);
    return rc ? rc : say_tally(&c.tally, e);
}

/* ---- what was set aside ---------------------------------------------------------------------- */

static const int64_t ASIDE_NS = 600000000000; /* until what is loaded must be there */

static int print_aside(void *arg, const struct aside_session *s)
{
    char when[32] = "?";
    time_t seconds = (time_t)(s->received / 1000000000);
    struct tm at;
    if (s->received && gmtime_r(&seconds, &at))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &at);
    printf("%s  %s  %" PRIu64 " frames, %" PRId64 " bytes, received since %s\n", s->workspace,
           s->session, s->frames, s->bytes, when);
    ++*(uint64_t *)arg;
    return 0;
}

int offline_aside_list(const struct options *o, struct err *e)
{
    char aside[PATH_MAX];
    uint64_t n = 0;
    if (path_join(aside, sizeof aside, o->data, "aside"))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    if (!file_exists(o->data))
        return err_set(e, GPUFL_E_NOENT, "there is no data folder %s", o->data);
    int rc = aside_list(aside, print_aside, &n, e);
    if (!rc)
        printf("%" PRIu64 " sessions are set aside\n", n);
    return rc;
}

/* Waits until all is committed or set aside again. */
static int wait_loaded(struct intake *in, uint64_t *left, struct err *e)
{
    const struct timespec step = {0, 50000000};
    int64_t until = clock_mono() + ASIDE_NS;
    struct loader_stats st;
    for (;;) {
        bool drained = loader_drain(in->loader, ASIDE_NS);
        loader_stats(in->loader, &st);
        *left = st.aside_sessions;
        if (drained && !st.backlog_sessions)
            return 0;
        if (clock_mono() > until)
            return err_set(e, GPUFL_E_TIMEOUT,
                           "%" PRIu64 " sessions are not loaded yet: the server goes on with them",
                           st.backlog_sessions);
        nanosleep(&step, NULL);
    }
}

static int load_all(struct meta *m, const struct options *o, struct err *e)
{
    struct intake_config c = {.data = o->data, .meta = m, .threads = (unsigned)o->loaders};
    struct intake in = {0};
    uint64_t left = 0;
    int rc = server_open_columns(o, NULL, &c.ops, &c.store, e);
    if (rc)
        return rc;
    rc = intake_open(&in, &c, e); /* which gives what is aside to the loader */
    if (rc == 0) {
        rc = wait_loaded(&in, &left, e);
        intake_close(&in);
    }
    c.ops->close(c.store);
    if (rc)
        return rc;
    return left
               ? err_set(e, GPUFL_E_CORRUPT, "%" PRIu64 " sessions cannot be loaded and stay", left)
               : 0;
}

int offline_aside_load(const struct options *o, struct err *e)
{
    struct meta *m = NULL;
    struct data_lock lock = DATA_LOCK_INIT;
    char aside[PATH_MAX];
    if (path_join(aside, sizeof aside, o->data, "aside"))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    uint64_t n = aside_count(aside);
    int rc = open_meta(&m, o, false, &lock, e);
    if (rc == 0)
        rc = load_all(m, o, e);
    meta_close(m);
    data_lock_drop(&lock);
    if (rc == 0)
        printf("%" PRIu64 " sessions that were set aside are loaded\n", n);
    return rc;
}

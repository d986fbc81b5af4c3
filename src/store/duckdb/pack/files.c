/* files.c - packs as files: appends records, rewrites packs without deleted records, copies packs.
 *
 * A record is on the disk before it is used, and what a failed write left after the last record is
 * cut off before the next one. A pack is rewritten under another name, and renamed when it is
 * complete and on the disk: if the process is killed at any moment, one of the two is there. */
#include "store/duckdb/pack/inside.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"
#include "store/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int pack_pread(int fd, void *data, size_t n, uint64_t at)
{
    char *to = data;
    while (n) {
        ssize_t got = pread(fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

static int failed(const char *what, const char *path, int why, struct err *e)
{
    return err_set_vendor(e, err_from_errno(why), why, "cannot %s %s", what, path);
}

int packs_sync_folder(const char *path, struct err *e)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(path_base(path) - path), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? failed("write", folder, errno, e) : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- a new pack ------------------------------------------------------------------------------ */

static void day_of_today(char out[16])
{
    time_t now = (time_t)(clock_real() / 1000000000);
    struct tm tm;
    gmtime_r(&now, &tm);
    if (!strftime(out, 16, "%Y%m%d-", &tm))
        out[0] = '\0';
}

/* Syncs the folder entries of a new pack, and of its folder, which may be new, too. [place->writing
 * held] */
static int sync_names(struct packs *p, struct pack_place *place, const char *path, struct err *e)
{
    char folder[PATH_MAX];
    int rc = packs_sync_folder(path, e);
    if (rc || place->named)
        return rc;
    snprintf(folder, sizeof folder, "%s/%s", p->root, place->workspace);
    rc = packs_sync_folder(folder, e);
    place->named = !rc;
    return rc;
}

/* Makes the file with the first free name of the day. */
static int make_new(struct packs *p, struct pack_place *place, const char *day,
                    char name[PACK_NAME], int *fd, struct err *e)
{
    char path[PATH_MAX];
    int rc = pack_path(p, place, "", path, e);
    if (rc == 0)
        rc = file_mkdirs(path, 0700, e);
    *fd = -1;
    for (unsigned i = 1; !rc && *fd < 0; i++) {
        snprintf(name, PACK_NAME, "%s%06u" PACK_SUFFIX, day, i);
        rc = pack_path(p, place, name, path, e);
        if (!rc && (*fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0 &&
            errno != EEXIST)
            rc = failed("make", path, errno, e);
    }
    if (rc)
        return rc;
    int why = file_write_shielded(*fd, pack_magic, PACK_HEAD);
    rc = why ? failed("write", path, -why, e) : sync_names(p, place, path, e);
    if (rc) {
        close(*fd);
        unlink(path);
    }
    return rc;
}

/* Makes a new file. [place->writing held] */
static int new_file(struct packs *p, struct pack_place *place, const char *day,
                    struct pack_file **out, struct err *e)
{
    int fd;
    struct pack_file *f = mem_zalloc(sizeof *f);
    int rc = f ? make_new(p, place, day, f->name, &fd, e) : err_nomem(e);
    if (rc) {
        mem_free(f);
        return rc;
    }
    close(fd);
    f->size = PACK_HEAD;
    pthread_mutex_lock(&p->lock);
    f->next = place->files;
    place->files = f;
    pthread_mutex_unlock(&p->lock);
    *out = f;
    return 0;
}

/* Chooses the pack for a new session. */
static int choose(struct packs *p, struct pack_place *place, struct pack_file **out, struct err *e)
{
    char day[16];
    struct pack_file *f = place->files;
    day_of_today(day);
    if (f && !f->torn && f->size < PACK_MOST && strncmp(f->name, day, strlen(day)) == 0) {
        *out = f;
        return 0;
    }
    return new_file(p, place, day, out, e);
}

/* ---- a record more --------------------------------------------------------------------------- */

static int write_at_end(int fd, const struct pack_file *f, const struct pack_head *h,
                        const void *stored)
{
    if ((f->torn && ftruncate(fd, (off_t)f->size)) || lseek(fd, (off_t)f->size, SEEK_SET) < 0)
        return -errno;
    int why = file_write_shielded(fd, h, sizeof *h);
    if (why == 0)
        why = file_write_shielded(fd, stored, h->stored);
    return why || !fdatasync(fd) ? why : -errno;
}

int pack_write(struct packs *p, struct pack_place *place, struct pack_file **file,
               struct pack_head *h, const void *stored, uint64_t *at, struct err *e)
{
    char path[PATH_MAX];
    int rc = *file ? 0 : choose(p, place, file, e);
    if (rc == 0)
        rc = pack_path(p, place, (*file)->name, path, e);
    if (rc)
        return rc;
    struct pack_file *f = *file;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return failed("open", path, errno, e);
    pack_head_seal(h);
    int why = write_at_end(fd, f, h, stored);
    f->torn = why && ftruncate(fd, (off_t)f->size);
    close(fd);
    if (why)
        return failed("write", path, -why, e);
    *at = f->size;
    pthread_mutex_lock(&p->lock);
    f->size += sizeof *h + h->stored;
    pthread_mutex_unlock(&p->lock);
    return 0;
}

/* ---- written again --------------------------------------------------------------------------- */

/* Removes it from the list first: a thread that copies the packs must not look for a removed
 * file. */
static void remove_file(struct packs *p, struct pack_place *place, struct pack_file *f,
                        const char *path)
{
    pthread_mutex_lock(&p->lock);
    struct pack_file **link = &place->files;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    pthread_mutex_unlock(&p->lock);
    mem_free(f);
    if (unlink(path) && errno != ENOENT)
        log_warn("cannot delete %s, which nobody needs, before the next start: %s", path,
                 strerror(errno));
}

static int copy_record(int from, const struct pack_record *r, int to)
{
    size_t n = sizeof(struct pack_head) + r->stored;
    char *bytes = mem_alloc(n);
    int why = bytes ? pack_pread(from, bytes, n, r->at) : -ENOMEM;
    if (why == 0)
        why = file_write_shielded(to, bytes, n);
    mem_free(bytes);
    return why;
}

/* Lists the sessions of a pack, which do not change while place->writing is held. */
static int list_sessions(struct packs *p, const struct pack_file *f, struct packed ***out)
{
    size_t n = 0;
    pthread_mutex_lock(&p->lock);
    *out = mem_array(f->sessions + 1u, sizeof **out);
    for (size_t i = 0; *out && i < p->slot_count; i++)
        for (struct packed *s = p->slots[i]; s; s = s->next)
            if (s->file == f && n < f->sessions)
                (*out)[n++] = s;
    pthread_mutex_unlock(&p->lock);
    return *out ? 0 : -ENOMEM;
}

static int copy_records(struct packed *const *sessions, int from, int to)
{
    int why = file_write_shielded(to, pack_magic, PACK_HEAD);
    for (; *sessions; sessions++)
        for (size_t k = 0; k < (*sessions)->count && !why; k++)
            why = copy_record(from, &(*sessions)->records[k], to);
    return why || !fsync(to) ? why : -errno;
}

/* Gives the new file the pack's name, and notes where its records are. */
static int take_over(struct packs *p, struct pack_file *f, struct packed *const *sessions,
                     const char *path, const char *made)
{
    uint64_t at = PACK_HEAD;
    pthread_mutex_lock(&p->lock);
    int why = rename(made, path) ? -errno : 0;
    for (; !why && *sessions; sessions++)
        for (size_t k = 0; k < (*sessions)->count; k++) {
            struct pack_record *r = &(*sessions)->records[k];
            r->at = at;
            at += sizeof(struct pack_head) + r->stored;
        }
    if (!why) {
        f->size = at;
        f->dead = 0;
        f->torn = false;
    }
    pthread_mutex_unlock(&p->lock);
    return why;
}

/* Returns 0 or a negative errno. */
static int rewrite(struct packs *p, struct pack_file *f, const char *path, const char *made)
{
    struct packed **sessions;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int why = from < 0 || to < 0 ? -errno : 0;
    int listed = list_sessions(p, f, &sessions);
    why = why ? why : listed;
    if (why == 0)
        why = copy_records(sessions, from, to);
    if (why == 0)
        why = take_over(p, f, sessions, path, made);
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    mem_free(sessions);
    return why;
}

void pack_tidy(struct packs *p, struct pack_place *place, struct pack_file *f)
{
    char path[PATH_MAX], made[PATH_MAX + 8];
    if (pack_path(p, place, f->name, path, NULL))
        return;
    if (!f->sessions) {
        remove_file(p, place, f, path);
        return;
    }
    if (f->damaged || f->dead < PACK_DEAD_LEAST || f->dead < f->size / 2)
        return;
    snprintf(made, sizeof made, "%s" PACK_NEW, path);
    int why = rewrite(p, f, path, made);
    if (why == 0)
        packs_sync_folder(path, NULL);
    if (why) { /* the old pack still works, and the next deletion tries again */
        unlink(made);
        log_warn("%s is not written again, so that deleted sessions keep their room: %s", path,
                 strerror(-why));
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int copy_bytes(int from, int to, uint64_t n)
{
    enum { STEP = 1 << 20 };
    char *room = mem_alloc(STEP);
    int why = room ? 0 : -ENOMEM;
    for (uint64_t at = 0; !why && at < n;) {
        size_t step = n - at < STEP ? (size_t)(n - at) : STEP;
        why = pack_pread(from, room, step, at);
        if (why == 0)
            why = file_write_shielded(to, room, step);
        at += step;
    }
    mem_free(room);
    return why ? why : fsync(to) ? -errno : 0;
}

/* This is a pack in its present state, which stays readable because it is open. fd -1: it is
 * gone. */
struct pack_copy {
    char name[PACK_NAME];
    uint64_t size;
};

static int open_copy(struct packs *p, struct pack_place *place, const struct pack_copy *c,
                     uint64_t *size, int *fd, struct err *e)
{
    char path[PATH_MAX];
    int rc = pack_path(p, place, c->name, path, e);
    *fd = -1;
    if (rc)
        return rc;
    pthread_mutex_lock(&p->lock);
    const struct pack_file *f = place->files;
    while (f && strcmp(f->name, c->name) != 0)
        f = f->next;
    *size = f ? f->size : 0;
    if (f && (*fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        rc = failed("open", path, errno, e);
    pthread_mutex_unlock(&p->lock);
    return rc;
}

static int copy_pack(struct packs *p, struct pack_place *place, const struct pack_copy *c,
                     const char *folder, struct err *e)
{
    char path[PATH_MAX];
    uint64_t size;
    int fd, to;
    int rc = open_copy(p, place, c, &size, &fd, e);
    if (rc || fd < 0)
        return rc;
    if (path_join(path, sizeof path, folder, c->name))
        rc = err_set(e, GPUFL_E_INVAL, "the name of a folder is too long: %.200s", folder);
    to = rc ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int why = to < 0 ? -errno : copy_bytes(fd, to, size);
    if (!rc && why)
        rc = failed("write", path, -why, e);
    close(fd);
    if (to >= 0)
        close(to);
    return rc;
}

/* Lists the names of a workspace's packs. */
static int list_files(struct packs *p, const struct pack_place *place, struct pack_copy **out,
                      size_t *count, struct err *e)
{
    size_t n = 0;
    *out = NULL;
    *count = 0;
    pthread_mutex_lock(&p->lock);
    for (const struct pack_file *f = place->files; f; f = f->next)
        n++;
    if (n)
        *out = mem_array(n, sizeof **out);
    for (const struct pack_file *f = place->files; f && *out; f = f->next)
        memcpy((*out)[(*count)++].name, f->name, PACK_NAME);
    pthread_mutex_unlock(&p->lock);
    return n && !*out ? err_nomem(e) : 0;
}

/* Removes the packs of an earlier backup to this folder, which would bring back deleted
 * sessions. */
static int clean_folder(const char *folder, struct err *e)
{
    int rc = file_mkdirs(folder, 0700, e);
    if (rc == 0)
        file_remove_named(folder, "", PACK_SUFFIX);
    return rc;
}

static int backup_place(struct packs *p, struct pack_place *place, const char *folder,
                        struct err *e)
{
    struct pack_copy *files;
    size_t n;
    char to[PATH_MAX];
    if (path_join(to, sizeof to, folder, place->workspace))
        return err_set(e, GPUFL_E_INVAL, "the name of a folder is too long: %.200s", folder);
    int rc = clean_folder(to, e);
    if (rc == 0)
        rc = list_files(p, place, &files, &n, e);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < n; i++)
        rc = copy_pack(p, place, &files[i], to, e);
    mem_free(files);
    return rc;
}

int packs_backup(struct packs *p, const char *folder, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&p->lock);
    struct pack_place *place = p->places; /* places are never removed, and new ones are put first */
    pthread_mutex_unlock(&p->lock);
    for (; place && !rc; place = place->next)
        rc = backup_place(p, place, folder, e);
    return rc;
}

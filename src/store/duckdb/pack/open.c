/* open.c - finds the places of all records at the start; see pack.h.
 *
 * What a crash left after the last commit is cut off: bytes that are not a head and have no head
 * after them, or the last record if its checksum is wrong. Bytes between records that are not a
 * head are damage: the session of the lost record lacks rows, the others are read.
 *
 * A pack that cannot be read to its end is left out and not changed. It is a flaw of the store, and
 * so is each damage: the log and `gpufl-server check` report flaws. */
#include "store/duckdb/pack/inside.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"
#include "store/tables.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { FILES_MAX = 1 << 20, STEP = 64 << 10 };

/* Notes and logs a flaw. */
__attribute__((format(printf, 2, 3))) static int flaw(struct packs *p, const char *format, ...)
{
    va_list args;
    struct pack_flaw *f = mem_zalloc(sizeof *f);
    if (!f)
        return GPUFL_E_NOMEM;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    f->next = p->flaws;
    p->flaws = f;
    log_error("%s", f->text);
    return 0;
}

/* Holds a pack that is being read. */
struct scan {
    struct packs *p;
    struct pack_place *place;
    struct pack_file *file;
    int fd;
    uint64_t size; /* of the file */
    struct err *e;
};

static int unread(const struct scan *s, int why)
{
    return err_set_vendor(s->e, why == -ENOMEM ? GPUFL_E_NOMEM : GPUFL_E_IO, -why,
                          "cannot read %s/%s", s->place->workspace, s->file->name);
}

/* Returns 0 if *h gets a record's head, and all bytes of the record are there. GPUFL_E_NOENT: there
 * is no such record. */
static int head_at(const struct scan *s, uint64_t at, struct pack_head *h)
{
    int why = at + sizeof *h > s->size ? 0 : pack_pread(s->fd, h, sizeof *h, at);
    if (why)
        return unread(s, why);
    return at + sizeof *h <= s->size && pack_head_ok(h) && at + sizeof *h + h->stored <= s->size &&
                   store_id_ok(h->session)
               ? 0
               : GPUFL_E_NOENT;
}

/* Searches some bytes, which are at place `at`, for a head. GPUFL_E_NOENT: there is none. */
static int head_among(const struct scan *s, const char *bytes, size_t n, uint64_t at,
                      uint64_t *found)
{
    struct pack_head h;
    int rc = GPUFL_E_NOENT;
    for (size_t i = 0; rc == GPUFL_E_NOENT && i + 4 <= n; i++)
        if (memcmp(bytes + i, PACK_MAGIC_BYTES, 4) == 0) {
            rc = head_at(s, at + i, &h);
            *found = at + i;
        }
    return rc;
}

/* Finds the next head after a place. */
static int next_head(const struct scan *s, uint64_t at, uint64_t *found)
{
    char *room = mem_alloc(STEP);
    int rc = room ? GPUFL_E_NOENT : err_nomem(s->e);
    while (rc == GPUFL_E_NOENT && at + sizeof(struct pack_head) <= s->size) {
        size_t n = s->size - at < STEP ? (size_t)(s->size - at) : STEP;
        int why = pack_pread(s->fd, room, n, at);
        rc = why ? unread(s, why) : head_among(s, room, n, at, found);
        at += n - 3;
    }
    mem_free(room);
    return rc;
}

/* Returns 0 if the checksum of the record's bytes is right. GPUFL_E_CORRUPT: it is wrong. */
static int check_bytes(const struct scan *s, const struct pack_head *h, uint64_t at)
{
    unsigned char *bytes = mem_alloc(h->stored ? h->stored : 1);
    if (!bytes)
        return err_nomem(s->e);
    int why = pack_pread(s->fd, bytes, h->stored, at + sizeof *h);
    bool sound = !why && crc32_z(0, bytes, h->stored) == h->sum;
    mem_free(bytes);
    return why ? unread(s, why) : sound ? 0 : GPUFL_E_CORRUPT;
}

static int take_record(struct scan *s, const struct pack_head *h, uint64_t at)
{
    struct packed *of = pack_find(s->p, s->place->workspace, h->session);
    uint64_t size = sizeof *h + h->stored;
    if (h->kind == PACK_DROP) {
        s->file->dead += size;
        if (of && of->file == s->file)
            pack_forget(s->p, of);
        return 0;
    }
    if (of && of->file != s->file) {
        s->file->damaged = true; /* so that the pack is not rewritten without these records */
        return flaw(s->p,
                    "session %s of workspace %s is in two packs: what %s has of it is left out",
                    h->session, s->place->workspace, s->file->name)
                   ? err_nomem(s->e)
                   : 0;
    }
    if (!of)
        of = pack_add(s->p, s->place, h->session);
    return of && !pack_note(s->p, of, s->file, h, at) ? 0 : err_nomem(s->e);
}

/* Cuts the file off at a place. */
static void cut(struct scan *s, const char *path, uint64_t at)
{
    log_note("%s: %llu bytes of a commit that a crash broke off are cut off", path,
             (unsigned long long)(s->size - at));
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    s->file->torn = fd < 0 || ftruncate(fd, (off_t)at) || fsync(fd);
    if (fd >= 0)
        close(fd);
}

/* Moves *at to the next head. GPUFL_E_NOENT: there is none, so the pack ends here. */
static int skip(struct scan *s, uint64_t *at)
{
    uint64_t next = *at;
    int rc = next_head(s, *at, &next);
    if (rc)
        return rc;
    if (flaw(s->p,
             "%s/%s: %llu bytes from %llu on are damaged: a session of this pack may lack rows",
             s->place->workspace, s->file->name, (unsigned long long)(next - *at),
             (unsigned long long)*at))
        return err_nomem(s->e);
    s->file->dead += next - *at;
    s->file->damaged = true;
    *at = next;
    return 0;
}

static int scan_records(struct scan *s, const char *path)
{
    struct pack_head h;
    uint64_t at = PACK_HEAD;
    int rc = 0;
    while (!rc && at < s->size) {
        rc = head_at(s, at, &h);
        if (rc == GPUFL_E_NOENT) {
            rc = skip(s, &at);
            continue;
        }
        uint64_t end = at + sizeof h + h.stored;
        if (!rc && end == s->size)
            rc = check_bytes(s, &h, at);
        if (rc == 0)
            rc = take_record(s, &h, at);
        at = rc ? at : end;
    }
    s->file->size = at;
    if (rc == GPUFL_E_NOENT || rc == GPUFL_E_CORRUPT) {
        cut(s, path, at);
        rc = 0;
    }
    return rc;
}

/* Returns true for an error of the process, which says nothing about the file. */
static bool is_shortage(int why)
{
    return why == ENOMEM || why == EMFILE || why == ENFILE;
}

/* Removes what was read of a pack. */
static void forget_pack(struct packs *p, struct pack_place *place)
{
    struct pack_file *f = place->files;
    for (size_t i = 0; i < p->slot_count; i++)
        for (struct packed *s = p->slots[i], *next; s; s = next) {
            next = s->next;
            if (s->file == f)
                pack_forget(p, s);
        }
    place->files = f->next;
    mem_free(f);
}

/* Leaves a pack out: its sessions are missing, those of other packs are not. */
static int leave_out(struct packs *p, const char *path, const char *why, struct err *e)
{
    return flaw(p, "%.160s is left out, and its sessions are missing: %.100s", path, why)
               ? err_nomem(e)
               : 0;
}

/* Reads a pack with a valid head; it becomes the workspace's newest pack. */
static int take_pack(struct scan *s, const char *name, const char *path)
{
    char head[PACK_HEAD];
    int why = pack_pread(s->fd, head, sizeof head, 0);
    if (why)
        return leave_out(s->p, path, strerror(-why), s->e);
    if (memcmp(head, pack_magic, sizeof head) != 0)
        return leave_out(s->p, path,
                         "a newer version of this program wrote it, or it is damaged; put a "
                         "backup of it back",
                         s->e);
    struct pack_file *f = mem_zalloc(sizeof *f);
    if (!f)
        return err_nomem(s->e);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->next = s->place->files;
    s->place->files = s->file = f;
    int rc = scan_records(s, path);
    if (rc == GPUFL_E_IO) {
        forget_pack(s->p, s->place);
        return leave_out(s->p, path, strerror(s->e ? s->e->vendor : EIO), s->e);
    }
    if (rc == 0)
        pack_tidy(s->p, s->place, f);
    return rc;
}

static int open_pack(struct packs *p, struct pack_place *place, const char *name, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = pack_path(p, place, name, path, e);
    if (rc)
        return rc;
    struct scan s = {.p = p, .place = place, .e = e};
    s.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s.fd < 0 || fstat(s.fd, &st)) {
        rc = is_shortage(errno)
                 ? err_set_vendor(e, err_from_errno(errno), errno, "cannot open %s", path)
                 : leave_out(p, path, strerror(errno), e);
    } else if (st.st_size < PACK_HEAD) {
        unlink(path); /* there was a crash before its first commit */
    } else {
        s.size = (uint64_t)st.st_size;
        rc = take_pack(&s, name, path);
    }
    if (s.fd >= 0)
        close(s.fd);
    return rc;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Reads the names of a folder's packs and sorts them, the newest last. */
static int read_names(struct packs *p, const char *folder, char (**out)[PACK_NAME], size_t *count,
                      struct err *e)
{
    const struct dirent *entry;
    size_t cap = 0;
    int rc = 0;
    *out = NULL;
    *count = 0;
    DIR *d = opendir(folder);
    if (!d && is_shortage(errno))
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", folder);
    if (!d)
        return errno == ENOTDIR ? 0 : leave_out(p, folder, strerror(errno), e);
    while (!rc && (entry = readdir(d))) {
        if (!ends_with(entry->d_name, PACK_SUFFIX) || strlen(entry->d_name) >= PACK_NAME)
            continue;
        rc = mem_grow(out, &cap, *count + 1, sizeof **out, FILES_MAX) ? err_nomem(e) : 0;
        if (!rc)
            snprintf((*out)[(*count)++], PACK_NAME, "%s", entry->d_name);
    }
    closedir(d);
    if (*count)
        qsort(*out, *count, sizeof **out, by_name);
    return rc;
}

static int open_workspace(struct packs *p, const char *workspace, struct err *e)
{
    char folder[PATH_MAX];
    char(*names)[PACK_NAME];
    size_t n;
    if (path_join(folder, sizeof folder, p->root, workspace))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long: %s", p->root);
    /* There was a crash before it was complete. */
    file_remove_named(folder, "", PACK_SUFFIX PACK_NEW);
    int rc = read_names(p, folder, &names, &n, e);
    struct pack_place *place = rc || !n ? NULL : pack_place(p, workspace, true);
    if (!rc && n && !place)
        rc = err_nomem(e);
    for (size_t i = 0; !rc && i < n; i++)
        rc = open_pack(p, place, names[i], e);
    mem_free(names);
    return rc;
}

static int open_workspaces(struct packs *p, DIR *root, struct err *e)
{
    const struct dirent *entry;
    int rc = 0;
    while (!rc && (entry = readdir(root)))
        if (store_id_ok(entry->d_name))
            rc = open_workspace(p, entry->d_name, e);
    return rc;
}

int packs_open(struct packs **out, const char *root, struct err *e)
{
    struct packs *p = mem_zalloc(sizeof *p);
    *out = p;
    if (!p || !(p->root = mem_strdup(root))) {
        mem_free(p);
        *out = NULL;
        return err_nomem(e);
    }
    pthread_mutex_init(&p->lock, NULL);
    DIR *d = opendir(root);
    int rc = d ? open_workspaces(p, d, e)
               : err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", root);
    if (d)
        closedir(d);
    if (rc) {
        packs_close(p);
        *out = NULL;
    }
    return rc;
}

void packs_close(struct packs *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->slot_count; i++)
        while (p->slots[i]) {
            struct packed *s = p->slots[i];
            p->slots[i] = s->next;
            mem_free(s->records);
            mem_free(s);
        }
    while (p->places) {
        struct pack_place *place = p->places;
        p->places = place->next;
        while (place->files) {
            struct pack_file *f = place->files;
            place->files = f->next;
            mem_free(f);
        }
        pthread_mutex_destroy(&place->writing);
        mem_free(place);
    }
    while (p->flaws) {
        struct pack_flaw *f = p->flaws;
        p->flaws = f->next;
        mem_free(f);
    }
    pthread_mutex_destroy(&p->lock);
    mem_free(p->slots);
    mem_free(p->root);
    mem_free(p);
}

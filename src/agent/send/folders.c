/* folders.c - see folders.h.
 *
 * The table of paths is no struct keyed, because keys of a struct keyed have one length and are
 * never removed, whereas paths differ in length and are removed. */
#include "agent/send/folders.h"

#include "agent/part_head.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "base/intern.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SLOTS_LEAST = 256, DONE_LOOKS = 30 /* scans between looks at folders that are done */ };

static const int64_t DEAF_NS = 500000000; /* between looks at folders that are not watched */

/* ---- the table ----------------------------------------------------------------------------- */

static size_t slot_of(const struct folders *f, const char *path)
{
    return intern_hash(path, strlen(path)) & (f->slot_count - 1);
}

static int grow_slots(struct folders *f)
{
    size_t n = f->slot_count ? 2 * f->slot_count : SLOTS_LEAST;
    int32_t *slots = mem_array(n, sizeof *slots);
    if (!slots)
        return GPUFL_E_NOMEM;
    mem_free(f->slots);
    f->slots = slots;
    f->slot_count = n;
    memset(slots, 0xff, n * sizeof *slots);
    for (size_t i = 0; i < f->count; i++) {
        if (f->items[i].kind == FOLDER_FREE)
            continue;
        size_t s = slot_of(f, f->items[i].path);
        f->items[i].next = slots[s];
        slots[s] = (int32_t)i;
    }
    return 0;
}

static int32_t find(const struct folders *f, const char *path)
{
    int32_t i = f->slot_count ? f->slots[slot_of(f, path)] : -1;
    while (i >= 0 && strcmp(f->items[i].path, path) != 0)
        i = f->items[i].next;
    return i;
}

static int take_index(struct folders *f, int32_t *out)
{
    if (f->free >= 0) {
        *out = f->free;
        f->free = f->items[*out].next;
        return 0;
    }
    int rc = mem_grow(&f->items, &f->cap, f->count + 1, sizeof *f->items, FOLDERS_MAX);
    *out = (int32_t)f->count;
    f->count += !rc;
    return rc;
}

/* Adds a folder that is new, and reads it at once. */
static int add(struct folders *f, const char *path, int depth)
{
    int32_t i;
    if (find(f, path) >= 0)
        return 0;
    if (f->count >= f->slot_count && grow_slots(f))
        return GPUFL_E_NOMEM;
    char *copy = mem_strdup(path);
    int rc = copy ? take_index(f, &i) : GPUFL_E_NOMEM;
    if (rc) {
        mem_free(copy);
        return rc;
    }
    size_t s = slot_of(f, copy);
    f->items[i] = (struct folder){.path = copy,
                                  .kind = FOLDER_GROUP,
                                  .depth = depth,
                                  .watch = watch_add(&f->watch, copy, i),
                                  .next = f->slots[s],
                                  .stamp = -1};
    f->slots[s] = i;
    return 0;
}

void folders_remove(struct folders *f, int32_t index)
{
    struct folder *at = &f->items[index];
    int32_t *link = &f->slots[slot_of(f, at->path)];
    while (*link != index)
        link = &f->items[*link].next;
    *link = at->next;
    watch_remove(&f->watch, at->watch);
    f->sessions -= at->kind == FOLDER_SESSION;
    mem_free(at->path);
    *at = (struct folder){.next = f->free, .watch = -1};
    f->free = index;
}

/* ---- looking ------------------------------------------------------------------------------- */

/* Returns true if the name is that of a part. */
static bool is_part(const char *name)
{
    static const char *const channels[] = {"system", "scope", "device", "code", "sass"};
    char channel[PART_CHANNEL_MAX];
    int64_t number;
    if (!part_name_read(name, channel, &number))
        return false;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        if (strcmp(channel, channels[i]) == 0)
            return true;
    return false;
}

static int64_t time_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

int64_t folders_time(const char *path)
{
    struct stat st;
    return lstat(path, &st) || !S_ISDIR(st.st_mode) ? -1 : time_of(&st);
}

void folders_plan(struct folders *f, struct folder *at, int64_t now)
{
    int64_t wait = at->done ? f->scan * DONE_LOOKS : at->watch < 0 ? DEAF_NS : f->scan;
    if (at->done) /* not all of them in the same moment */
        wait += (int64_t)(intern_hash(at->path, strlen(at->path)) % (uint64_t)wait);
    at->due = now + wait;
    at->touched = 0;
}

/* Lists the kinds of other entries in a folder of sessions, of each of which the first name is
 * kept; "": none. */
enum odd { ODD_LINK, ODD_SPECIAL, ODD_FOREIGN, ODD_KINDS };
struct odd_entries {
    char names[ODD_KINDS][NAME_MAX + 1];
};

/* Notes an entry that is not read. Files that are no parts count only if their name is that of a
 * log. */
static void note_odd(struct odd_entries *o, const char *name, unsigned char type)
{
    bool special = type == DT_FIFO || type == DT_SOCK || type == DT_CHR || type == DT_BLK;
    bool foreign = type == DT_REG && strstr(name, ".log") && !is_part(name);
    enum odd kind = type == DT_LNK ? ODD_LINK : special ? ODD_SPECIAL : ODD_FOREIGN;
    if (name[0] == '.' || (kind == ODD_FOREIGN && !foreign) || *o->names[kind])
        return;
    snprintf(o->names[kind], sizeof o->names[kind], "%s", name);
}

/* Logs each kind once for a folder. */
static void report_odd(struct folder *at, const struct odd_entries *o)
{
    static const char *const texts[ODD_KINDS] = {
        [ODD_LINK] = "a link, and links are not followed",
        [ODD_SPECIAL] = "a FIFO, a socket or a device",
        [ODD_FOREIGN] = "no log of a session",
    };
    for (int kind = 0; kind < ODD_KINDS; kind++)
        if (*o->names[kind] && !(at->said & 1u << kind)) {
            log_each(LOG_NOTE, "%s/%s is left out: it is %s", at->path, o->names[kind],
                     texts[kind]);
            at->said |= (unsigned char)(1u << kind);
        }
}

/* Holds the result of reading a folder. */
struct found {
    bool session;
    struct odd_entries odd;
};

/* Handles an entry of a folder: a folder below it, or a part, which makes it a session's. */
static int look_entry(struct folders *f, int32_t index, const struct dirent *entry,
                      struct found *found)
{
    char path[PATH_MAX];
    struct stat st;
    unsigned char type = entry->d_type;
    int depth = f->items[index].depth;
    if (path_join(path, sizeof path, f->items[index].path, entry->d_name))
        return 0;
    if (type == DT_UNKNOWN && lstat(path, &st) == 0)
        type = (unsigned char)IFTODT(st.st_mode);
    note_odd(&found->odd, entry->d_name, type);
    if (type == DT_REG)
        found->session |= is_part(entry->d_name);
    if (type == DT_DIR && strcmp(entry->d_name, ".tmp") == 0)
        found->session = true; /* of the public client, which writes there first */
    if (type != DT_DIR || entry->d_name[0] == '.' || depth >= FOLDERS_DEPTH)
        return 0;
    return add(f, path, depth + 1);
}

static int look(struct folders *f, int32_t index, int64_t now)
{
    struct folder *at = &f->items[index];
    struct dirent *entry;
    struct found found = {0};
    int rc = 0;
    int64_t stamp = folders_time(at->path);
    if (stamp == at->stamp && stamp >= 0 && now < at->due && !at->touched)
        return 0;
    DIR *dir = stamp < 0 ? NULL : opendir(at->path);
    if (!dir && at->depth && (stamp < 0 || errno == ENOENT)) {
        folders_remove(f, index);
        return 0;
    }
    if (!dir) {
        f->unreadable += at->stamp != -2;
        if (at->stamp != -2)
            log_warn("%s cannot be read: %s", at->path, strerror(errno));
        at->stamp = -2;
    }
    while (dir && !rc && (entry = readdir(dir)))
        rc = look_entry(f, index, entry, &found);
    if (dir)
        closedir(dir);
    at = &f->items[index];
    if (dir && found.session) {
        at->kind = FOLDER_SESSION;
        at->stamp = -1; /* the session's view decides when it is read */
        at->touched = 0;
        at->due = now;
        f->sessions++;
        return rc;
    }
    report_odd(at, &found.odd);
    at->stamp = dir ? stamp : at->stamp;
    folders_plan(f, at, now);
    return rc;
}

struct touching {
    struct folders *f;
    int64_t now;
};

static void touch(void *arg, int32_t tag)
{
    struct touching *t = arg;
    struct folder *at = &t->f->items[tag];
    if (!at->touched)
        at->touched = t->now;
}

int folders_look(struct folders *f, int64_t now, struct err *e)
{
    struct touching t = {f, now};
    bool missed;
    watch_take(&f->watch, touch, &t, &missed);
    for (size_t i = 0; missed && i < f->count; i++)
        f->items[i].touched = now;
    for (size_t i = 0; i < f->count; i++) {
        struct folder *at = &f->items[i];
        if (at->kind == FOLDER_GROUP && (at->touched || now >= at->due) &&
            look(f, (int32_t)i, now) == GPUFL_E_NOMEM)
            return err_nomem(e);
    }
    return 0;
}

int64_t folders_next(const struct folders *f, int64_t delay)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < f->count; i++) {
        const struct folder *at = &f->items[i];
        if (at->kind == FOLDER_FREE)
            continue;
        int64_t due = at->touched && at->touched + delay < at->due ? at->touched + delay : at->due;
        next = due < next ? due : next;
    }
    return next;
}

/* ---- open and close ------------------------------------------------------------------------ */

static int check_source(const char *path, struct err *e)
{
    struct stat st;
    if (stat(path, &st))
        return err_set_vendor(e, err_from_errno(errno), errno, "the source %s cannot be read",
                              path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, GPUFL_E_INVAL, "the source %s is no folder", path);
    return 0;
}

int folders_open(struct folders *f, const char *const *sources, size_t count, int64_t scan,
                 bool no_inotify, struct err *e)
{
    char real[PATH_MAX];
    int rc = 0;
    *f = (struct folders){.free = -1, .scan = scan};
    watch_open(&f->watch, no_inotify);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = check_source(sources[i], e);
        if (!rc && !realpath(sources[i], real))
            rc = err_set_vendor(e, err_from_errno(errno), errno, "the source %s", sources[i]);
        if (!rc && add(f, real, 0))
            rc = err_nomem(e);
    }
    if (rc)
        folders_close(f);
    return rc;
}

void folders_close(struct folders *f)
{
    for (size_t i = 0; i < f->count; i++)
        mem_free(f->items[i].path);
    mem_free(f->items);
    mem_free(f->slots);
    watch_close(&f->watch);
    *f = (struct folders){.free = -1, .watch = {.fd = -1}};
}

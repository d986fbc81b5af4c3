/* view.c - see view.h. */
#include "agent/send/view.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/process/alive.h"
#include "wire/end.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL = 64 << 10, GAPS_MOST = 1 << 20, TICK = 50000000 /* ns, more than any */ };

/* ---- gaps ---------------------------------------------------------------------------------- */

int course_add_gap(struct course *c, int64_t from, int64_t to)
{
    size_t i = c->gap_count;
    while (i && c->gaps[i - 1].from > from)
        i--;
    if (i && c->gaps[i - 1].to >= to)
        return 0; /* known */
    int rc = mem_grow(&c->gaps, &c->gap_cap, c->gap_count + 1, sizeof *c->gaps, GAPS_MOST);
    if (rc)
        return rc;
    memmove(c->gaps + i + 1, c->gaps + i, (c->gap_count - i) * sizeof *c->gaps);
    c->gaps[i] = (struct part_gap){from, to};
    c->gap_count++;
    return 0;
}

bool course_has_gap(const struct course *c, int64_t from, int64_t to)
{
    for (size_t i = 0; i < c->gap_count; i++)
        if (c->gaps[i].from <= from && c->gaps[i].to >= to)
            return true;
    return false;
}

/* ---- open and close ------------------------------------------------------------------------ */

int view_open(struct view **out, int32_t folder, const char *path, struct err *e)
{
    struct view *v = mem_zalloc(sizeof *v);
    *out = NULL;
    if (v)
        v->path = mem_strdup(path);
    if (!v || !v->path) {
        mem_free(v);
        return err_nomem(e);
    }
    v->folder = folder;
    v->stamp = -1;
    v->fresh = v->pending = true;
    *out = v;
    return 0;
}

/* Returns the mark that remains for a channel that was handled completely; -1: none. */
static int64_t last_mark(const struct view *v, const struct course *c, const struct cursor *cursor)
{
    return cursor && cursor_keeps_marks(cursor) && !v->settled ? c->at : -1;
}

static void close_work(const struct view *v, struct work *w, struct cursor *cursor)
{
    for (size_t i = 0; i < w->course_count; i++) {
        struct course *c = &w->courses[i];
        bool ours = !w->session || w->session->ours;
        bool sure = c->at >= c->server && c->at >= c->tried; /* no body is in doubt */
        int64_t last = last_mark(v, c, cursor);
        if (cursor && (c->mark >= 0 || last >= 0) && (w->closed || (ours && sure)))
            (void)cursor_set_mark(cursor, w->id, c->channel, last, false, NULL);
        mem_free(c->gaps);
    }
    mem_free(w->courses);
}

void view_close(struct view *v, struct cursor *cursor)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->work_count; i++)
        close_work(v, &v->works[i], cursor);
    mem_free(v->works);
    upload_sessions_close(&v->list);
    mem_free(v->path);
    mem_free(v);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Drops parts that are not regular files of the folder itself. */
static void drop_links(struct view *v, struct upload_session *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct stat st;
        const struct ship_part *p = &s->parts[i];
        if (lstat(p->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == p->head.file.inode) {
            s->parts[n++] = *p;
        } else if (!v->said) {
            log_each(LOG_WARN, "%s is left out: it is a link, or no file", p->path);
            v->said = true;
        }
    }
    s->count = n;
}

static struct work *find_work(struct view *v, const char *id)
{
    for (size_t i = 0; i < v->work_count; i++)
        if (strcmp(v->works[i].id, id) == 0)
            return &v->works[i];
    return NULL;
}

static int load_gaps(struct course *c, const struct work *w, const struct view_context *x,
                     struct err *e)
{
    struct letter *all;
    size_t count;
    int rc = letters_list(x->letters, w->id, c->channel, &all, &count, e);
    for (size_t i = 0; !rc && i < count; i++)
        if (!all[i].window && course_add_gap(c, all[i].offset, all[i].offset + all[i].length))
            rc = err_nomem(e);
    mem_free(all);
    return rc;
}

/* Binds the course of a channel, with its parts as they are now. */
static int bind_course(struct work *w, const struct ship_part *parts, size_t count,
                       const struct view_context *x, struct err *e)
{
    struct course *c = NULL;
    for (size_t i = 0; i < w->course_count; i++)
        if (strcmp(w->courses[i].channel, parts->channel) == 0)
            c = &w->courses[i];
    int rc = 0;
    if (!c) {
        rc = mem_grow(&w->courses, &w->course_cap, w->course_count + 1, sizeof *c, REMOTE_CHANNELS);
        if (rc) /* more channels than a server accepts: the rest is left out */
            return rc == GPUFL_E_FULL ? 0 : err_nomem(e);
        c = &w->courses[w->course_count++];
        *c = (struct course){.server = -1, .piece = x->batch, .uncut = x->batch};
        memcpy(c->channel, parts->channel, sizeof c->channel);
        c->mark = c->at = cursor_mark(x->cursor, w->id, c->channel);
        rc = load_gaps(c, w, x, e);
        w->asked = false;
    }
    c->parts = parts;
    c->count = count;
    c->caught = c->blocked = false;
    return rc;
}

/* A log without its head is taken for the public client's, whose places are numbers of windows.
 * When the head comes, these places are invalid: a number of a window is no count of bytes. */
static void forget_places(struct work *w, struct cursor *cursor)
{
    for (size_t i = 0; i < w->course_count; i++) {
        struct course *c = &w->courses[i];
        if (c->mark >= 0)
            (void)cursor_set_mark(cursor, w->id, c->channel, -1, false, NULL);
        mem_free(c->gaps);
    }
    w->course_count = 0;
    w->asked = w->checked = w->named = w->closed = false;
    w->rejected = 0;
}

static int bind_work(struct view *v, struct upload_session *s, const struct view_context *x,
                     struct err *e)
{
    struct work *w = find_work(v, s->id);
    drop_links(v, s);
    if (w && w->ours != s->ours)
        forget_places(w, x->cursor);
    if (!w) {
        if (mem_grow(&v->works, &v->work_cap, v->work_count + 1, sizeof *w, VIEW_WORKS))
            return err_nomem(e);
        w = &v->works[v->work_count++];
        *w = (struct work){0};
        memcpy(w->id, s->id, sizeof w->id);
    }
    w->session = s;
    w->ours = s->ours;
    int rc = 0;
    for (size_t i = 0; i < w->course_count; i++)
        w->courses[i].count = 0;
    for (size_t i = 0, n; !rc && i < s->count; i += n) {
        for (n = 1; i + n < s->count && !strcmp(s->parts[i + n].channel, s->parts[i].channel);)
            n++;
        rc = bind_course(w, s->parts + i, n, x, e);
    }
    return rc;
}

/* Logs that a part has lost bytes since the last look; the present contents do not show that. */
static void report_shorter(const struct ship_part *p, int64_t size)
{
    if (size < p->bytes)
        log_warn("%s got shorter, from %lld bytes to %lld: what it loses cannot be sent", p->path,
                 (long long)p->bytes, (long long)size);
}

/* Returns true if the part was rotated since: a file with another number begins at the same
 * place. */
static bool is_rotated(const struct upload_sessions *now, const struct ship_part *before)
{
    for (size_t i = 0; i < now->count; i++)
        for (size_t k = 0; k < now->items[i].count; k++) {
            const struct ship_part *p = &now->items[i].parts[k];
            if (p->number != DISCOVER_LIVE && p->head.offset == before->head.offset &&
                strcmp(p->channel, before->channel) == 0)
                return true;
        }
    return false;
}

/* Returns the number of bytes of the part's file; -1: it is gone, or another file has its name
 * since a rotation. */
static int64_t size_of(const struct ship_part *p)
{
    struct stat st;
    int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool same = fd >= 0 && file_is(fd, p->head.file) && fstat(fd, &st) == 0;
    if (fd >= 0)
        close(fd);
    return same ? (int64_t)st.st_size : -1;
}

/* Returns the sizes of the files of the list's live parts, in the list's order; -1: no live part,
 * or gone. A cut file may have lost the head by which its part is known, so the files themselves
 * are asked: before the folder is listed again, since a rotation after that would look like a cut.
 * NULL: no memory. */
static int64_t *sizes_of(const struct upload_sessions *list)
{
    size_t count = 0, n = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].count;
    int64_t *sizes = mem_array(count + 1, sizeof *sizes);
    for (size_t i = 0; sizes && i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++) {
            const struct ship_part *p = &list->items[i].parts[k];
            sizes[n++] = p->number == DISCOVER_LIVE ? size_of(p) : -1;
        }
    return sizes;
}

static void report_all_shorter(const struct view *v, const int64_t *sizes,
                               const struct upload_sessions *now)
{
    for (size_t i = 0, n = 0; i < v->list.count; i++)
        for (size_t k = 0; k < v->list.items[i].count; k++, n++) {
            const struct ship_part *p = &v->list.items[i].parts[k];
            if (sizes[n] >= 0 && sizes[n] < p->bytes && !is_rotated(now, p))
                report_shorter(p, sizes[n]);
        }
}

/* Logs once that the folder has a FIFO, a socket or a device with a log's name, or a log that
 * cannot be a session's. */
static void report_odd(struct view *v, DIR *d, const char *name, const struct stat *st)
{
    char first = '{';
    if (S_ISREG(st->st_mode) && st->st_size > 0 && !v->list.count && !v->said_foreign) {
        int fd = openat(dirfd(d), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        v->said_foreign = fd >= 0 && read(fd, &first, 1) == 1 && first != '{';
        if (fd >= 0)
            close(fd);
        if (v->said_foreign)
            log_each(LOG_NOTE, "%s/%s is left out: it is no log of a session", v->path, name);
    }
    if (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) || S_ISDIR(st->st_mode) || v->said_special)
        return;
    log_each(LOG_WARN, "%s/%s is left out: it is a FIFO, a socket or a device", v->path, name);
    v->said_special = true;
}

/* Returns the number of live parts that are empty, even without a head. Such a part belongs to no
 * channel, and its first bytes do not change the folder's time. */
static unsigned count_empty(struct view *v)
{
    DIR *d = opendir(v->path);
    struct stat st;
    unsigned n = 0;
    for (struct dirent *entry; d && (entry = readdir(d));) {
        size_t len = strlen(entry->d_name);
        if (len <= 4 || strcmp(entry->d_name + len - 4, ".log") != 0 ||
            fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        report_odd(v, d, entry->d_name, &st);
        n += S_ISREG(st.st_mode) && st.st_size == 0;
    }
    if (d)
        closedir(d);
    return n;
}

static int read_again(struct view *v, const struct view_context *x, struct err *e)
{
    struct upload_sessions fresh;
    int64_t stamp = folders_time(v->path);
    v->empty = count_empty(v);
    int64_t *sizes = sizes_of(&v->list);
    int rc = sizes ? upload_sessions_open(&fresh, v->path, NULL, 0, e) : err_nomem(e);
    if (!rc)
        report_all_shorter(v, sizes, &fresh);
    mem_free(sizes);
    if (rc)
        return rc;
    upload_sessions_close(&v->list);
    v->list = fresh;
    /* Two changes within a tick of the system's clock have one time. A time in the future is from
     * before the clock was set back: a further change would have another time. */
    int64_t age = clock_real() - stamp;
    v->stamp = age >= 0 && age < TICK ? -1 : stamp;
    v->ended = 0;
    for (size_t i = 0; i < v->work_count; i++)
        v->works[i].session = NULL;
    for (size_t i = 0; !rc && i < v->list.count; i++)
        rc = bind_work(v, &v->list.items[i], x, e);
    v->fresh = rc != 0;
    v->pending = true;
    return rc;
}

/* ---- while lines are appended -------------------------------------------------------------- */

/* Returns true if the end of an uncompressed file has the session's end. */
static bool tail_ends(const struct ship_part *p)
{
    static char tail[TAIL + 1];
    int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int64_t from = p->bytes > TAIL ? p->bytes - TAIL : 0;
    size_t n = (size_t)(p->bytes - from);
    bool ends = false;
    if (fd >= 0 && file_read_at(fd, (uint64_t)from, tail, n))
        for (char *at = tail, *lf; !ends && (lf = memchr(at, '\n', n - (size_t)(at - tail)));
             at = lf + 1)
            ends = wire_line_ends(at, (size_t)(lf - at));
    if (fd >= 0)
        close(fd);
    return ends;
}

/* Reads the size of a part that may grow. True: there are new bytes. */
static bool look_part(struct view *v, struct ship_part *p, bool system)
{
    int64_t size = file_size(p->path), before = p->bytes;
    if (size == before)
        return false;
    report_shorter(p, size);
    v->fresh |= size < before;
    p->bytes = size;
    if (system && size > 0 && tail_ends(p))
        v->fresh = true;
    return true;
}

static void look_sizes(struct view *v)
{
    for (size_t i = 0; i < v->work_count; i++) {
        struct work *w = &v->works[i];
        struct upload_session *s = (struct upload_session *)w->session;
        if (!s)
            continue;
        for (size_t k = 0; k < s->count; k++) {
            struct ship_part *p = &s->parts[k];
            if (p->number != DISCOVER_LIVE || !look_part(v, p, !strcmp(p->channel, "system")))
                continue;
            v->pending = true;
            for (size_t n = 0; n < w->course_count; n++)
                if (strcmp(w->courses[n].channel, p->channel) == 0)
                    w->courses[n].caught = false;
        }
        const struct part_head *h = s->count ? &s->parts[0].head : NULL;
        if (h && s->state == UPLOAD_RUNNING && s->ours && !process_runs(h->pid, h->start))
            v->fresh = true; /* the program has died: its last lines are there */
    }
}

int view_refresh(struct view *v, const struct view_context *x, struct err *e)
{
    bool theirs = false;
    for (size_t i = 0; i < v->list.count; i++)
        theirs |= !v->list.items[i].ours;
    if (v->empty && count_empty(v) != v->empty)
        v->fresh = true; /* a channel has begun */
    if (!v->fresh && !theirs && folders_time(v->path) == v->stamp)
        look_sizes(v);
    else
        v->fresh = true;
    return v->fresh ? read_again(v, x, e) : 0;
}

/* ---- asking -------------------------------------------------------------------------------- */

bool view_is_live(const struct view *v)
{
    for (size_t i = 0; i < v->list.count; i++)
        if (v->list.items[i].state == UPLOAD_RUNNING)
            return true;
    return false;
}

bool view_caught_up(const struct view *v)
{
    for (size_t i = 0; i < v->work_count; i++)
        for (size_t k = 0; v->works[i].session && k < v->works[i].course_count; k++) {
            const struct course *c = &v->works[i].courses[k];
            if (c->count && !c->caught && !c->blocked)
                return false;
        }
    return true;
}

bool view_is_done(const struct view *v)
{
    for (size_t i = 0; i < v->work_count; i++)
        if (v->works[i].session && !v->works[i].closed)
            return false;
    return !v->fresh;
}

int64_t view_waiting(const struct view *v)
{
    int64_t sum = 0;
    for (size_t i = 0; i < v->work_count; i++)
        for (size_t k = 0; v->works[i].session && k < v->works[i].course_count; k++) {
            const struct course *c = &v->works[i].courses[k];
            if (c->caught)
                continue;
            for (size_t n = 0; n < c->count; n++)
                sum += c->parts[n].head.offset + c->parts[n].bytes > c->at ? c->parts[n].bytes : 0;
        }
    return sum;
}

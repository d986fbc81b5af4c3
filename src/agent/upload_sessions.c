/* upload_sessions.c - see upload_sessions.h. */
#include "agent/upload_sessions.h"

#include "base/alloc.h"
#include "base/packed/lines.h"
#include "base/process/alive.h"
#include "wire/encode.h"
#include "wire/end.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *text;
} states[] = {
#define UPLOAD_STATE_ROW(id, name, text) {name, text},
    UPLOAD_STATES(UPLOAD_STATE_ROW)
#undef UPLOAD_STATE_ROW
};

const char *upload_state_name(enum upload_state s)
{
    return states[s].name;
}

const char *upload_state_text(enum upload_state s)
{
    return states[s].text;
}

/* ---- whether it ended ---------------------------------------------------------------------- */

static bool part_ends(const char *path)
{
    struct lines *l;
    struct err e;
    char *line;
    size_t len;
    bool complete, ended = false;
    if (lines_open(&l, path, WIRE_MAX_LINE, &e))
        return false;
    while (!ended && lines_next(l, &line, &len, &complete))
        ended = complete && wire_line_ends(line, len);
    lines_close(l);
    return ended;
}

/* The end is in the newest part of the system channel; in the public client's logs it may be in any
 * part. */
static bool session_has_end(const struct upload_session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct ship_part *p = &s->parts[i];
        bool newest = i + 1 == s->count || strcmp(p->channel, p[1].channel) != 0;
        if (newest && (!s->ours || strcmp(p->channel, "system") == 0) && part_ends(p->path))
            return true;
    }
    return false;
}

/* ---- what became of its program ------------------------------------------------------------ */

static bool is_packed(const struct upload_session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *dot = strrchr(s->parts[i].path, '.');
        if (!dot || (strcmp(dot, ".gz") != 0 && strcmp(dot, ".zst") != 0))
            return false;
    }
    return true;
}

static enum upload_state state_of_ours(const struct upload_session *s, const struct part_head *h)
{
    char here[PART_TEXT_MAX] = "";
    if (session_has_end(s))
        return UPLOAD_ENDED;
    if (is_packed(s))
        return UPLOAD_DIED; /* only a log that no process writes to is compressed completely */
    (void)gethostname(here, sizeof here - 1);
    if (!*h->host || strcmp(h->host, here) != 0 || !h->pid)
        return UPLOAD_UNKNOWN;
    return process_runs(h->pid, h->start) ? UPLOAD_RUNNING : UPLOAD_DIED;
}

/* The public client has a lock while it writes. 1: locked, 0: free, -1: there is no lock file. */
static int writer_lock(const char *dir)
{
    char path[PATH_MAX];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (path_join(path, sizeof path, dir, ".gpufl-session.lock"))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int held = fcntl(fd, F_GETLK, &lock) == 0 ? lock.l_type != F_UNLCK : -1;
    close(fd);
    return held;
}

static enum upload_state state_of_theirs(const struct upload_session *s, size_t left)
{
    int lock = writer_lock(s->dir);
    if (lock > 0)
        return UPLOAD_RUNNING;
    if (session_has_end(s))
        return UPLOAD_ENDED;
    if (left && lock < 0)
        return UPLOAD_UNKNOWN;
    return UPLOAD_DIED;
}

/* ---- one session --------------------------------------------------------------------------- */

/* Returns the number after all numbered parts of the part's channel. */
static int64_t next_number(const struct upload_session *s, const struct ship_part *p)
{
    int64_t highest = 0;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->parts[i].channel, p->channel) == 0 && s->parts[i].number > highest &&
            s->parts[i].number != DISCOVER_LIVE)
            highest = s->parts[i].number;
    return highest + 1;
}

/* Sorts parts by channel, in the order found, then by number. */
static void order(struct upload_session *s)
{
    for (size_t i = 1; i < s->count; i++) {
        struct ship_part p = s->parts[i];
        size_t at = i, same = i;
        while (same && strcmp(s->parts[same - 1].channel, p.channel) != 0)
            same--;
        if (!same || same == i)
            continue; /* the first of its channel, or next to the others of it */
        for (; at > same; at--)
            s->parts[at] = s->parts[at - 1];
        s->parts[at] = p;
    }
}

static int take_part(struct upload_session *s, const struct discover_part *d, struct err *e)
{
    struct ship_part *p = &s->parts[s->count];
    int64_t number;
    *p = (struct ship_part){.path = d->path, .number = d->number, .bytes = d->bytes};
    int rc = part_head_read(d->path, &p->head, e);
    if (rc)
        return rc;
    /* The size is smaller if the part was rotated before its head was read. */
    int64_t bytes = file_size(d->path);
    p->bytes = bytes >= 0 && bytes < p->bytes ? bytes : p->bytes;
    if (p->head.ours && *p->head.channel)
        memcpy(p->channel, p->head.channel, sizeof p->channel);
    else if (!part_name_read(d->path, p->channel, &number))
        return err_set(e, GPUFL_E_INVAL,
                       "%s is one file; name the directory of the session that it belongs to",
                       d->path);
    s->count++;
    return 0;
}

/* Reads the header's values from the parts, and the session's kind: a part of our format shows it
 * in its first line; an empty part shows nothing. */
static const struct part_head *learn(struct upload_session *s, const char *name)
{
    const struct part_head *head = &s->parts[0].head;
    s->ours = false;
    for (size_t i = 0; i < s->count; i++) {
        s->ours |= s->parts[i].head.ours;
        if (s->parts[i].head.session[0] && !head->session[0])
            head = &s->parts[i].head;
    }
    snprintf(s->id, sizeof s->id, "%s", *head->session ? head->session : name);
    memcpy(s->app, head->app, sizeof s->app);
    memcpy(s->host, head->host, sizeof s->host);
    return head;
}

/* Chooses the parts of the session's kind. A part of ours that nothing tells so, since its first
 * lines are damaged, cannot be sent. */
static void choose(struct upload_session *s, bool *keep)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct ship_part *p = &s->parts[i];
        keep[i] = p->head.ours == s->ours;
        if (keep[i] || !s->ours || !p->bytes || p->head.session[0])
            continue;
        if (!s->unread++)
            s->unread_path = p->path;
    }
}

/* Drops the parts for which keep is false. */
static void keep_parts(struct upload_session *s, const bool *keep)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (keep[i])
            s->parts[n++] = s->parts[i];
    s->count = n;
}

/* Parts that the public client has not published wait while their writer lives; once it has ended
 * they are the last ones. */
static void settle_windows(struct upload_session *s, const bool *left, bool *keep)
{
    for (size_t i = 0; i < s->count; i++) {
        keep[i] = !left[i] || upload_state_over(s->state);
        s->waiting += !keep[i];
        if (s->parts[i].number == DISCOVER_LIVE)
            s->parts[i].number = next_number(s, &s->parts[i]);
    }
    keep_parts(s, keep);
}

static int read_session(struct upload_session *s, const struct discover_session *d, struct err *e)
{
    bool *left = mem_array(2 * d->count, sizeof *left);
    s->parts = mem_array(d->count, sizeof *s->parts);
    s->dir = d->dir;
    s->missing = d->missing;
    if (!left || !s->parts) {
        mem_free(left);
        return err_nomem(e);
    }
    size_t lefts = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < d->count; i++) {
        left[i] = d->parts[i].left;
        lefts += left[i];
        rc = take_part(s, &d->parts[i], e);
    }
    if (!rc) {
        const struct part_head *head = learn(s, d->name);
        bool *keep = left + d->count;
        choose(s, keep);
        s->state = s->ours ? state_of_ours(s, head) : state_of_theirs(s, lefts);
        if (s->ours)
            keep_parts(s, keep);
        else
            settle_windows(s, left, keep);
        order(s);
        for (size_t i = 0; i < s->count; i++)
            s->bytes += s->parts[i].bytes;
    }
    mem_free(left);
    return rc;
}

/* ---- all of them --------------------------------------------------------------------------- */

void upload_sessions_close(struct upload_sessions *u)
{
    for (size_t i = 0; i < u->count; i++)
        mem_free(u->items[i].parts);
    mem_free(u->items);
    discover_close(&u->found);
    *u = (struct upload_sessions){0};
}

/* Drops the sessions that are not wanted. */
static int select_wanted(struct upload_sessions *u, const char *const *wanted, size_t count,
                         struct err *e)
{
    size_t n = 0;
    for (size_t w = 0; w < count; w++) {
        size_t fits = 0;
        for (size_t i = 0; i < u->count; i++)
            fits += strncmp(u->items[i].id, wanted[w], strlen(wanted[w])) == 0;
        if (!*wanted[w] || fits != 1)
            return err_set(e, GPUFL_E_INVAL, "%zu of %zu sessions there begin with '%s'",
                           *wanted[w] ? fits : u->count, u->count, wanted[w]);
    }
    for (size_t i = 0; i < u->count && count; i++) {
        bool keep = false;
        for (size_t w = 0; w < count; w++)
            keep |= strncmp(u->items[i].id, wanted[w], strlen(wanted[w])) == 0;
        if (keep)
            u->items[n++] = u->items[i];
        else
            mem_free(u->items[i].parts);
    }
    u->count = count ? n : u->count;
    return 0;
}

int upload_sessions_open(struct upload_sessions *u, const char *path, const char *const *wanted,
                         size_t wanted_count, struct err *e)
{
    *u = (struct upload_sessions){0};
    int rc = discover_open(&u->found, path, e);
    if (rc)
        return rc;
    u->items = mem_array(u->found.count, sizeof *u->items);
    if (!u->items) {
        discover_close(&u->found);
        return err_nomem(e);
    }
    while (!rc && u->count < u->found.count) {
        rc = read_session(&u->items[u->count], &u->found.sessions[u->count], e);
        u->count++;
    }
    if (!rc)
        rc = select_wanted(u, wanted, wanted_count, e);
    if (rc)
        upload_sessions_close(u);
    return rc;
}

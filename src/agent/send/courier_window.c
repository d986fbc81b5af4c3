/* courier_window.c - sends one window of the public client: it counts as a whole, and lines that
 * the server leaves out are set aside. */
#include "agent/send/courier.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

enum { GZIP_LEVEL = 1 };

/* Returns the first window of the channel that was not handled; NULL: none. */
static const struct ship_part *next_window(const struct course *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->parts[i].number > o->at)
            return &o->parts[i];
    return NULL;
}

/* Stores the lines that the server left out of a window as dead letters. *dealt: false if the
 * window must be sent again without the lines that the answer named, so that the server names
 * others. */
static int put_lines(struct courier *c, struct errand *x, const struct part_gap *gaps, size_t count,
                     bool *dealt)
{
    struct course *o = x->course;
    const struct remote_answer *a = &x->answer;
    unsigned added = 0;
    int rc = courier_put_lines_aside(c, x, gaps, count, &added);
    uint64_t more = a->rejected > a->error_count ? a->rejected - a->error_count : 0;
    *dealt = !rc && !(more && added);
    if (rc)
        return rc;
    /* A server that does not read a window twice names no others. */
    uint64_t unnamed = !*dealt ? 0 : a->rejected ? a->rejected - added : o->unnamed;
    o->unnamed = *dealt ? 0 : more;
    if (unnamed) {
        COURIER_COUNT(c, unnamed_lines, unnamed);
        log_each(LOG_WARN, "session %s: the server left %llu lines of %s out and did not name them",
                 x->work->id, (unsigned long long)unnamed, path_base(x->part->path));
    }
    return 0;
}

static enum courier_step follow_window(struct courier *c, struct view *v, struct errand *x,
                                       const struct part_gap *gaps, size_t count)
{
    struct course *o = x->course;
    const struct remote_answer *a = &x->answer;
    if (a->status / 100 == 2) {
        COURIER_COUNT(c, bodies, 1);
        COURIER_COUNT(c, lines, a->repeated ? 0 : a->accepted);
        bool dealt;
        if (put_lines(c, x, gaps, count, &dealt))
            return courier_not_aside(c, v, x);
        if (!dealt)
            return COURIER_ON;
    } else if (a->status == 415 && c->pack == PART_ZSTD) {
        c->pack = PART_GZIP;
        return COURIER_ON;
    } else if (courier_put_body_aside(c, x)) {
        return courier_not_aside(c, v, x);
    }
    if (cursor_set_mark(c->cursor, x->work->id, o->channel, x->part->number, false, &x->e))
        return courier_disk(c, &x->e);
    o->at = o->mark = x->part->number;
    return COURIER_ON;
}

/* Returns true if the file, which was empty at the last look, has a head of our format now: then it
 * is no window. */
static bool has_become_ours(const struct errand *x)
{
    struct part_head head;
    struct err unused;
    return part_head_read(x->part->path, &head, &unused) == 0 && head.ours;
}

static enum courier_step send_window(struct courier *c, struct view *v, struct errand *x,
                                     const struct part_gap *gaps, size_t count)
{
    struct ship_sidecar sidecar;
    struct part_stream *s;
    bool good;
    ship_sidecar_read(x->part, &sidecar);
    const struct part_range range = {.pack = c->pack,
                                     .level = GZIP_LEVEL,
                                     .most = count ? INT64_MAX / 4 : 0,
                                     .blank = gaps,
                                     .blank_count = count};
    if (part_stream_open(&s, x->part->path, x->part->head.file, &range, &x->e))
        return courier_unreadable(c, v, x);
    struct remote_body b = {.offset = -1,
                            .window_id = *sidecar.id ? sidecar.id : NULL,
                            .window_sequence = x->part->number,
                            .window_crc32 = part_stream_whole(s) ? sidecar.crc32 : -1};
    enum courier_step step = COURIER_HELD;
    if (part_stream_empty(s)) {
        x->course->at = x->part->number;
        step = COURIER_ON;
    } else if (has_become_ours(x)) {
        v->fresh = v->pending = true;
        step = COURIER_LEFT;
    } else if (courier_may_send(c)) {
        courier_send_stream(c, x, s, &b);
        bool ours = part_stream_error(s)->code != 0;
        step = ours ? courier_unreadable(c, v, x) : courier_judge(c, x, &good);
        if (!ours && step == COURIER_ON)
            step = follow_window(c, v, x, gaps, count);
    }
    part_stream_close(s);
    return step;
}

enum courier_step courier_windows(struct courier *c, struct view *v, struct errand *x)
{
    struct part_gap *gaps;
    size_t count;
    x->part = next_window(x->course);
    if (!x->part)
        return COURIER_CAUGHT;
    if (courier_window_gaps(c, x, &gaps, &count))
        return courier_disk(c, &x->e);
    enum courier_step step = send_window(c, v, x, gaps, count);
    mem_free(gaps);
    return step;
}

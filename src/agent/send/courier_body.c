/* courier_body.c - sends one body: a piece of a channel, or a dead letter. */
#include "agent/send/courier.h"

#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STUCK_MOST = 3, CUTS_MOST = 2, CONFLICTS = 20, GZIP_LEVEL = 1, WHOLE_MOST = 32 << 20 };
enum { UNCUT_LEAST = 64 << 10, UNCUT_STEP = 16 };

static const int64_t MARK_STEP = 4 << 20; /* plain bytes by which a mark may lag */

/* ---- a body --------------------------------------------------------------------------------- */

static int64_t read_stream(void *arg, char *out, size_t size)
{
    return part_stream_read(arg, out, size);
}

static int64_t plain_of(void *arg)
{
    return part_stream_plain(arg);
}

void courier_send_stream(struct courier *c, struct errand *x, struct part_stream *s,
                         struct remote_body *b)
{
    b->session = x->work->id;
    b->host = x->work->session->host;
    b->channel = x->course->channel;
    b->read = read_stream;
    b->size = part_stream_size(s);
    b->encoding = part_stream_encoding(s);
    b->plain = plain_of;
    b->arg = s;
    x->e = (struct err){0};
    x->rc = remote_send(c->remote, b, &x->answer, &x->e);
    if (part_stream_error(s)->code)
        x->e = *part_stream_error(s);
    x->plain = part_stream_plain(s);
    courier_paid(c, x->answer.sent);
}

enum courier_step courier_unreadable(struct courier *c, struct view *v, struct errand *x)
{
    if (x->e.code == GPUFL_E_NOENT) {
        v->fresh = v->pending = true;
        return COURIER_LEFT;
    }
    return courier_block(c, x, "%s", x->e.text);
}

enum courier_step courier_not_aside(struct courier *c, struct view *v, struct errand *x)
{
    if (x->e.code == GPUFL_E_NOENT || x->e.code == GPUFL_E_CORRUPT)
        return courier_unreadable(c, v, x);
    return courier_disk(c, &x->e);
}

/* ---- by offset ------------------------------------------------------------------------------ */

/* Returns the part that has the position: the last one that does not begin after it. */
static const struct ship_part *part_at(const struct course *c)
{
    const struct ship_part *found = NULL;
    for (size_t i = 0; i < c->count && c->parts[i].head.offset <= c->at; i++)
        found = &c->parts[i];
    return found;
}

static enum courier_step say_gap(struct courier *c, struct errand *x, const struct ship_part *next)
{
    return courier_block(
        c, x, "bytes %lld to %lld are in no file here; what follows them (%s) waits",
        (long long)x->course->at, (long long)next->head.offset, path_base(next->path));
}

/* The mark must be on the disk before the body is sent; if a mark lags, a body is sent again. */
static int keep_mark(struct courier *c, struct errand *x)
{
    struct course *o = x->course;
    bool first = o->mark < 0;
    if (!first && o->mark <= o->at && o->at - o->mark < MARK_STEP)
        return 0;
    int rc =
        cursor_set_mark(c->cursor, x->work->id, o->channel, o->at, first || o->mark > o->at, &x->e);
    o->mark = rc ? o->mark : o->at;
    return rc;
}

/* Sends less; if the body is a single line already, that line becomes a dead letter. */
static enum courier_step smaller(struct courier *c, struct view *v, struct errand *x)
{
    struct course *o = x->course;
    if (o->piece > 1) {
        o->piece = x->plain / 2 > 1 && x->plain / 2 < o->piece ? x->plain / 2 : o->piece / 2;
        o->piece = o->piece > 1 ? o->piece : 1;
        return COURIER_ON;
    }
    if (course_has_gap(o, o->at, o->at + x->plain))
        return courier_block(c, x, "the server answers %d to an empty line: %s", x->answer.status,
                             x->answer.detail);
    return courier_put_body_aside(c, x) ? courier_not_aside(c, v, x) : COURIER_ON;
}

/* Returns the end of the body in the channel. If a part was sent unchanged, it is the start of the
 * next part. */
static int64_t end_of(const struct errand *x)
{
    const struct course *o = x->course;
    const struct ship_part *next = x->part + 1;
    if (x->plain >= 0)
        return o->at + x->plain;
    return next < o->parts + o->count ? next->head.offset : INT64_MAX;
}

/* Continues at a position; blocks the channel if the server stays there. */
static enum courier_step stand(struct courier *c, struct errand *x, int64_t at)
{
    struct course *o = x->course;
    o->server = x->answer.offset >= 0 ? x->answer.offset : at;
    if (at > o->at) {
        COURIER_COUNT(c, plain_bytes, at - o->at);
        o->stuck = 0;
    } else if (at == o->at && ++o->stuck >= STUCK_MOST) {
        return courier_block(c, x, "the server stays at byte %lld: %s", (long long)at,
                             x->answer.detail);
    }
    o->at = at;
    return COURIER_ON;
}

/* Continues after a body that was taken. The server may be further: by an earlier body of this
 * agent whose answer was lost, which must be sent again for the lines that it refuses, or, beyond
 * all that this agent sent, by another sender. */
static enum courier_step stand_after(struct courier *c, struct errand *x)
{
    struct course *o = x->course;
    int64_t end = end_of(x), there = x->answer.offset;
    int64_t at = there >= 0 && (there < end || end >= o->tried) ? there : end;
    o->tried = o->tried == INT64_MAX ? at : o->tried;
    return stand(c, x, at);
}

/* Handles 409: the server has less than the agent assumed, or handles another request for the
 * channel, perhaps one that this agent has given up. */
static enum courier_step conflict(struct courier *c, struct errand *x)
{
    struct course *o = x->course;
    const struct remote_answer *a = &x->answer;
    char why[416];
    if (a->offset < 0 || ++o->stuck > CONFLICTS)
        return courier_block(c, x, "the server answers 409: %s", a->detail);
    if (a->offset < o->at) { /* other channels may have lost something, too */
        x->work->asked = false;
        c->doubt = true;
        return stand(c, x, a->offset);
    }
    snprintf(why, sizeof why, "%s answers 409: %.300s", remote_asked(c->remote), a->detail);
    courier_hold_until(c, HOLD_WAIT, clock_mono() + c->options->wait_least, why);
    return COURIER_HELD;
}

/* A server or a proxy that accepts no body of this length may close the connection at once. Its 413
 * is lost then, so after a second cut the body is sent in smaller pieces. */
static void cut_off(struct course *o)
{
    if (++o->cuts < CUTS_MOST || o->uncut / 2 < UNCUT_LEAST)
        return;
    o->uncut /= 2;
    o->piece = o->piece < o->uncut ? o->piece : o->uncut;
}

/* Does what a 2xx, 400, 409, 413, 415 or 422 asks for. */
static enum courier_step follow(struct courier *c, struct view *v, struct errand *x)
{
    struct course *o = x->course;
    const struct remote_answer *a = &x->answer;
    bool good = a->status / 100 == 2;
    int64_t aside = -1;
    if (x->plain < 0 && (!good || a->rejected || a->offset < 0)) {
        o->piece = o->uncut / 2; /* the part was sent unchanged: now in pieces */
        return COURIER_ON;
    }
    /* With 409 the body did not belong at this place, so its lines are not judged here. */
    if (a->status != 409 && courier_put_aside(c, x, &aside))
        return courier_not_aside(c, v, x);
    if (good && a->rejected > a->error_count && aside >= 0)
        return stand(c, x, aside); /* the answer names only some: the rest is asked for again */
    if (good) {
        COURIER_COUNT(c, bodies, 1);
        COURIER_COUNT(c, lines, a->repeated ? 0 : a->accepted);
        o->uncut += o->uncut / UNCUT_STEP; /* the network may be as good as before */
        o->uncut = o->uncut < c->options->batch ? o->uncut : c->options->batch;
        o->piece = 2 * o->piece < o->uncut ? 2 * o->piece : o->uncut;
        return stand_after(c, x);
    }
    if (a->status == 409)
        return conflict(c, x);
    if (a->status == 415 && c->pack == PART_ZSTD) {
        log_warn("%s takes no zstd: bodies are gzip from now on", remote_asked(c->remote));
        c->pack = PART_GZIP;
        return COURIER_ON;
    }
    if (aside >= 0) /* named lines are blank the next time */
        return COURIER_ON;
    return smaller(c, v, x);
}

/* Returns true if the part is sent unchanged: it is compressed, wanted whole, and not too large. */
static bool goes_whole(const struct courier *c, const struct errand *x)
{
    const struct course *o = x->course;
    const struct ship_part *p = x->part;
    bool gaps = o->gap_count && o->gaps[o->gap_count - 1].to > p->head.offset;
    if (remote_is_blind(c->remote)) /* which could not name the end of such a part */
        return false;
    return o->at == p->head.offset && o->piece == c->options->batch && !gaps &&
           file_is_named_packed(p->path) && p->bytes <= WHOLE_MOST;
}

/* Returns the number of uncompressed bytes of the next body. */
static int64_t piece_of(const struct courier *c, const struct course *o)
{
    int64_t rate = c->options->bandwidth;
    return rate && o->piece > 2 * rate ? 2 * rate : o->piece;
}

/* Returns true if the file that is written to now is not the one in the view. The inode is not
 * enough: a rotated file that was compressed and removed gives its inode to the next one. It is
 * checked after the file was opened, so that no rotation is missed. */
static bool is_another(const struct ship_part *p)
{
    struct part_head now;
    return p->number == DISCOVER_LIVE &&
           (part_head_read(p->path, &now, NULL) || now.offset != p->head.offset);
}

enum courier_step courier_offsets(struct courier *c, struct view *v, struct errand *x)
{
    struct course *o = x->course;
    struct part_stream *s;
    bool good;
    x->part = part_at(o);
    if (!x->part)
        return say_gap(c, x, o->parts);
    o->piece = piece_of(c, o);
    const struct part_range range = {.skip = o->at - x->part->head.offset,
                                     .most = goes_whole(c, x) ? 0 : o->piece,
                                     .pack = c->pack,
                                     .level = GZIP_LEVEL,
                                     .blank = o->gaps,
                                     .blank_count = o->gap_count,
                                     .base = x->part->head.offset};
    if (part_stream_open(&s, x->part->path, x->part->head.file, &range, &x->e))
        return courier_unreadable(c, v, x);
    if (is_another(x->part)) {
        part_stream_close(s);
        x->e.code = GPUFL_E_NOENT;
        return courier_unreadable(c, v, x);
    }
    if (part_stream_empty(s)) {
        part_stream_close(s);
        bool last = x->part + 1 == o->parts + o->count;
        return last ? COURIER_CAUGHT : say_gap(c, x, x->part + 1);
    }
    enum courier_step step = COURIER_HELD;
    if (keep_mark(c, x))
        step = courier_disk(c, &x->e);
    else if (courier_may_send(c)) {
        courier_send_stream(c, x, s, &(struct remote_body){.offset = o->at});
        o->tried = o->tried > end_of(x) ? o->tried : end_of(x);
        bool ours = part_stream_error(s)->code != 0;
        step = ours ? courier_unreadable(c, v, x) : courier_judge(c, x, &good);
        if (x->answer.cut)
            cut_off(o);
        else if (!ours)
            o->cuts = 0;
        if (!ours && step == COURIER_ON)
            step = follow(c, v, x);
    }
    part_stream_close(s);
    return step;
}

/* ---- a dead letter -------------------------------------------------------------------------- */

struct letter_body {
    int fd;
    int64_t left;
};

static int64_t read_letter(void *arg, char *out, size_t size)
{
    struct letter_body *b = arg;
    ssize_t n = read(b->fd, out, (int64_t)size < b->left ? size : (size_t)b->left);
    b->left -= n > 0 ? n : 0;
    return n < 0 ? GPUFL_E_IO : n;
}

int courier_letter(struct courier *c, const char *session, const char *channel,
                   const struct letter *a, int fd, bool *delivered)
{
    /* The channel has passed its place: it is sent as a window, which counts once for its id. */
    char id[PART_CHANNEL_MAX + 64];
    unsigned char magic[2] = {0};
    struct letter_body body = {fd, a->bytes};
    struct remote_answer answer;
    struct err e = {0};
    bool whole = a->window && a->from < 0;
    int n = snprintf(id, sizeof id, "letter-%s-%lld", channel, (long long)a->offset);
    if (a->window && !whole)
        snprintf(id + n, sizeof id - (size_t)n, "-%lld", (long long)a->from);
    bool packed = whole && pread(fd, magic, sizeof magic, a->place) == 2 && magic[0] == 0x1f &&
                  magic[1] == 0x8b;
    struct remote_body b = {.session = session,
                            .channel = channel,
                            .offset = -1,
                            .window_id = whole ? NULL : id,
                            .window_sequence = whole ? a->offset : 0,
                            .window_crc32 = -1,
                            .host = a->host,
                            .read = read_letter,
                            .encoding = packed ? "gzip" : NULL,
                            .size = a->bytes,
                            .arg = &body};
    if (!courier_may_send(c))
        return GPUFL_E_STATE;
    int rc = remote_send(c->remote, &b, &answer, &e);
    *delivered = !rc && answer.status / 100 == 2 && !answer.rejected;
    courier_paid(c, answer.sent);
    courier_count(c, rc, answer.status);
    if (!rc && courier_is_final(answer.status))
        return 0;
    if (!rc)
        rc = err_set(&e, GPUFL_E_UNAVAILABLE, "%s answers %d%s%.200s", remote_asked(c->remote),
                     answer.status, *answer.detail ? ": " : "", answer.detail);
    log_warn("the other dead letters are not sent now: %s", e.text);
    return rc;
}

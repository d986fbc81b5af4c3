/* courier_answer.c - decides by an answer, and stores refused lines as dead letters. */
#include "agent/send/courier.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

static const int64_t WINDOW_MOST =
    INT64_MAX / 4; /* bytes: a limit, so that parts are decompressed */

/* ---- judging -------------------------------------------------------------------------------- */

/* Names what follows from a status. */
enum verdict {
    GOOD,
    BODY,  /* the sender of the body decides */
    WAIT,  /* the next try may have another status */
    KEY,   /* pause until the key was changed */
    GONE,  /* the server wants nothing more of the session */
    ALARM, /* pause until a person has changed something else */
};

static enum verdict verdict_of(int status)
{
    static const struct {
        int least, most;
        enum verdict verdict;
    } rows[] = {
        {200, 299, GOOD}, {400, 400, BODY}, {401, 401, KEY},  {403, 403, KEY},  {408, 408, WAIT},
        {409, 409, BODY}, {410, 410, GONE}, {413, 413, BODY}, {415, 415, BODY}, {422, 422, BODY},
        {425, 425, WAIT}, {429, 429, WAIT}, {500, 599, WAIT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (status >= rows[i].least && status <= rows[i].most)
            return rows[i].verdict;
    return ALARM;
}

bool courier_is_final(int status)
{
    enum verdict v = verdict_of(status);
    return v == GOOD || v == BODY || v == GONE;
}

void courier_count(struct courier *c, int rc, int status)
{
    pthread_mutex_lock(&c->lock);
    struct courier_counts *n = &c->counts;
    if (rc)
        n->unanswered++;
    else if (status == 401 || status == 403)
        n->answers_key++;
    else if (status == 413)
        n->answers_large++;
    else if (status == 400 || status == 422)
        n->answers_refused++;
    else if (status == 408 || status == 425 || status == 429 || status >= 500)
        n->answers_wait++;
    else if (status > 299)
        n->answers_other++;
    if (!rc && status >= 200 && status <= 299)
        c->success = clock_real();
    pthread_mutex_unlock(&c->lock);
}

/* The session's positions are asked for again: something of the body may have arrived. */
static enum courier_step hold(struct courier *c, struct errand *x, enum courier_hold hold_,
                              int64_t wait, const char *why)
{
    x->work->asked = false;
    courier_hold_until(c, hold_, clock_mono() + wait, why);
    return COURIER_HELD;
}

static enum courier_step gone(struct errand *x)
{
    log_warn("session %s: %s: nothing more of it is sent", x->work->id,
             *x->answer.detail ? x->answer.detail : "the server has deleted it");
    x->work->closed = true;
    return COURIER_LEFT;
}

enum courier_step courier_judge(struct courier *c, struct errand *x, bool *good)
{
    const struct remote_answer *a = &x->answer;
    char why[416];
    *good = false;
    if (x->rc == GPUFL_E_STATE)
        return COURIER_HELD; /* the courier was stopped */
    courier_count(c, x->rc, a->status);
    if (x->rc) {
        bool alarm = x->rc != GPUFL_E_UNAVAILABLE;
        return hold(c, x, alarm ? HOLD_KEY : HOLD_WAIT,
                    alarm ? c->options->wait_most : backoff_wait(&c->backoff, -1), x->e.text);
    }
    enum verdict v = verdict_of(a->status);
    v = v == BODY && !x->course ? ALARM : v;
    bool moved = a->status >= 300 && a->status < 400;
    snprintf(why, sizeof why, "%s answers %d%s%.250s%s", remote_asked(c->remote), a->status,
             *a->detail ? ": " : "", a->detail,
             moved ? ", which sends elsewhere; name the server's own address" : "");
    switch (v) {
    case WAIT:
        return hold(c, x, HOLD_WAIT, backoff_wait(&c->backoff, a->retry_after), why);
    case KEY:
    case ALARM:
        return hold(c, x, HOLD_KEY, c->options->wait_most, why);
    case GONE:
        return gone(x);
    case BODY:
        break;
    case GOOD:
        *good = true;
        break;
    }
    backoff_reset(&c->backoff);
    if (c->hold != HOLD_NONE)
        courier_hold_until(c, HOLD_NONE, 0, "");
    return COURIER_ON;
}

/* ---- finding lines -------------------------------------------------------------------------- */

struct found {
    int64_t from, to; /* plain bytes of the body */
};

/* Finds the places of the lines that the answer names, in their order, in a body of that range and
 * length. A line that is not found ends at 0. */
static int find_lines(const struct errand *x, const struct part_range *range, int64_t plain,
                      struct found *out, struct err *e)
{
    static char chunk[64 << 10];
    const struct remote_answer *a = &x->answer;
    struct part_stream *s;
    int rc = part_stream_open(&s, x->part->path, x->part->head.file, range, e);
    int64_t at = 0, begin = 0, n = 1;
    uint64_t line = 1;
    unsigned i = 0;
    while (!rc && i < a->error_count && at < plain && n > 0) {
        n = part_stream_read(s, chunk, sizeof chunk);
        for (char *p = chunk, *end = chunk + (n > 0 ? n : 0), *lf; p < end; p = lf) {
            lf = memchr(p, '\n', (size_t)(end - p));
            bool whole = lf != NULL;
            lf = whole ? lf + 1 : end;
            at += lf - p;
            bool named = i < a->error_count && a->errors[i].line == line;
            if (named && (whole || at == plain))
                out[i++] = (struct found){begin, at};
            begin = whole ? at : begin;
            line += whole;
        }
    }
    if (!rc && n < 0)
        rc = err_set(e, (int)n, "%s", part_stream_error(s)->text);
    part_stream_close(s);
    return rc;
}

/* ---- setting aside -------------------------------------------------------------------------- */

static void fill_letter(const struct errand *x, const char *reason, struct letter *out)
{
    *out = (struct letter){.status = x->answer.status, .at = clock_real(), .from = -1};
    snprintf(out->host, sizeof out->host, "%s", x->work->session->host);
    snprintf(out->reason, sizeof out->reason, "%s", reason);
}

/* Stores a range of the channel, unless it has a letter. */
static int put_range(struct courier *c, struct errand *x, const char *reason, int64_t from,
                     int64_t to, struct err *e)
{
    struct letter a;
    const struct letter_source source = {
        .path = x->part->path, .id = x->part->head.file, .from = from - x->part->head.offset};
    if (course_has_gap(x->course, from, to))
        return 0;
    fill_letter(x, reason, &a);
    a.offset = from;
    a.length = a.bytes = to - from;
    int rc = letters_add(c->letters, x->work->id, x->course->channel, &a, &source, e);
    if (!rc && course_add_gap(x->course, from, to))
        rc = err_nomem(e);
    if (rc)
        return rc;
    COURIER_COUNT(c, dead_lines, 1);
    x->work->rejected++;
    log_each(LOG_WARN, "session %s, channel %s: bytes %lld to %lld are set aside: %s", x->work->id,
             x->course->channel, (long long)from, (long long)to, reason);
    return 0;
}

int courier_put_aside(struct courier *c, struct errand *x, int64_t *end)
{
    struct found found[REMOTE_ERRORS] = {{0, 0}};
    const struct remote_answer *a = &x->answer;
    const struct course *o = x->course;
    const struct part_range range = {.skip = o->at - x->part->head.offset,
                                     .most = o->piece,
                                     .blank = o->gaps,
                                     .blank_count = o->gap_count,
                                     .base = x->part->head.offset};
    int rc = a->error_count ? find_lines(x, &range, x->plain, found, &x->e) : 0;
    *end = -1;
    for (unsigned i = 0; !rc && i < a->error_count; i++) {
        if (found[i].to <= found[i].from)
            continue;
        rc = put_range(c, x, a->errors[i].reason, x->course->at + found[i].from,
                       x->course->at + found[i].to, &x->e);
        *end = x->course->at + found[i].to;
    }
    if (!rc && *end >= 0)
        rc = letters_sync(c->letters, x->work->id, x->course->channel, &x->e);
    return rc;
}

int courier_window_gaps(struct courier *c, struct errand *x, struct part_gap **out, size_t *count)
{
    struct letter *known = NULL;
    size_t n = 0;
    *out = NULL;
    *count = 0;
    int rc = letters_list(c->letters, x->work->id, x->course->channel, &known, &n, &x->e);
    struct part_gap *gaps = !rc && n ? mem_array(n, sizeof *gaps) : NULL;
    if (!rc && n && !gaps)
        rc = err_nomem(&x->e);
    for (size_t i = 0; !rc && i < n; i++)
        if (known[i].window && known[i].offset == x->part->number && known[i].from >= 0)
            gaps[(*count)++] = (struct part_gap){known[i].from, known[i].from + known[i].length};
    mem_free(known);
    *out = gaps;
    return rc;
}

/* Stores a line of a window. */
static int put_line(struct courier *c, struct errand *x, const char *reason, struct found at)
{
    struct letter a;
    const struct letter_source source = {
        .path = x->part->path, .id = x->part->head.file, .from = at.from};
    fill_letter(x, reason, &a);
    a.window = true;
    a.offset = x->part->number;
    a.from = at.from;
    a.length = a.bytes = at.to - at.from;
    int rc = letters_add(c->letters, x->work->id, x->course->channel, &a, &source, &x->e);
    if (rc)
        return rc;
    COURIER_COUNT(c, dead_lines, 1);
    x->work->rejected++;
    log_each(LOG_WARN, "session %s: a line of %s is set aside: %s", x->work->id,
             path_base(x->part->path), reason);
    return 0;
}

int courier_put_lines_aside(struct courier *c, struct errand *x, const struct part_gap *gaps,
                            size_t gap_count, unsigned *added)
{
    struct found found[REMOTE_ERRORS] = {{0, 0}};
    const struct remote_answer *a = &x->answer;
    const struct part_range range = {.most = WINDOW_MOST, .blank = gaps, .blank_count = gap_count};
    *added = 0;
    if (!a->error_count)
        return 0;
    int rc = find_lines(x, &range, WINDOW_MOST, found, &x->e);
    for (unsigned i = 0; !rc && i < a->error_count; i++) {
        if (found[i].to <= found[i].from)
            continue;
        rc = put_line(c, x, a->errors[i].reason, found[i]);
        *added += !rc;
    }
    if (!rc && *added)
        rc = letters_sync(c->letters, x->work->id, x->course->channel, &x->e);
    return rc;
}

static int put_window(struct courier *c, struct errand *x, const char *reason)
{
    struct letter a, *known = NULL;
    size_t count = 0;
    const struct letter_source source = {.path = x->part->path, .whole = true};
    int rc = letters_list(c->letters, x->work->id, x->course->channel, &known, &count, &x->e);
    bool there = false;
    for (size_t i = 0; i < count; i++)
        there |= known[i].window && known[i].offset == x->part->number && known[i].from < 0;
    mem_free(known);
    if (rc || there)
        return rc;
    fill_letter(x, reason, &a);
    a.window = true;
    a.offset = x->part->number;
    a.length = a.bytes = file_size(x->part->path);
    rc = letters_add(c->letters, x->work->id, x->course->channel, &a, &source, &x->e);
    if (!rc) {
        COURIER_COUNT(c, dead_lines, 1);
        log_each(LOG_WARN, "session %s: %s is set aside: %s", x->work->id, path_base(x->part->path),
                 reason);
    }
    return rc;
}

int courier_put_body_aside(struct courier *c, struct errand *x)
{
    const struct remote_answer *a = &x->answer;
    const char *reason = a->error_count ? a->errors[0].reason : a->detail;
    reason = *reason ? reason : "the server gives no reason";
    int rc = x->work->session->ours
                 ? put_range(c, x, reason, x->course->at, x->course->at + x->plain, &x->e)
                 : put_window(c, x, reason);
    return rc ? rc : letters_sync(c->letters, x->work->id, x->course->channel, &x->e);
}

/* take.c - see take.h. */
#include "server/kafka/take.h"

#include "base/alloc.h"
#include "base/log.h"
#include "server/intake/inflate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLAIN_MOST = 256 << 20, PLAIN_FIRST = 64 << 10, RATIO = 400 };

/* This is a message that is being taken. */
struct taking {
    struct taker *t;
    const struct spool_item *item;
    const struct inbound *in;
    char *why;
    size_t len;       /* of the plain text */
    bool all_known;   /* the server had all of it so far */
    uint64_t refused; /* lines set aside */
};

static enum take_result later(struct taking *m, const char *why)
{
    snprintf(m->why, TAKE_WHY, "%s", why);
    return TAKE_LATER;
}

/* ---- setting aside ------------------------------------------------------------------------- */

static enum take_result refuse_message(struct taking *m, const char *reason)
{
    struct spool_item item = *m->item;
    struct err e = {0};
    item.reason = reason;
    if (spool_put_refused(m->t->spool, &item, &e))
        return later(m, e.text);
    m->t->counts.refused++;
    log_each(LOG_WARN, "Kafka: a message of session %s, channel %s is set aside: %s",
             m->in->session, m->in->channel, reason);
    return TAKE_DONE;
}

/* Refuses a line; returns false if the spool takes nothing. */
static bool refuse_line(struct taking *m, int64_t place, const char *line, size_t len,
                        const char *reason)
{
    struct spool_item item = *m->item;
    struct err e = {0};
    item.data = line;
    item.len = len;
    item.reason = reason;
    if (spool_put_line(m->t->spool, &item, place, &e)) {
        later(m, e.text);
        return false;
    }
    m->refused++;
    log_each(LOG_WARN, "Kafka: session %s, channel %s: a line is set aside: %s", m->in->session,
             m->in->channel, reason);
    return true;
}

/* ---- the text ------------------------------------------------------------------------------ */

static int grow(struct taker *t, size_t need)
{
    size_t cap = t->plain_cap ? t->plain_cap : PLAIN_FIRST;
    while (cap < need)
        cap *= 2;
    if (cap == t->plain_cap)
        return 0;
    char *more = mem_realloc(t->plain, cap);
    if (!more)
        return GPUFL_E_NOMEM;
    t->plain = more;
    t->plain_cap = cap;
    return 0;
}

/* Inflates the message. GPUFL_E_CORRUPT, GPUFL_E_FULL, GPUFL_E_NOMEM. */
static int inflate_message(struct taking *m)
{
    static const enum inflate_format formats[] = {
        [INGEST_PLAIN] = INFLATE_PLAIN, [INGEST_GZIP] = INFLATE_GZIP, [INGEST_ZSTD] = INFLATE_ZSTD};
    const struct inflate_limits limits = {(int64_t)m->item->len, PLAIN_MOST, RATIO};
    struct inflate *f;
    const char *data = m->item->data;
    size_t left = m->item->len, made = 1;
    int rc = inflate_open(&f, formats[m->in->encoding], &limits);
    m->len = 0;
    while (!rc && (left || made)) {
        rc = grow(m->t, m->len + PLAIN_FIRST);
        if (!rc)
            rc = inflate_some(f, &data, &left, m->t->plain + m->len, m->t->plain_cap - m->len,
                              &made);
        m->len += rc ? 0 : made;
    }
    if (!rc)
        rc = inflate_end(f);
    inflate_close(f);
    return rc;
}

/* Releases the memory of a large message. */
static void shrink(struct taker *t)
{
    if (t->plain_cap <= 16 << 20)
        return;
    mem_free(t->plain);
    t->plain = NULL;
    t->plain_cap = 0;
}

/* Returns the number of bytes of the line that begins at `at`, with its LF. */
static size_t line_length(const struct taking *m, size_t at)
{
    const char *lf = memchr(m->t->plain + at, '\n', m->len - at);
    return lf ? (size_t)(lf - m->t->plain) + 1 - at : m->len - at;
}

/* ---- by offset ----------------------------------------------------------------------------- */

/* Gives plain bytes of the channel to the journal. */
static void submit(struct taking *m, const char *text, size_t len, int64_t offset,
                   struct ingest_answer *a)
{
    const struct ingest_request r = {.workspace = m->t->workspace,
                                     .session = m->in->session,
                                     .channel = m->in->channel,
                                     .offset = offset,
                                     .encoding = INGEST_PLAIN,
                                     .size = (int64_t)len,
                                     .window_sequence = INGEST_NO_SEQUENCE,
                                     .window_crc32 = -1,
                                     .later = true};
    struct ingest_body *b;
    if (ingest_open(m->t->intake->ingest, &r, &b, a))
        return;
    (void)ingest_data(b, text, len);
    ingest_finish(b, a);
    ingest_close(b);
    if (a->status == 200 && !a->repeated) {
        m->all_known = false;
        m->t->counts.lines += a->accepted;
    }
}

/* Sets aside the lines that the answer names, of the text from `from` to before `to`. *end: after
 * the last one. False: the spool takes nothing. */
static bool refuse_named(struct taking *m, const struct ingest_answer *a, size_t from, size_t to,
                         size_t *end)
{
    size_t at = from;
    uint64_t number = 1;
    *end = from;
    for (unsigned i = 0; i < a->error_count && at < m->len; i++) {
        for (; number < a->errors[i].line && at < m->len; number++)
            at += line_length(m, at);
        size_t len = at < m->len ? line_length(m, at) : 0;
        if (!len || at + len > to)
            return true;
        if (!refuse_line(m, m->in->offset + (int64_t)at, m->t->plain + at, len,
                         a->errors[i].reason))
            return false;
        *end = at + len;
    }
    return true;
}

static bool is_later(const struct ingest_answer *a)
{
    return a->status == 429 || a->status >= 500;
}

/* Fills the place of a refused line with an empty one, after the line is safe. */
static enum take_result fill(struct taking *m, size_t at, size_t len)
{
    struct ingest_answer a;
    struct err e = {0};
    if (spool_sync(m->t->spool, &e))
        return later(m, e.text);
    memset(m->t->plain + at, ' ', len - 1);
    m->t->plain[at + len - 1] = '\n';
    submit(m, m->t->plain + at, len, m->in->offset + (int64_t)at, &a);
    if (is_later(&a))
        return later(m, a.text);
    if (a.status == 200 && a.offset >= m->in->offset + (int64_t)(at + len))
        return TAKE_DONE;
    snprintf(m->why, TAKE_WHY, "%s", a.text);
    return TAKE_WAITS; /* the channel cannot go past it */
}

/* Nothing of the text from `at` on was taken, and no line is named: the first line goes alone.
 * *next: where it goes on. WAITS: not even an empty line is taken there. */
static enum take_result take_first(struct taking *m, size_t at, size_t *next)
{
    struct ingest_answer a;
    size_t len = line_length(m, at), end;
    *next = at + len;
    submit(m, m->t->plain + at, len, m->in->offset + (int64_t)at, &a);
    if (is_later(&a))
        return later(m, a.text);
    bool past = a.offset >= m->in->offset + (int64_t)(at + len);
    if (a.status == 200 || (a.status == 400 && past && a.error_count))
        return refuse_named(m, &a, at, at + len, &end) ? TAKE_DONE : TAKE_LATER;
    if (!refuse_line(m, m->in->offset + (int64_t)at, m->t->plain + at, len, a.text))
        return TAKE_LATER;
    enum take_result r = fill(m, at, len);
    if (r == TAKE_WAITS) {
        spool_drop_line(m->t->spool, m->in, m->in->offset + (int64_t)at);
        m->refused--;
    }
    return r;
}

/* Makes one request for the rest of the text. *at moves on; true: the message is finished, with the
 * result *r. */
static bool take_rest(struct taking *m, size_t *at, enum take_result *r)
{
    struct ingest_answer a;
    const int64_t base = m->in->offset;
    size_t end;
    submit(m, m->t->plain + *at, m->len - *at, base + (int64_t)*at, &a);
    if (is_later(&a)) {
        *r = later(m, a.text);
        return true;
    }
    if (a.status == 410) {
        m->t->counts.gone++;
        *r = TAKE_DONE;
        return true;
    }
    int64_t there = a.offset - base;
    if (a.status == 409 && a.offset >= 0 && there < (int64_t)*at) {
        snprintf(m->why, TAKE_WHY, "%s", a.text);
        *r = *at ? TAKE_LATER : TAKE_WAITS; /* LATER: from its start */
        return true;
    }
    bool past = a.offset >= 0 && there >= (int64_t)m->len;
    bool good = a.status == 200 || (a.status == 400 && past && a.error_count);
    size_t limit = good || past ? m->len : there > 0 ? (size_t)there : 0;
    if (!refuse_named(m, &a, *at, limit, &end)) {
        *r = TAKE_LATER;
        return true;
    }
    if (good) {
        bool more = a.rejected > a.error_count && end > *at; /* the answer names only some */
        *at = more ? end : m->len;
        return false;
    }
    if (there > (int64_t)*at) {
        *at = past ? m->len : (size_t)there;
        return false;
    }
    enum take_result first = take_first(m, *at, at);
    *r = first == TAKE_WAITS ? refuse_message(m, m->why) : first;
    return first != TAKE_DONE;
}

static enum take_result take_lines(struct taking *m)
{
    enum take_result r = TAKE_DONE;
    int rc = inflate_message(m);
    if (rc == GPUFL_E_NOMEM)
        return later(m, err_text(rc));
    if (rc || (m->in->length >= 0 && (int64_t)m->len != m->in->length))
        return refuse_message(m, rc == GPUFL_E_FULL ? "its text is too large"
                                 : rc               ? "its text is not what gpufl-encoding says"
                                                    : "its text is not gpufl-length bytes long");
    for (size_t at = 0; at < m->len && !take_rest(m, &at, &r);)
        ;
    if (r == TAKE_DONE)
        m->t->counts.refused_lines += m->refused;
    m->t->counts.repeated += r == TAKE_DONE && m->all_known && !m->refused;
    return r;
}

/* ---- windows ------------------------------------------------------------------------------- */

/* Refuses the lines that the server left out of a window that counts without them. */
static enum take_result refuse_of_window(struct taking *m, const struct ingest_answer *a)
{
    if (a->rejected > a->error_count || inflate_message(m))
        return refuse_message(m, "lines of it are left out, more than can be named");
    size_t at = 0;
    uint64_t number = 1;
    for (unsigned i = 0; i < a->error_count; i++) {
        for (; number < a->errors[i].line && at < m->len; number++)
            at += line_length(m, at);
        if (at < m->len &&
            !refuse_line(m, (int64_t)at, m->t->plain + at, line_length(m, at), a->errors[i].reason))
            return TAKE_LATER;
    }
    m->t->counts.refused_lines += m->refused;
    return TAKE_DONE;
}

static enum take_result take_window(struct taking *m)
{
    const struct inbound *in = m->in;
    const struct ingest_request r = {.workspace = m->t->workspace,
                                     .session = in->session,
                                     .channel = in->channel,
                                     .offset = INGEST_NO_OFFSET,
                                     .encoding = in->encoding,
                                     .size = (int64_t)m->item->len,
                                     .window_id = *in->window_id ? in->window_id : NULL,
                                     .window_sequence = in->window_sequence,
                                     .window_crc32 = in->window_crc32,
                                     .later = true};
    struct ingest_answer a;
    struct ingest_body *b;
    if (!ingest_open(m->t->intake->ingest, &r, &b, &a)) {
        (void)ingest_data(b, m->item->data, m->item->len);
        ingest_finish(b, &a);
        ingest_close(b);
    }
    if (is_later(&a))
        return later(m, a.text);
    if (a.status == 410) {
        m->t->counts.gone++;
        return TAKE_DONE;
    }
    if (a.status != 200)
        return refuse_message(m, a.text);
    m->t->counts.repeated += a.repeated;
    m->t->counts.lines += a.repeated ? 0 : a.accepted;
    return a.rejected ? refuse_of_window(m, &a) : TAKE_DONE;
}

/* ---- the end of a session ------------------------------------------------------------------ */

/* Checks that each channel is at the end that its sender saw. TAKE_LATER: unknown at present. */
static enum take_result has_ends(struct taking *m, bool *dropped)
{
    struct sessions *table = m->t->intake->sessions;
    struct intake_session *s = sessions_get(table, m->t->workspace, m->in->session);
    struct err e = {0};
    if (!s)
        return later(m, err_text(GPUFL_E_NOMEM));
    pthread_mutex_lock(&s->lock);
    int rc = sessions_take_in(table, s, &e);
    *dropped = s->dropped;
    rc = rc || s->dropped ? rc : sessions_look_again(table, s, &e);
    bool all = true;
    for (unsigned i = 0; !rc && i < m->in->end_count; i++) {
        int64_t there = 0;
        for (unsigned k = 0; k < s->channel_count; k++)
            if (strcmp(s->channels[k].name, m->in->ends[i].channel) == 0)
                there = s->channels[k].offset;
        all &= there >= m->in->ends[i].offset;
    }
    pthread_mutex_unlock(&s->lock);
    sessions_put(table, s);
    if (rc)
        return later(m, *e.text ? e.text : err_text(rc));
    return all ? TAKE_DONE : TAKE_WAITS;
}

static enum take_result take_complete(struct taking *m)
{
    struct ingest_answer a;
    bool dropped = false;
    enum take_result r = has_ends(m, &dropped);
    if (dropped) {
        m->t->counts.gone++;
        return TAKE_DONE;
    }
    snprintf(m->why, TAKE_WHY, "not all of the session has come");
    if (r != TAKE_DONE)
        return r;
    ingest_complete(m->t->intake->ingest, m->t->workspace, m->in->session, &a);
    return a.status == 200 ? TAKE_DONE : later(m, a.text);
}

enum take_result take_message(struct taker *t, const struct spool_item *item, char why[TAKE_WHY])
{
    struct taking m = {.t = t, .item = item, .in = item->in, .why = why, .all_known = true};
    enum take_result r = TAKE_DONE;
    why[0] = '\0';
    switch (item->in->kind) {
    case INBOUND_LINES:
        r = take_lines(&m);
        break;
    case INBOUND_WINDOW:
        r = take_window(&m);
        break;
    case INBOUND_COMPLETE:
        r = take_complete(&m);
        break;
    }
    shrink(t);
    return r;
}

void taker_fini(struct taker *t)
{
    mem_free(t->plain);
    t->plain = NULL;
    t->plain_cap = 0;
}

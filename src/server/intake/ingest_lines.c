/* ingest_lines.c - reads the text of a body: cut into lines, checked, put into frames.
 *
 * Lines that are sound move together at the front of the text, so that a frame is one piece of
 * memory and lines that are left out cost nothing that grows with their number. A window's
 * checks go through a decoder that is made again for each frame: the public client's lines would
 * let it grow with the body. */
#include "server/intake/ingest_inside.h"

#include "base/alloc.h"
#include "base/json.h"
#include "wire/encode.h"
#include "wire/scan.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

static const char NO_JSON[] = "not a JSON object, or cut";
static const char NO_FIT[] = "its values are of wrong types, or its columns do not fit together";
static const char TOO_LONG[] = "longer than 4 MiB";
static const char UNFINISHED[] = "the body ends within it";

/* ---- lines that are left out ----------------------------------------------------------------- */

/* Finds the line's type, as far as it is readable. */
static void find_type(const char *line, size_t len, char *out, size_t size)
{
    static const char key[] = "\"type\"";
    const char *end = line + len, *at = memmem(line, len, key, sizeof key - 1);
    size_t n = 0;
    out[0] = '\0';
    if (!at)
        return;
    for (at += sizeof key - 1; at < end && (*at == ' ' || *at == ':'); at++)
        ;
    if (at == end || *at++ != '"')
        return;
    while (at + n < end && n + 1 < size && (unsigned char)at[n] >= ' ' && at[n] != '"' &&
           at[n] != '\\' && (unsigned char)at[n] < 0x7f)
        n++;
    memcpy(out, at, n);
    out[n] = '\0';
}

static void leave_out(struct ingest_body *b, const char *line, size_t len, const char *reason)
{
    struct ingest_answer *a = &b->answer;
    a->rejected++;
    b->damaged += reason != TOO_LONG;
    b->too_long += reason == TOO_LONG;
    if (a->error_count == INGEST_ERRORS)
        return;
    struct ingest_error *e = &a->errors[a->error_count++];
    e->line = b->number;
    e->reason = reason;
    find_type(line, len < 4096 ? len : 4096, e->type, sizeof e->type);
}

static bool is_blank(const char *line, size_t len)
{
    struct scan s = {line, line + len};
    return scan_done(&s);
}

/* ---- whose the body is ----------------------------------------------------------------------- */

static int see_header(void *arg, const struct wire_header *h)
{
    struct ingest_body *b = arg;
    b->header = true;
    snprintf(b->header_session, sizeof b->header_session, "%s", h->session);
    snprintf(b->header_channel, sizeof b->header_channel, "%s", h->channel);
    snprintf(b->header_host, sizeof b->header_host, "%s", h->host);
    b->header_host_bytes = strlen(h->host);
    b->header_offset = h->offset;
    b->header_pid = h->pid;
    b->header_part = h->part;
    return 0;
}

/* Feeds the checking decoder. 0, NOMEM; *sound says what it thought of the line. */
static int check_line(struct ingest_body *b, const char *line, size_t len, bool *sound)
{
    const struct wire_visitor v = {.arg = b, .header = see_header};
    if (!b->decoder && decoder_open(&b->decoder))
        return GPUFL_E_NOMEM;
    const struct decode_stats *s = decoder_stats(b->decoder);
    uint64_t damaged = s->damaged;
    b->header = false;
    int rc = decoder_feed(b->decoder, line, len, &v);
    *sound = s->damaged == damaged;
    b->drained += b->mode == INGEST_DRAIN ? len : 0;
    if (b->drained >= INGEST_PIECE) { /* as with the frames of a window that comes first */
        decoder_close(b->decoder);
        b->decoder = NULL;
        b->drained = 0;
    }
    return rc;
}

/* Checks that the header of a part names the session of the body. */
static int check_header(struct ingest_body *b)
{
    struct intake_session *s = b->session;
    if (*b->header_session && strcmp(b->header_session, s->session) != 0)
        return ingest_refuse(b, 400, "line %llu is of session %.40s, not of %s",
                             (unsigned long long)b->number, b->header_session, s->session);
    if (b->header_host_bytes >= SESSION_HOST_MAX) /* of which only a part could be compared */
        return ingest_refuse(b, 400, "line %llu: 'host' of the header has %zu bytes; %d at most",
                             (unsigned long long)b->number, b->header_host_bytes,
                             SESSION_HOST_MAX - 1);
    pthread_mutex_lock(&s->lock);
    bool fits = sessions_owner_fits(s, b->header_pid, b->header_host);
    pthread_mutex_unlock(&s->lock);
    if (fits)
        return 0;
    return ingest_refuse(b, 409,
                         "session %s is of another process (host %s, pid %lld): two programs "
                         "cannot share a session id",
                         s->session, s->owner.host, (long long)s->owner.pid);
}

/* Asks the caller whether the session's host may send. */
static int admit_host(struct ingest_body *b)
{
    const struct ingest_request *r = &b->request;
    struct intake_session *s = b->session;
    struct err e = {0};
    int64_t wait = 0;
    char host[SESSION_HOST_MAX];
    pthread_mutex_lock(&s->lock);
    snprintf(host, sizeof host, "%s",
             b->header && *b->header_host ? b->header_host : s->owner.host);
    pthread_mutex_unlock(&s->lock);
    if (!r->admit || r->admit(r->admit_arg, s->session, host, &wait, &e) == 0)
        return 0;
    ingest_refuse(b, 429, "%s", e.text);
    b->answer.retry_after = (int)wait;
    return 429;
}

enum { LINE_SESSION = STORE_ID_MAX + 1 }; /* full: the id is too long, and no other session's */

/* The public client's lines name their session. `to`: char[LINE_SESSION]. */
static bool take_session(struct json *j, const char *key, struct json_value v, void *to)
{
    if (v.type != JSON_STRING || strcmp(key, "session_id") != 0)
        return json_skip(j, v);
    size_t n = json_text(v, to, LINE_SESSION);
    if (n < LINE_SESSION)
        json_text_no_nul(to, n);
    else
        snprintf(to, LINE_SESSION, "?"); /* cut, it could be another's */
    return true;
}

static int find_session(struct ingest_body *b, const char *line, size_t len)
{
    char id[LINE_SESSION] = "";
    if (b->session)
        return 0;
    if (b->header)
        snprintf(id, sizeof id, "%s", b->header_session);
    else
        json_document(line, len, take_session, id);
    if (*id && !sessions_id_ok(id, STORE_ID_MAX))
        return ingest_refuse(b, 400,
                             "line %llu: the session's id is invalid: it has 1 to %d of the "
                             "characters 0-9 A-Z a-z _ -",
                             (unsigned long long)b->number, STORE_ID_MAX - 1);
    if (!*id)
        return ingest_refuse(b, 400,
                             "the session is not known: name it in X-GpuFlight-Session-Id, or "
                             "begin the body with its header line");
    b->session = sessions_get(b->in->config.sessions, b->request.workspace, id);
    return b->session ? 0 : ingest_refuse_code(b, GPUFL_E_NOMEM, NULL);
}

/* Finds the channel's position and the body's place in it. */
static int find_offset(struct ingest_body *b)
{
    if (b->base > b->there)
        return ingest_refuse(b, 409,
                             "channel %s of session %s is known up to byte %lld, and the body "
                             "begins at %lld: what is between must come first",
                             b->answer.channel, b->session->session, (long long)b->there,
                             (long long)b->base);
    b->from = b->there;
    return 0;
}

int ingest_decide(struct ingest_body *b, const char *line, size_t len)
{
    struct err e = {0};
    const char *channel = b->request.channel;
    bool ours = b->header && b->header_channel[0] && b->header_offset >= 0 &&
                !decoder_stats(b->decoder)->foreign;
    int refused = find_session(b, line, len);
    if (refused)
        return refused;
    struct intake_session *s = b->session;
    bool by_offset =
        b->request.offset >= 0 || (ours && !b->request.window_id && b->request.window_sequence < 0);
    b->base = b->request.offset >= 0 ? b->request.offset : b->header_offset - b->at;
    channel = channel ? channel : ours ? b->header_channel : NULL;
    b->mode = by_offset ? INGEST_BY_OFFSET : INGEST_WINDOW;
    if (by_offset && b->request.offset < 0 && b->header_part > 1 && !b->header_offset)
        return ingest_refuse(b, 400,
                             "the header says part %lld, and states no bytes before it: the body's "
                             "place is unknown; state it in X-GpuFlight-Offset",
                             (long long)b->header_part);
    channel = channel ? channel : by_offset ? "" : "window";
    snprintf(b->answer.session, sizeof b->answer.session, "%s", s->session);
    if (!sessions_id_ok(channel, JOURNAL_CHANNEL_MAX))
        return ingest_refuse(
            b, 400,
            "the channel's name is invalid: it has 1 to %d of the characters 0-9 A-Z a-z _ -",
            JOURNAL_CHANNEL_MAX - 1);
    memcpy(b->answer.channel, channel, strlen(channel) + 1);
    pthread_mutex_lock(&s->lock);
    int rc = sessions_take_in(b->in->config.sessions, s, &e);
    bool dropped = s->dropped;
    struct session_channel *c = !rc && by_offset ? ingest_channel(b) : NULL;
    if (c && !dropped && b->base > c->offset) /* what is between another server may have taken */
        rc = sessions_look_again(b->in->config.sessions, s, &e);
    b->there = c ? c->offset : 0;
    pthread_mutex_unlock(&s->lock);
    if (rc)
        return ingest_refuse_stored(b, rc, &e);
    if (dropped)
        return ingest_refuse(b, 410, "session %s was deleted", s->session);
    if (by_offset && !c)
        return ingest_refuse(b, 400, "session %s has %d channels already", s->session,
                             SESSION_CHANNELS);
    return by_offset ? find_offset(b) : 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct session_channel *ingest_channel(struct ingest_body *b)
{
    return sessions_channel(b->session, b->answer.channel);
}

static void fill_frame(const struct ingest_body *b, struct journal_frame *f)
{
    *f = (struct journal_frame){.received = now(),
                                .lines = b->lines,
                                .damaged = b->damaged,
                                .too_long = b->too_long,
                                .plain = (uint32_t)b->kept};
    memcpy(f->workspace, b->session->workspace, sizeof f->workspace);
    memcpy(f->session, b->session->session, sizeof f->session);
    memcpy(f->channel, b->answer.channel, sizeof f->channel);
}

/* Appends a body by offset: the frame covers the channel from b->from to the present line. */
static int append_lines(struct ingest_body *b, struct journal_frame *f, struct err *e)
{
    struct intake_session *s = b->session;
    int64_t to = b->base + b->at;
    f->kind = JOURNAL_LINES;
    f->offset = b->from;
    f->length = to - b->from;
    pthread_mutex_lock(&s->lock);
    struct session_channel *c = ingest_channel(b);
    int rc = 0;
    if (c->offset == b->from) {
        rc = journal_append(b->in->config.journal, f, b->text, e);
        c->offset = rc ? c->offset : to;
    }
    /* Else another body brought the same meanwhile, or a part of it. */
    b->there = c->offset;
    pthread_mutex_unlock(&s->lock);
    if (!rc && b->there < to)
        return ingest_refuse(b, 409,
                             "another request wrote to channel %s at the same time: go on at the "
                             "offset that is expected",
                             b->answer.channel);
    if (rc)
        return ingest_refuse_code(b, rc, e);
    b->from = to;
    return 0;
}

static int append_piece(struct ingest_body *b, struct journal_frame *f, struct err *e)
{
    f->kind = JOURNAL_PIECE;
    f->body = b->window;
    int rc = journal_append(b->in->config.journal, f, b->text, e);
    if (rc)
        return ingest_refuse_code(b, rc, e);
    b->window = f->body;
    decoder_close(b->decoder);
    b->decoder = NULL;
    return 0;
}

int ingest_append_kept(struct ingest_body *b)
{
    struct journal_frame f;
    struct err e = {0};
    bool by_offset = b->mode == INGEST_BY_OFFSET;
    bool some = b->kept > 0 || (by_offset && b->base + b->at > b->from);
    if (!some || b->stopped)
        return 0;
    fill_frame(b, &f);
    int refused = by_offset ? append_lines(b, &f, &e) : append_piece(b, &f, &e);
    if (refused)
        return refused;
    b->last = f.number ? f.number : b->last;
    b->lines = b->damaged = b->too_long = 0;
    memmove(b->text, b->text + b->line, b->end - b->line);
    b->end -= b->line;
    b->searched -= b->line;
    b->line = b->kept = 0;
    return 0;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Takes a sound line: keeps it, or skips it where the session has it. n: its bytes with the LF. */
static int take_line(struct ingest_body *b, size_t len, size_t n)
{
    if (b->mode == INGEST_DRAIN)
        return 0;
    if (b->mode == INGEST_BY_OFFSET) {
        int64_t from = b->base + b->at, to = from + (int64_t)n;
        if (to <= b->there) {
            b->answer.accepted++;
            atomic_fetch_add_explicit(&b->in->repeated, 1, memory_order_relaxed);
            return 0;
        }
        if (from < b->there)
            return ingest_refuse(b, 409,
                                 "what channel %s of session %s has before byte %lld is not what "
                                 "this body has",
                                 b->answer.channel, b->session->session, (long long)b->there);
    }
    if (b->kept != b->line)
        memmove(b->text + b->kept, b->text + b->line, len);
    b->kept += len;
    b->text[b->kept++] = '\n';
    b->lines++;
    b->sound = true;
    b->answer.accepted++;
    return 0;
}

/* Handles the line at b->line, len bytes, n with its LF (n == len: it has none). */
static int handle_line(struct ingest_body *b, size_t len, size_t n)
{
    const char *line = b->text + b->line;
    bool sound;
    int rc = 0;
    b->number++;
    if (b->mode != INGEST_BY_OFFSET) {
        b->crc = (uint32_t)crc32(b->crc, (const Bytef *)line, (uInt)n);
        b->adler = (uint32_t)adler32(b->adler, (const Bytef *)line, (uInt)n);
    }
    if (!is_blank(line, len)) {
        if (check_line(b, line, len, &sound))
            return ingest_refuse_code(b, GPUFL_E_NOMEM, NULL);
        struct scan s = {line, line + len};
        if (!sound)
            leave_out(b, line, len, scan_value(&s, NULL) && scan_done(&s) ? NO_FIT : NO_JSON);
        if (sound && b->mode == INGEST_UNDECIDED) {
            rc = ingest_decide(b, line, len);
            rc = rc ? rc : admit_host(b);
        }
        if (sound && !rc && b->header && b->mode != INGEST_DRAIN)
            rc = check_header(b);
        if (sound && !rc)
            rc = take_line(b, len, n);
    }
    b->line += n;
    b->at += (int64_t)n;
    if (b->mode == INGEST_BY_OFFSET && b->base + b->at <= b->there)
        b->damaged = b->too_long = 0; /* counted when it came first */
    return rc;
}

/* Skips the rest of a line that is too long; true: its end was there. */
static bool skip_line(struct ingest_body *b)
{
    char *lf = memchr(b->text + b->line, '\n', b->end - b->line);
    size_t n = lf ? (size_t)(lf - b->text) + 1 - b->line : b->end - b->line;
    b->line += n;
    b->at += (int64_t)n;
    b->searched = b->line;
    b->skipping = !lf;
    return lf != NULL;
}

static void begin_skipping(struct ingest_body *b)
{
    b->number++;
    leave_out(b, b->text + b->line, b->end - b->line, TOO_LONG);
    b->skipping = true;
}

/* The text ends within a line. By offset, what is no whole line is not accepted: it may go on. */
static int handle_tail(struct ingest_body *b)
{
    size_t len = b->end - b->line;
    bool sound = true;
    if (!len)
        return 0;
    if (b->mode != INGEST_WINDOW && b->mode != INGEST_DRAIN && !is_blank(b->text + b->line, len)) {
        if (check_line(b, b->text + b->line, len, &sound))
            return ingest_refuse_code(b, GPUFL_E_NOMEM, NULL);
    }
    if (sound)
        return handle_line(b, len, len);
    b->number++;
    leave_out(b, b->text + b->line, len, UNFINISHED);
    b->damaged--; /* it is no part of a frame */
    return 0;
}

int ingest_cut(struct ingest_body *b, bool last)
{
    int rc = 0;
    while (!rc) {
        if (b->skipping && !skip_line(b))
            break;
        char *lf = memchr(b->text + b->searched, '\n', b->end - b->searched);
        if (!lf)
            break;
        size_t len = (size_t)(lf - b->text) - b->line;
        if (len > WIRE_MAX_LINE) {
            begin_skipping(b);
            continue;
        }
        rc = handle_line(b, len, len + 1);
        b->searched = b->line;
        if (!rc && b->kept >= INGEST_PIECE)
            rc = ingest_append_kept(b);
    }
    if (rc)
        return rc;
    b->searched = b->end;
    if (!b->skipping && b->end - b->line > WIRE_MAX_LINE) {
        begin_skipping(b);
        skip_line(b);
    }
    return last && !b->skipping ? handle_tail(b) : 0;
}

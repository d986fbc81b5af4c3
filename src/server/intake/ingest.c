/* ingest.c - handles the beginning and the end of a body; see ingest.h. */
#include "server/intake/ingest.h"

#include "base/alloc.h"
#include "base/intern.h"
#include "base/log.h"
#include "server/intake/ingest_inside.h"
#include "wire/encode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define BODY_MAX  ((int64_t)4 << 30)
#define PLAIN_MAX ((int64_t)32 << 30)
#define LAG_MAX   30000000000 /* ns */
#define WAIT_MAX  ((int64_t)1 << 30)

enum { RATIO_MAX = 400, RETRY_S = 2, RETRY_LATE_S = 5, SESSIONS_MAX = 512 };

int ingest_start(struct ingest **out, const struct ingest_config *c, struct err *e)
{
    struct ingest *in = mem_zalloc(sizeof *in);
    *out = in;
    if (!in)
        return err_nomem(e);
    in->config = *c;
    in->config.body_max = c->body_max > 0 ? c->body_max : BODY_MAX;
    in->config.plain_max = c->plain_max > 0 ? c->plain_max : PLAIN_MAX;
    in->config.ratio_max = c->ratio_max ? c->ratio_max : RATIO_MAX;
    in->config.fill_max = c->fill_max > 0 ? c->fill_max : 0.9;
    in->config.lag_max = c->lag_max > 0 ? c->lag_max : LAG_MAX;
    in->config.backlog_sessions = c->backlog_sessions ? c->backlog_sessions : SESSIONS_MAX;
    in->config.backlog_bytes = c->backlog_bytes > 0 ? c->backlog_bytes : WAIT_MAX;
    return 0;
}

void ingest_stop(struct ingest *in)
{
    mem_free(in);
}

static void count(atomic_uint_fast64_t *what, uint64_t n)
{
    atomic_fetch_add_explicit(what, n, memory_order_relaxed);
}

void ingest_counts(struct ingest *in, struct ingest_counts *out)
{
    const struct {
        atomic_uint_fast64_t *from;
        uint64_t *to;
    } counts[] = {{&in->bodies, &out->bodies},     {&in->refused, &out->refused},
                  {&in->bytes, &out->bytes},       {&in->plain, &out->plain},
                  {&in->accepted, &out->accepted}, {&in->rejected, &out->rejected},
                  {&in->repeated, &out->repeated}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i].to = atomic_load_explicit(counts[i].from, memory_order_relaxed);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static void refuse(struct ingest_answer *a, int status, const char *fmt, va_list args)
{
    a->status = status;
    vsnprintf(a->text, sizeof a->text, fmt, args);
    a->retry_after = status == 429 || status == 503 ? RETRY_S : 0;
}

static int refuse_answer(struct ingest_answer *a, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse_answer(struct ingest_answer *a, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    refuse(a, status, fmt, args);
    va_end(args);
    return status;
}

int ingest_refuse(struct ingest_body *b, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!b->stopped)
        refuse(&b->answer, status, fmt, args);
    va_end(args);
    b->stopped = true;
    return status;
}

/* Returns the HTTP status of a failure that is the server's own. */
static int status_of(int rc, const struct err *e)
{
    return rc == GPUFL_E_FULL && !err_disk_full(e) ? 429 : 503;
}

static const char *text_of(int rc, const struct err *e)
{
    if (err_disk_full(e))
        return "the server's disk is full";
    return e && *e->text ? e->text : err_text(rc);
}

int ingest_refuse_code(struct ingest_body *b, int rc, const struct err *e)
{
    return ingest_refuse(b, status_of(rc, e), "%s", text_of(rc, e));
}

int ingest_refuse_stored(struct ingest_body *b, int rc, const struct err *e)
{
    if (rc == GPUFL_E_NOMEM || err_disk_full(e))
        return ingest_refuse(b, status_of(rc, e), "%s",
                             err_disk_full(e) ? text_of(rc, e) : err_text(rc));
    log_error("session %s: a body is refused: %s", b->session->session, text_of(rc, e));
    return ingest_refuse(b, status_of(rc, e),
                         "what the server has stored of session %s cannot be read now; its log "
                         "says why",
                         b->session->session);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int refuse_late(struct ingest_answer *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse_late(struct ingest_answer *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    refuse(a, 429, fmt, args);
    va_end(args);
    a->retry_after = RETRY_LATE_S;
    return 429;
}

/* Returns three quarters of a bound, which one workspace may take. */
static int64_t share_of(int64_t bound)
{
    return bound - bound / 4;
}

/* Refuses a body that could not be loaded soon. A session with waiting lines may continue, so that
 * it gets complete. */
static int check_backlog(struct ingest *in, const struct ingest_request *r, struct ingest_answer *a)
{
    const struct ingest_config *c = &in->config;
    struct ingest_backlog b = {0};
    int64_t most = c->backlog_sessions;
    if (!c->backlog)
        return 0;
    c->backlog(c->backlog_arg, r->workspace, r->session, &b);
    if (b.own_lag > c->lag_max)
        return refuse_late(a, "what the workspace sent waits to be loaded for %lld s",
                           (long long)(b.own_lag / 1000000000));
    if (b.bytes >= c->backlog_bytes || b.own_bytes >= share_of(c->backlog_bytes))
        return refuse_late(a, "%lld MiB wait to be loaded, %lld of them of this workspace",
                           (long long)(b.bytes >> 20), (long long)(b.own_bytes >> 20));
    if (!b.waits && b.own_lack_memory)
        return refuse_late(a,
                           "the server's memory for columns is short: %lld sessions of the "
                           "workspace wait to be loaded until there is more",
                           (long long)b.own_lack_memory);
    if (!b.waits && ((int64_t)b.sessions >= most || (int64_t)b.own_sessions >= share_of(most)))
        return refuse_late(a, "%lld sessions wait to be loaded, %lld of them of this workspace",
                           (long long)b.sessions, (long long)b.own_sessions);
    return 0;
}

/* Refuses where the journal is too full. */
static int check_journal(struct ingest *in, struct ingest_answer *a)
{
    const struct ingest_config *c = &in->config;
    struct journal_stats st;
    journal_stats(c->journal, &st);
    if (st.failed)
        return refuse_answer(a, 503, "the journal has failed: the server must be started again");
    double fill = journal_fill(c->journal);
    if (fill > c->fill_max)
        return refuse_answer(a, 429, "%d %% of the journal are waiting to be loaded",
                             (int)(fill * 100));
    return 0;
}

static int check_request(struct ingest *in, const struct ingest_request *r, struct ingest_answer *a)
{
    if (r->session && !sessions_id_ok(r->session, STORE_ID_MAX))
        return refuse_answer(
            a, 400, "the session's id is invalid: it has 1 to %d of the characters 0-9 A-Z a-z _ -",
            STORE_ID_MAX - 1);
    if (r->channel && !sessions_id_ok(r->channel, JOURNAL_CHANNEL_MAX))
        return refuse_answer(
            a, 400,
            "the channel's name is invalid: it has 1 to %d of the characters 0-9 A-Z a-z _ -",
            JOURNAL_CHANNEL_MAX - 1);
    if (r->size > in->config.body_max)
        return refuse_answer(a, 413, "a body may have %lld bytes", (long long)in->config.body_max);
    int refused = check_journal(in, a);
    return refused ? refused : check_backlog(in, r, a);
}

/* Returns the identity of a window that is known before its content; 0: none. */
static uint64_t request_identity(const struct ingest_request *r)
{
    char text[512];
    if (r->window_sequence >= 0)
        snprintf(text, sizeof text, "sequence %s %lld", r->channel ? r->channel : "",
                 (long long)r->window_sequence);
    else if (r->window_id && *r->window_id)
        snprintf(text, sizeof text, "id %.400s", r->window_id);
    else
        return 0;
    return intern_hash(text, strlen(text)) | 1;
}

/* A window that the session has already is checked once more, and nothing of it is kept: the first
 * answer, which named the lines that were left out, may have been lost. */
static int look_at_session(struct ingest_body *b)
{
    struct err e = {0};
    struct intake_session *s = b->session;
    uint64_t identity = request_identity(&b->request);
    pthread_mutex_lock(&s->lock);
    int rc = sessions_take_in_again(b->in->config.sessions, s, &e);
    if (rc == GPUFL_E_CORRUPT) { /* a damaged session is replaced by sending it again */
        log_error("%s; it begins from its start, and what was stored of it is set aside", e.text);
        rc = sessions_replace(b->in->config.sessions, s, &e);
    }
    bool dropped = s->dropped, there = !rc && identity && sessions_has_window(s, identity);
    pthread_mutex_unlock(&s->lock);
    snprintf(b->answer.session, sizeof b->answer.session, "%s", s->session);
    if (b->request.channel)
        snprintf(b->answer.channel, sizeof b->answer.channel, "%s", b->request.channel);
    if (rc)
        return ingest_refuse_stored(b, rc, &e);
    if (dropped)
        return ingest_refuse(b, 410, "session %s was deleted", s->session);
    b->mode = there ? INGEST_DRAIN : INGEST_UNDECIDED;
    return 0;
}

static int open_body(struct ingest_body *b)
{
    const struct ingest_config *c = &b->in->config;
    const struct inflate_limits limits = {c->body_max, c->plain_max, c->ratio_max};
    static const enum inflate_format formats[] = {
        [INGEST_PLAIN] = INFLATE_PLAIN, [INGEST_GZIP] = INFLATE_GZIP, [INGEST_ZSTD] = INFLATE_ZSTD};
    b->cap = INGEST_ROOM;
    b->text = mem_alloc(b->cap + 1);
    b->adler = 1;
    if (!b->text || inflate_open(&b->inflate, formats[b->request.encoding], &limits))
        return ingest_refuse_code(b, GPUFL_E_NOMEM, NULL);
    if (!b->request.session)
        return 0;
    b->session = sessions_get(c->sessions, b->request.workspace, b->request.session);
    return b->session ? look_at_session(b) : ingest_refuse_code(b, GPUFL_E_NOMEM, NULL);
}

int ingest_open(struct ingest *in, const struct ingest_request *r, struct ingest_body **out,
                struct ingest_answer *a)
{
    *out = NULL;
    *a = (struct ingest_answer){.status = 200, .offset = -1};
    count(&in->bodies, 1);
    int status = check_request(in, r, a);
    struct ingest_body *b = status ? NULL : mem_zalloc(sizeof *b);
    if (!status && !b)
        status = refuse_answer(a, 503, "%s", err_text(GPUFL_E_NOMEM));
    if (b) {
        b->in = in;
        b->request = *r;
        b->answer = *a;
        status = open_body(b);
        if (status) {
            *a = b->answer;
            ingest_close(b);
            b = NULL;
        }
    }
    if (status)
        count(&in->refused, 1);
    *out = b;
    return status;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Makes room for more text. */
static int make_room(struct ingest_body *b)
{
    if (b->line > b->kept) { /* close the gap that lines left */
        memmove(b->text + b->kept, b->text + b->line, b->end - b->line);
        b->end -= b->line - b->kept;
        b->searched -= b->line - b->kept;
        b->line = b->kept;
    }
    if (b->cap - b->end >= INGEST_PIECE / 4)
        return 0;
    /* A long line is being cut: it ends, or is skipped, within WIRE_MAX_LINE. */
    size_t cap = 2 * b->cap;
    char *more = mem_realloc(b->text, cap + 1);
    if (!more)
        return ingest_refuse_code(b, GPUFL_E_NOMEM, NULL);
    b->text = more;
    b->cap = cap;
    return 0;
}

static int refuse_inflated(struct ingest_body *b, int rc)
{
    static const char *const names[] = {"plain text", "gzip data", "zstd data"};
    if (rc == GPUFL_E_CORRUPT)
        return ingest_refuse(b, 400, "the body is not the %s that Content-Encoding says, or broken",
                             names[b->request.encoding]);
    if (rc == GPUFL_E_FULL)
        return ingest_refuse(b, 413,
                             "the body is too large: %lld bytes were sent, which inflate to more "
                             "than %lld",
                             (long long)inflate_in(b->inflate),
                             (long long)inflate_out(b->inflate) - 1);
    return ingest_refuse_code(b, rc, NULL);
}

int ingest_data(struct ingest_body *b, const void *data, size_t n)
{
    const char *at = data;
    size_t made = 1;
    if (b->stopped)
        return b->answer.status;
    count(&b->in->bytes, n);
    if (b->blind)
        return 0;
    if (b->request.window_crc32 >= 0)
        b->crc_in = (uint32_t)crc32_z(b->crc_in, data, n);
    while (n > 0 || made > 0) {
        int refused = make_room(b);
        if (refused)
            return refused;
        int rc = inflate_some(b->inflate, &at, &n, b->text + b->end, b->cap - b->end, &made);
        b->end += made;
        count(&b->in->plain, made);
        b->blind = rc && b->mode == INGEST_DRAIN;
        if (rc)
            return b->blind ? 0 : refuse_inflated(b, rc);
        refused = made ? ingest_cut(b, false) : 0;
        if (refused)
            return refused;
    }
    return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A body that states its place and has no sound line still advances its channel: by what was left
 * out, and by empty lines. */
static void pass_over(struct ingest_body *b)
{
    bool continues = b->session && b->request.channel && b->request.offset > 0;
    if (b->mode == INGEST_UNDECIDED && continues && b->at > 0 && !ingest_decide(b, NULL, 0))
        ingest_append_kept(b);
}

static void refuse_unsound(struct ingest_body *b)
{
    const struct ingest_answer *a = &b->answer;
    if (!b->stopped)
        ingest_refuse(b, 400, "nothing of the body can be accepted; line %llu: %s",
                      (unsigned long long)a->errors[0].line, a->errors[0].reason);
}

static uint64_t window_identity(const struct ingest_body *b)
{
    uint64_t identity = request_identity(&b->request);
    if (identity)
        return identity;
    const uint64_t content[] = {b->crc, b->adler, (uint64_t)b->at};
    return intern_hash((const char *)content, sizeof content) | 1;
}

static void abandon_window(struct ingest_body *b)
{
    const struct ingest_config *c = &b->in->config;
    if (b->window && c->abandon)
        c->abandon(c->abandon_arg, b->session, b->window);
    b->window = 0;
}

/* The window counts from here on, unless the session has it already. */
static int seal_window(struct ingest_body *b)
{
    struct intake_session *s = b->session;
    struct err e = {0};
    uint64_t identity = window_identity(b);
    struct journal_frame f = {.kind = JOURNAL_SEAL, .body = b->window, .identity = identity};
    memcpy(f.workspace, s->workspace, sizeof f.workspace);
    memcpy(f.session, s->session, sizeof f.session);
    memcpy(f.channel, b->answer.channel, sizeof f.channel);
    f.damaged = b->damaged;
    f.too_long = b->too_long;
    b->answer.window = true;
    pthread_mutex_lock(&s->lock);
    bool there = sessions_has_window(s, identity);
    int rc = there ? 0 : sessions_add_window(s, identity);
    rc = there || rc ? rc : journal_append(b->in->config.journal, &f, "", &e);
    if (rc && !there)
        sessions_drop_window(s, identity);
    pthread_mutex_unlock(&s->lock);
    if (rc)
        return ingest_refuse_code(b, rc, &e);
    b->answer.repeated = there;
    if (there)
        abandon_window(b);
    b->window = 0;
    return 0;
}

static int check_crc(struct ingest_body *b)
{
    if (b->request.window_crc32 < 0 || b->crc_in == (uint32_t)b->request.window_crc32)
        return 0;
    return ingest_refuse(b, 400, "the window's checksum is %u, not %lld: it did not come whole",
                         b->crc_in, (long long)b->request.window_crc32);
}

static void finish_body(struct ingest_body *b)
{
    struct ingest_answer *a = &b->answer;
    if (b->mode == INGEST_DRAIN) {
        if (!b->blind && ingest_cut(b, true))
            return;
        a->window = a->repeated = true;
        a->accepted = 0;
        return;
    }
    if (inflate_end(b->inflate)) {
        refuse_inflated(b, GPUFL_E_CORRUPT);
        return;
    }
    if (ingest_cut(b, true) || check_crc(b))
        return;
    if (!a->accepted)
        pass_over(b);
    if (a->rejected && !a->accepted) {
        refuse_unsound(b);
        return;
    }
    if (b->stopped || ingest_append_kept(b))
        return;
    if (b->mode == INGEST_WINDOW)
        seal_window(b);
    else
        a->repeated = a->accepted && !b->sound;
}

/* Makes everything accepted durable before the answer says so, also what an earlier body
 * brought. */
static void make_durable(struct ingest_body *b)
{
    struct err e = {0};
    if (b->mode == INGEST_UNDECIDED || b->request.later)
        return;
    int rc = journal_wait(b->in->config.journal, 0, &e);
    if (rc) {
        b->stopped = false;
        b->answer.accepted = 0;
        ingest_refuse_code(b, rc, &e);
    }
}

void ingest_finish(struct ingest_body *b, struct ingest_answer *a)
{
    if (!b->stopped)
        finish_body(b);
    if (b->session) {
        pthread_mutex_lock(&b->session->lock);
        snprintf(b->answer.host, sizeof b->answer.host, "%s", b->session->owner.host);
        if (b->mode == INGEST_BY_OFFSET) {
            const struct session_channel *c = ingest_channel(b);
            b->answer.offset = c ? c->offset : -1;
        }
        pthread_mutex_unlock(&b->session->lock);
    }
    make_durable(b);
    if (b->answer.status != 200) {
        count(&b->in->refused, 1);
        b->answer.accepted = b->mode == INGEST_BY_OFFSET ? b->answer.accepted : 0;
    }
    count(&b->in->accepted, b->answer.accepted);
    if (b->mode != INGEST_DRAIN)
        count(&b->in->rejected, b->answer.rejected);
    *a = b->answer;
}

int ingest_sync(struct ingest *in, struct err *e)
{
    return journal_wait(in->config.journal, 0, e);
}

void ingest_close(struct ingest_body *b)
{
    if (!b)
        return;
    abandon_window(b);
    sessions_put(b->in->config.sessions, b->session);
    inflate_close(b->inflate);
    decoder_close(b->decoder);
    mem_free(b->text);
    mem_free(b);
}

void ingest_complete(struct ingest *in, const char *workspace, const char *session,
                     struct ingest_answer *a)
{
    struct journal_frame f = {.kind = JOURNAL_END};
    struct err e = {0};
    *a = (struct ingest_answer){.status = 200, .offset = -1};
    if (!sessions_id_ok(session, STORE_ID_MAX)) {
        refuse_answer(a, 400, "the session's id is invalid");
        return;
    }
    snprintf(a->session, sizeof a->session, "%s", session);
    snprintf(f.workspace, sizeof f.workspace, "%s", workspace);
    snprintf(f.session, sizeof f.session, "%s", session);
    int rc = journal_append(in->config.journal, &f, "", &e);
    if (rc == 0)
        rc = journal_wait(in->config.journal, f.number, &e);
    if (rc)
        refuse_answer(a, status_of(rc, &e), "%s", text_of(rc, &e));
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *title_of(int status)
{
    static const struct {
        int status;
        const char *title;
    } titles[] = {
        {400, "Bad Request"},       {409, "Conflict"},          {410, "Gone"},
        {413, "Content Too Large"}, {429, "Too Many Requests"}, {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

static void put_errors(const struct ingest_answer *a, struct buf *out)
{
    buf_str(out, ",\"errors\":[");
    for (unsigned i = 0; i < a->error_count; i++) {
        buf_printf(out, "%s{\"line\":%llu,\"type\":", i ? "," : "",
                   (unsigned long long)a->errors[i].line);
        buf_json_str(out, a->errors[i].type);
        buf_str(out, ",\"reason\":");
        buf_json_str(out, a->errors[i].reason);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

void ingest_answer_json(const struct ingest_answer *a, struct buf *out)
{
    if (a->status == 200) {
        buf_str(out, "{\"accepted\":");
    } else {
        buf_printf(out, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":",
                   title_of(a->status), a->status);
        buf_json_str(out, a->text);
        buf_str(out, ",\"accepted\":");
    }
    buf_u64(out, a->accepted);
    buf_str(out, ",\"rejected\":");
    buf_u64(out, a->rejected);
    put_errors(a, out);
    if (*a->session) {
        buf_str(out, ",\"session\":");
        buf_json_str(out, a->session);
    }
    if (a->offset >= 0) {
        buf_str(out, ",\"channel\":");
        buf_json_str(out, a->channel);
        buf_str(out, a->status == 200 ? ",\"offset\":" : ",\"expected_offset\":");
        buf_i64(out, a->offset);
    }
    if (a->status == 200 && a->window)
        buf_str(out, ",\"window_acknowledged\":true");
    if (a->status == 200)
        buf_printf(out, ",\"repeated\":%s", a->repeated ? "true" : "false");
    buf_char(out, '}');
}

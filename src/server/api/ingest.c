/* ingest.c - takes uploads of sessions, and the stream of live events.
 *
 * The header identifies the session and the body; ingest.h decides which lines are accepted, and
 * what is answered. */
#include "server/api/quota.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* This is the body of a call: open, or the answer that was made instead. */
struct intake_body {
    struct ingest_body *body;
    int64_t bytes; /* as they came */
    bool refused;
    struct ingest_answer answer;
};

static void body_done(struct call *c)
{
    struct intake_body *b = c->state;
    if (b->body)
        ingest_close(b->body);
    b->body = NULL;
}

static int64_t number(const struct value *v, int64_t none)
{
    return v->given ? v->i : none;
}

static bool encoding_of(struct call *c, enum ingest_encoding *out)
{
    const char *text = http_field(c->http, "Content-Encoding");
    if (!text || !*text || strcasecmp(text, "identity") == 0)
        *out = INGEST_PLAIN;
    else if (strcasecmp(text, "gzip") == 0 || strcasecmp(text, "x-gzip") == 0)
        *out = INGEST_GZIP;
    else if (strcasecmp(text, "zstd") == 0)
        *out = INGEST_ZSTD;
    else
        return false;
    return true;
}

/* Makes ingest's answer that of the request. */
static void answer(struct call *c, const struct ingest_answer *a)
{
    char seconds[16];
    struct buf *b = http_body(c->http, 1 << 20);
    ingest_answer_json(a, b);
    buf_char(b, '\n');
    http_send(c->http, a->status,
              a->status < 400 ? "application/json" : "application/problem+json");
    c->http->answer.cacheable = false;
    if (a->retry_after > 0) {
        snprintf(seconds, sizeof seconds, "%d", a->retry_after);
        http_set(c->http, "Retry-After", seconds);
    }
}

/* Returns the sender of a body, whose host is not known before the body's header is read. */
static struct quota_body quota_of(const struct call *c)
{
    return (struct quota_body){.workspace = c->who.workspace,
                               .key = strcmp(c->who.kind, "key") == 0 ? c->who.actor : "",
                               .session = ARG(c, events_stream, session)->text,
                               .now = clock_real()};
}

/* A body beyond the limits of the day or the second is not read. */
static bool within_quota(struct call *c)
{
    const struct quota_body q = quota_of(c);
    struct err e = {0};
    int64_t wait = 0;
    quota_refresh(c->parts->quotas, c->parts->meta);
    if (quota_admit(c->parts->quotas, &q, &wait, &e) == 0)
        return true;
    access_fail(c, GPUFL_E_TIMEOUT, &e, wait * 1000000000);
    return false;
}

/* Returns the host that counts: the session's own, else the one that the sender names. */
static const char *host_of(const struct call *c, const char *host)
{
    return *host ? host : http_field(c->http, "X-GpuFlight-Hostname");
}

static int admit_host(void *arg, const char *session, const char *host, int64_t *wait,
                      struct err *e)
{
    const struct call *c = arg;
    struct quota_body q = quota_of(c);
    q.session = session;
    q.host = host_of(c, host);
    return quota_admit(c->parts->quotas, &q, wait, e);
}

void api_quota(struct call *c)
{
    struct json_out j;
    char resets[24];
    const struct quota_body q = {.workspace = c->who.workspace,
                                 .key = strcmp(c->who.kind, "key") == 0 ? c->who.actor : "",
                                 .now = clock_real()};
    snprintf(resets, sizeof resets, "%lld", (long long)quota_resets(q.now));
    quota_refresh(c->parts->quotas, c->parts->meta);
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text(&j, "resets", resets);
    quota_json(c->parts->quotas, &q, &j);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
    c->http->answer.cacheable = false;
}

/* Opens the body; false: the answer is made. */
static bool body_open(struct call *c)
{
    enum ingest_encoding encoding;
    if (c->state)
        return !((struct intake_body *)c->state)->refused;
    struct intake_body *b = region_array(c->memory, 1, sizeof *b);
    if (!b) {
        http_nomem(c->http);
        return false;
    }
    c->state = b;
    c->done = body_done;
    b->refused = true;
    if (!encoding_of(c, &encoding)) {
        http_problem(c->http, 415, "Content-Encoding may be gzip, zstd or identity.");
        return false;
    }
    if (!within_quota(c))
        return false;
    bool by_offset = ARG(c, events_stream, offset)->given;
    const char *size = http_field(c->http, "Content-Length");
    const struct ingest_request r = {
        .workspace = c->who.workspace,
        .session = ARG(c, events_stream, session)->text,
        .channel = by_offset || !ARG(c, events_stream, window_channel)->given
                       ? ARG(c, events_stream, channel)->text
                       : ARG(c, events_stream, window_channel)->text,
        .offset = number(ARG(c, events_stream, offset), INGEST_NO_OFFSET),
        .encoding = encoding,
        .size = size ? strtoll(size, NULL, 10) : -1,
        .window_id = ARG(c, events_stream, window_id)->text,
        .window_sequence = number(ARG(c, events_stream, window_sequence), INGEST_NO_SEQUENCE),
        .window_crc32 = number(ARG(c, events_stream, window_crc32), -1),
        .admit = admit_host,
        .admit_arg = c,
    };
    b->refused = ingest_open(c->parts->intake->ingest, &r, &b->body, &b->answer) != 0;
    if (b->refused)
        answer(c, &b->answer);
    return !b->refused;
}

int api_events_stream_take(struct call *c, const char *data, size_t n)
{
    if (!body_open(c))
        return GPUFL_E_STATE;
    struct intake_body *b = c->state;
    b->bytes += (int64_t)n;
    if (ingest_data(b->body, data, n) == 0)
        return 0;
    api_events_stream(c); /* it knows enough */
    return GPUFL_E_STATE;
}

void api_events_stream(struct call *c)
{
    if (!body_open(c))
        return;
    struct intake_body *b = c->state;
    ingest_finish(b->body, &b->answer);
    if (b->answer.status == 200) {
        struct quota_body q = quota_of(c);
        q.session = b->answer.session;
        q.host = host_of(c, b->answer.host);
        quota_count(c->parts->quotas, &q, b->bytes);
        quota_keep(c->parts->quotas, c->parts->meta);
    }
    answer(c, &b->answer);
}

void api_session_complete(struct call *c)
{
    struct ingest_answer a = {0};
    ingest_complete(c->parts->intake->ingest, c->who.workspace,
                    ARG(c, session_complete, session)->text, &a);
    answer(c, &a);
}

void api_session_positions(struct call *c)
{
    struct sessions *table = c->parts->intake->sessions;
    struct intake_session *s =
        sessions_get(table, c->who.workspace, ARG(c, session_positions, session)->text);
    struct err e = {0};
    struct json_out j;
    if (!s) {
        http_nomem(c->http);
        return;
    }
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_array(&j, "channels");
    pthread_mutex_lock(&s->lock);
    int rc = sessions_take_in_again(table, s, &e);
    rc = rc || s->dropped ? rc : sessions_look_again(table, s, &e);
    for (unsigned i = 0; i < s->channel_count && rc == 0; i++) {
        json_out_object(&j, NULL);
        json_out_text(&j, "channel", s->channels[i].name);
        json_out_int(&j, "offset", s->channels[i].offset);
        json_out_close_object(&j);
    }
    bool dropped = s->dropped;
    pthread_mutex_unlock(&s->lock);
    sessions_put(table, s);
    json_out_close_array(&j);
    json_out_close_object(&j);
    if (!rc && dropped) {
        buf_fini(&j.buf);
        http_problem(c->http, 410, "The session was deleted; it cannot be sent again.");
        return;
    }
    if (rc) {
        buf_fini(&j.buf);
        call_fail(c, rc, "session", &e);
        return;
    }
    call_json_send(c, &j, 200);
    c->http->answer.cacheable = false;
}

void api_live(struct call *c)
{
    struct http_stream *s;
    int rc = http_stream_open(&s, c->parts->hub, c->who.workspace);
    if (rc == GPUFL_E_FULL)
        http_problem(c->http, 503,
                     "Too many browsers follow this server; close some, or see "
                     "--max-streams.");
    else if (rc)
        call_fail(c, rc, "stream", NULL);
    else
        http_send_stream(c->http, s);
}

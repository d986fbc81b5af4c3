/* ship.c - see ship.h: the loop of tries, and sessions that go by offset. */
#include "agent/ship_inside.h"

#include "base/file/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 8, NAP_MS = 100, STUCK_MOST = 3, CUTS_MOST = 2 };

static const int64_t SECOND = 1000000000, MILLI = 1000000, PATIENCE = 3600 * 1000000000LL;
static const int64_t PIECE = 256 << 20, PIECE_SMALLER = 32 << 20, PIECE_LEAST = 1 << 20;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- what both ways share ------------------------------------------------------------------ */

const struct ship_words ship_words_command = {
    .server = "--server URL, or GPUFL_BACKEND_URL",
    .key = "--api-key-file or GPUFL_API_KEY",
    .longer = "--unreachable",
    .ca = "--ca-file names the authority that signed it",
    .again = "the same command goes on from there",
};

const struct ship_words ship_words_code = {
    .server = "set backend_url, or GPUFL_BACKEND_URL",
    .key = "api_key or GPUFL_API_KEY",
    .longer = "unreachable_ms",
    .again = "the next call goes on from there",
};

/* This is called during a request; false ends it, if a server has not answered in the time that the
 * caller allows. While a server takes a body, bytes move. */
static bool on_request(void *arg, int64_t moved)
{
    struct shipping *s = arg;
    const struct ship_config *c = s->config;
    s->silent = moved > s->silent ? moved : s->silent;
    int64_t ns = now() - s->silent;
    int64_t most = remote_answered(c->remote) ? 0 : c->unreachable;
    if (most && ns >= most)
        return false;
    if (c->watch.silent)
        c->watch.silent(c->watch.arg, ns, most);
    return true;
}

void shipping_over(struct shipping *s)
{
    remote_set_watch(s->config->remote, NULL);
}

void shipping_init(struct shipping *s, const struct ship_config *c,
                   const struct ship_session *session, struct ship_result *out)
{
    *s = (struct shipping){.config = c, .session = session, .result = out, .silent = now()};
    *out = (struct ship_result){.end = SHIP_ALL};
    remote_set_watch(c->remote, &(struct http_client_watch){.waiting = on_request, .arg = s});
    backoff_init(
        &s->backoff, c->tries ? c->tries : TRIES, c->wait_least ? c->wait_least : SECOND / 2,
        c->wait_most ? c->wait_most : 60 * SECOND, (uint64_t)now() ^ ((uint64_t)getpid() << 32));
}

void shipping_end(struct shipping *s, enum ship_end end, const char *fmt, ...)
{
    va_list ap;
    if (s->result->end == SHIP_ALL)
        s->result->end = end;
    if (*s->result->text)
        return;
    va_start(ap, fmt);
    vsnprintf(s->result->text, sizeof s->result->text, fmt, ap);
    va_end(ap);
}

void shipping_refused(struct shipping *s, const struct ship_part *p, const struct remote_answer *a)
{
    shipping_end(s, SHIP_SOME, "%s%s%s answers %d%s%s", p ? path_base(p->path) : "", p ? ": " : "",
                 remote_asked(s->config->remote), a->status, *a->detail ? ": " : "", a->detail);
}

void shipping_progress(struct shipping *s, int64_t done)
{
    if (done <= s->shown)
        return;
    s->shown = done;
    if (s->config->watch.progress)
        s->config->watch.progress(s->config->watch.arg, done);
}

void shipping_got_on(struct shipping *s)
{
    backoff_reset(&s->backoff);
    s->waited = 0;
}

static bool stopped(const struct shipping *s)
{
    return (s->config->stop && *s->config->stop) ||
           (s->config->deadline && now() >= s->config->deadline);
}

/* Sleeps in short steps, so that a signal or the deadline is noticed soon. False: stopped. */
static bool wait_for(const struct shipping *s, int64_t ns)
{
    for (int64_t until = now() + ns; !stopped(s);) {
        int64_t left = until - now();
        if (left <= 0)
            return true;
        left = left < NAP_MS * MILLI ? left : NAP_MS * MILLI;
        nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
    }
    return false;
}

static const struct ship_words *words(const struct shipping *s)
{
    return s->config->words ? s->config->words : &ship_words_command;
}

/* Returns true if neither another try nor another session would change the answer. */
static bool refuses_all(struct shipping *s, const struct remote_answer *a)
{
    const char *url = remote_url(s->config->remote), *proxy = remote_proxy(s->config->remote);
    if (a->status == 407 && *proxy)
        shipping_end(s, SHIP_REFUSED,
                     "the proxy %s asks for a name and a password (407): put them before its host "
                     "in the environment's variable: http://NAME:PASSWORD@HOST:PORT",
                     proxy);
    else if (a->status == 401 || a->status == 403)
        shipping_end(s, SHIP_REFUSED, "%s answers %d%s%s; a key that may send is named by %s", url,
                     a->status, *a->detail ? ": " : "", a->detail, words(s)->key);
    else if (a->status >= 300 && a->status < 400)
        shipping_end(s, SHIP_REFUSED,
                     "%s%s%s answers %d, which sends elsewhere; name the server's own address", url,
                     *proxy ? ", through the proxy " : "", proxy, a->status);
    else
        return false;
    return true;
}

/* Returns the wait before another request to a server that does not answer, within the time that
 * the caller allows. */
static int64_t wait_reachable(const struct shipping *s, int64_t wait)
{
    if (!s->config->unreachable)
        return wait;
    int64_t left = s->silent + s->config->unreachable - now();
    if (left <= 0)
        return BACKOFF_GIVE_UP;
    return wait < left ? wait : left;
}

/* Returns true if the answer asks for a wait and is no failure. */
static bool is_not_now(int rc, const struct remote_answer *a)
{
    return !rc && (a->status == 429 || (a->status == 503 && a->retry_after >= 0));
}

/* Returns the wait for a server that says "not now", within the caller's patience. */
static int64_t wait_patiently(struct shipping *s, const struct remote_answer *a)
{
    int64_t patience = s->config->patience ? s->config->patience : PATIENCE;
    s->waited = s->waited ? s->waited : now();
    int64_t wait = backoff_wait(&s->backoff, a->retry_after);
    int64_t left = s->waited + patience - now();
    if (left <= 0 || (a->retry_after >= 0 && a->retry_after > left / SECOND))
        return BACKOFF_GIVE_UP;
    return wait < left ? wait : left;
}

/* Sets the sentence for giving up, after a wait or after failures. */
static void say_given_up(struct shipping *s, const char *why, const struct remote_answer *a)
{
    int64_t patience = s->config->patience ? s->config->patience : PATIENCE;
    if (a && a->retry_after >= 0)
        shipping_end(s, SHIP_REFUSED,
                     "%s; it asks for another %lld s, and a wait may take %lld s in a row", why,
                     (long long)a->retry_after, (long long)(patience / SECOND));
    else if (a)
        shipping_end(s, SHIP_REFUSED, "%s; given up after a wait of %lld s", why,
                     (long long)(patience / SECOND));
    else
        shipping_end(s, SHIP_REFUSED, "%s; given up after %u %s", why, s->backoff.tries,
                     s->backoff.tries == 1 ? "try" : "tries");
}

/* Sets the sentence for a server that was not reached, or that accepted a connection and no more,
 * in the time that the caller allows. */
static void say_unreachable(struct shipping *s, const char *why)
{
    shipping_end(s, SHIP_REFUSED,
                 "%s; given up after %u %s and %.3g s without an answer (%s gives it longer)", why,
                 s->backoff.tries, s->backoff.tries == 1 ? "try" : "tries",
                 (double)(now() - s->silent) / (double)SECOND, words(s)->longer);
}

enum ship_step shipping_judge(struct shipping *s, int rc, const struct err *e,
                              const struct remote_answer *a)
{
    char why[416];
    if (!rc || (a->stalled && remote_answered(s->config->remote)))
        s->silent = now(); /* the server answers, if slowly */
    if (stopped(s) || (rc == GPUFL_E_STATE)) {
        bool late = !(s->config->stop && *s->config->stop);
        shipping_end(s, SHIP_STOPPED, "%s; %s", late ? "no time left" : "interrupted",
                     words(s)->again);
        return SHIP_STEP_END;
    }
    if (rc && rc != GPUFL_E_UNAVAILABLE) {
        shipping_end(s, rc == GPUFL_E_PERM ? SHIP_REFUSED : SHIP_SOME, "%s", e->text);
        return SHIP_STEP_END;
    }
    if (!rc && refuses_all(s, a))
        return SHIP_STEP_END;
    if (!rc && !backoff_transient(a->status))
        return SHIP_STEP_ANSWER;
    if (rc)
        snprintf(why, sizeof why, "%s", e->text);
    else
        snprintf(why, sizeof why, "%s answers %d%s%.200s", remote_asked(s->config->remote),
                 a->status, *a->detail ? ": " : "", a->detail);
    bool not_now = is_not_now(rc, a);
    int64_t wait =
        not_now ? wait_patiently(s, a) : backoff_next(&s->backoff, rc ? -1 : a->retry_after);
    bool tried_out = wait == BACKOFF_GIVE_UP;
    if (rc && !tried_out)
        wait = wait_reachable(s, wait);
    if (wait == BACKOFF_GIVE_UP) {
        if (tried_out)
            say_given_up(s, why, not_now ? a : NULL);
        else
            say_unreachable(s, why);
        return SHIP_STEP_END;
    }
    if (s->config->watch.waiting)
        s->config->watch.waiting(s->config->watch.arg, wait, why);
    (void)wait_for(s, wait);
    s->silent = rc ? s->silent : now(); /* the server asked for the wait */
    return SHIP_STEP_AGAIN;
}

/* ---- a body -------------------------------------------------------------------------------- */

static int64_t read_body(void *arg, char *out, size_t size)
{
    struct shipping *s = arg;
    return part_stream_read(s->stream, out, size);
}

static void on_sent(void *arg, int64_t sent)
{
    struct shipping *s = arg;
    (void)sent;
    shipping_progress(s, s->done + part_stream_consumed(s->stream));
}

int shipping_send(struct shipping *s, const struct ship_part *p, struct remote_body *b,
                  struct remote_answer *a, struct err *e)
{
    b->session = s->session->id;
    b->host = s->session->host;
    b->channel = p->channel;
    b->read = read_body;
    b->size = part_stream_size(s->stream);
    b->encoding = part_stream_encoding(s->stream);
    b->progress = on_sent;
    b->arg = s;
    int rc = remote_send(s->config->remote, b, a, e);
    if (part_stream_error(s->stream)->code) { /* reading the part failed, not the request */
        *e = *part_stream_error(s->stream);
        rc = e->code == GPUFL_E_STATE || e->code == GPUFL_E_UNAVAILABLE ? GPUFL_E_IO : e->code;
    }
    s->result->sent += a->sent;
    if (rc || a->status < 200 || a->status > 299)
        return rc;
    s->result->bodies++;
    s->result->accepted += a->repeated ? 0 : a->accepted;
    s->result->rejected += a->rejected;
    for (unsigned i = 0; i < a->error_count && s->config->watch.rejected; i++)
        s->config->watch.rejected(s->config->watch.arg, p, &a->errors[i]);
    if (a->rejected)
        shipping_end(s, SHIP_SOME, "the server left lines out");
    return rc;
}

/* ---- by offset ----------------------------------------------------------------------------- */

/* Describes a channel that is being sent. */
struct course {
    const struct ship_part *parts; /* of the channel */
    size_t count;
    int64_t at;     /* uncompressed bytes that the server has */
    int64_t piece;  /* uncompressed bytes of a body; 0: whole parts */
    unsigned stuck; /* bodies in a row without progress */
    unsigned cuts;  /* bodies in a row that were cut off without progress */
};

/* Asks the server for its position; false: sending is over. */
static bool ask_position(struct shipping *s, const char *channel, int64_t *at)
{
    struct remote_positions p;
    struct remote_answer a;
    struct err e = {0};
    for (;;) {
        int rc = remote_ask_positions(s->config->remote, s->session->id, &p, &a, &e);
        enum ship_step step = shipping_judge(s, rc, &e, &a);
        if (step == SHIP_STEP_AGAIN)
            continue;
        if (step == SHIP_STEP_END)
            return false;
        break;
    }
    *at = 0;
    if (a.status != 200 && a.status != 404) {
        shipping_refused(s, NULL, &a);
        return false;
    }
    for (unsigned i = 0; i < p.count; i++)
        if (strcmp(p.items[i].channel, channel) == 0)
            *at = p.items[i].offset;
    return true;
}

/* Returns the part that has the position: the last one that does not begin after it. */
static const struct ship_part *part_at(const struct course *c)
{
    const struct ship_part *found = NULL;
    for (size_t i = 0; i < c->count && c->parts[i].head.offset <= c->at; i++)
        found = &c->parts[i];
    return found;
}

static void say_gap(struct shipping *s, const struct course *c, const struct ship_part *next)
{
    shipping_end(s, SHIP_SOME,
                 "channel %s: bytes %lld to %lld are in no file here; what follows them (%s) "
                 "cannot be sent",
                 next->channel, (long long)c->at, (long long)next->head.offset,
                 path_base(next->path));
}

static int64_t smaller(int64_t piece)
{
    return piece ? piece / 2 : PIECE_SMALLER;
}

/* A server or a proxy that accepts no body of this length may close the connection at once. Its 413
 * is lost then, so after a second cut the body is sent in smaller pieces. */
static void cut_off(struct course *c)
{
    if (++c->cuts >= CUTS_MOST && smaller(c->piece) >= PIECE_LEAST)
        c->piece = smaller(c->piece);
}

/* Decides how the course goes on after a 409, a 413 or a 200. False: the channel is over. */
static bool steer(struct shipping *s, struct course *c, const struct ship_part *p,
                  const struct remote_answer *a)
{
    int64_t before = c->at;
    if (a->status == 413) {
        c->piece = smaller(c->piece);
        if (c->piece >= PIECE_LEAST)
            return true;
        shipping_refused(s, p, a);
        return false;
    }
    if (a->offset >= 0)
        c->at = a->offset;
    if (a->status / 100 != 2 && (a->status != 409 || a->offset < 0)) {
        shipping_refused(s, p, a);
        return false;
    }
    if (c->at > before) {
        c->stuck = 0;
        shipping_got_on(s);
    } else if (a->status == 409 && c->at == before) {
        shipping_refused(s, p, a); /* no gap: the server gives another reason */
        return false;
    } else if (++c->stuck >= STUCK_MOST) {
        shipping_end(s, SHIP_SOME, "%s: the server stays at byte %lld of channel %s",
                     path_base(p->path), (long long)c->at, p->channel);
        return false;
    }
    return true;
}

/* Opens the rest of the part that the server lacks. 1: there is a rest, 0: none, -1: sending is
 * over. */
static int open_rest(struct shipping *s, const struct course *c, const struct ship_part *p)
{
    struct err e = {0};
    int64_t skip = c->at - p->head.offset;
    int64_t most = c->piece;
    if (!most && p->bytes > PIECE)
        most = PIECE;
    int rc = part_stream_open(
        &s->stream, p->path, p->head.file,
        &(struct part_range){
            .skip = skip, .most = most, .pack = s->config->near ? PART_PLAIN : PART_GZIP},
        &e);
    if (rc) {
        s->result->moved |= rc == GPUFL_E_NOENT;
        shipping_end(s, SHIP_SOME, "%s", e.text);
        return -1;
    }
    return !part_stream_empty(s->stream);
}

static void close_stream(struct shipping *s)
{
    part_stream_close(s->stream);
    s->stream = NULL;
}

/* Sends one body of the part; false: the channel is over. */
static bool send_rest(struct shipping *s, struct course *c, const struct ship_part *p)
{
    struct remote_body b = {.offset = c->at};
    struct remote_answer a;
    struct err e = {0};
    int rc = shipping_send(s, p, &b, &a, &e);
    close_stream(s);
    switch (shipping_judge(s, rc, &e, &a)) {
    case SHIP_STEP_END:
        return false;
    case SHIP_STEP_AGAIN: { /* some of it may have arrived */
        int64_t before = c->at;
        if (!ask_position(s, p->channel, &c->at))
            return false;
        if (c->at > before) {
            c->cuts = 0;
            shipping_got_on(s);
        } else if (a.cut) {
            cut_off(c);
        }
        return true;
    }
    case SHIP_STEP_ANSWER:
        c->cuts = 0;
        break;
    }
    return steer(s, c, p, &a);
}

/* Returns the number of bytes on disk of the channel's parts before p, added to those of earlier
 * channels. */
static int64_t bytes_before(const struct course *c, const struct ship_part *p)
{
    int64_t n = 0;
    for (const struct ship_part *q = c->parts; q < p; q++)
        n += q->bytes;
    return n;
}

static bool send_channel(struct shipping *s, struct course *c)
{
    int64_t base = s->done;
    for (;;) {
        const struct ship_part *p = part_at(c), *end = c->parts + c->count;
        if (!p) {
            say_gap(s, c, c->parts);
            return false;
        }
        s->done = base + bytes_before(c, p);
        int rest = open_rest(s, c, p);
        if (rest > 0) {
            if (!send_rest(s, c, p))
                return false;
            continue;
        }
        close_stream(s);
        if (rest < 0)
            return false;
        if (p + 1 == end)
            return true;
        say_gap(s, c, p + 1);
        return false;
    }
}

/* Returns the number of bytes on disk, in whole parts, that the server has already. */
static int64_t had_before(const struct course *c)
{
    const struct ship_part *p = part_at(c);
    return p ? bytes_before(c, p) : 0;
}

static void ship_offsets(struct shipping *s)
{
    const struct ship_session *session = s->session;
    int64_t total = 0;
    for (size_t i = 0, n; i < session->count; i += n) {
        struct course c = {.parts = session->parts + i};
        int64_t bytes = 0;
        for (n = 0; i + n < session->count && strcmp(c.parts[n].channel, c.parts[0].channel) == 0;
             n++)
            bytes += c.parts[n].bytes;
        c.count = n;
        s->done = total;
        /* With `force`, a server that has not answered yet is asked nevertheless: a large body may
         * keep it silent for longer than an unreachable server is given. */
        bool ok = (s->config->force && remote_answered(s->config->remote)) ||
                  ask_position(s, c.parts[0].channel, &c.at);
        if (s->config->force)
            c.at = 0;
        int64_t before = ok ? had_before(&c) : 0;
        uint64_t bodies = s->result->bodies;
        if (ok)
            ok = send_channel(s, &c);
        s->result->before += ok && s->result->bodies == bodies ? bytes : before;
        total += bytes;
        if (ok)
            shipping_progress(s, total);
        else if (s->result->end == SHIP_STOPPED || s->result->end == SHIP_REFUSED)
            return;
    }
}

/* ---- sessions ------------------------------------------------------------------------------ */

void ship(const struct ship_config *c, const struct ship_session *session, struct ship_result *out)
{
    struct shipping s;
    shipping_init(&s, c, session, out);
    if (session->ours)
        ship_offsets(&s);
    else
        ship_windows(&s);
    shipping_over(&s);
    if (out->end == SHIP_SOME && !out->bodies && !out->before)
        out->end = SHIP_FAILED;
}

void ship_complete(const struct ship_config *c, const struct ship_session *session,
                   struct ship_result *out)
{
    struct shipping s;
    struct remote_answer a;
    struct err e = {0};
    enum ship_step step;
    shipping_init(&s, c, session, out);
    do {
        int rc = remote_complete(c->remote, session->id, &a, &e);
        step = shipping_judge(&s, rc, &e, &a);
    } while (step == SHIP_STEP_AGAIN);
    shipping_over(&s);
    if (step == SHIP_STEP_ANSWER && (a.status < 200 || a.status > 299))
        shipping_refused(&s, NULL, &a);
}

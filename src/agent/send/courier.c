/* courier.c - see courier.h: the connection, the steps of a session, bandwidth, holding. */
#include "agent/send/courier.h"

#include "agent/api_key.h"
#include "agent/send/kafka_way.h"
#include "agent/zst.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAP_MS = 100 };

static const int64_t SECOND = 1000000000;

/* ---- the connection ------------------------------------------------------------------------ */

int courier_dial(const struct options *o, const volatile sig_atomic_t *stop, struct remote **out,
                 struct err *e)
{
    char key[API_KEY_MAX];
    bool exposed;
    if (o->kafka)
        return kafka_way_open(out, o, stop, e);
    struct remote_config config = {
        .http = {.url = o->server,
                 .key = key,
                 .ca_file = o->ca_file,
                 .ca_advice = "--ca-file names the authority that signed it",
                 .client_cert = o->client_cert,
                 .client_key = o->client_key,
                 .insecure = o->insecure,
                 .agent = "gpufl-agent/" GPUFL_VERSION,
                 .stall_timeout = o->timeout,
                 .stop = stop},
        .api_path = o->api_path};
    *out = NULL;
    int rc = api_key_find(o->api_key_file, key, &exposed, e);
    if (exposed)
        log_warn("others on this machine can read %s; chmod 600 it", o->api_key_file);
    if (!rc)
        rc = remote_open(out, &config, e);
    explicit_bzero(key, sizeof key);
    return rc;
}

int courier_connect(struct courier *c, struct err *e)
{
    struct remote *fresh;
    const char *key = getenv("GPUFL_API_KEY");
    bool has_key = c->options->api_key_file || (key && *key);
    int rc = courier_dial(c->options, c->stop, &fresh, e);
    if (rc)
        return rc;
    if (!c->remote && !c->options->kafka && has_key && http_client_in_clear(remote_url(fresh)))
        log_warn("the key goes to %s unencrypted; https:// would hide it", remote_url(fresh));
    remote_close(c->remote);
    c->remote = fresh;
    return 0;
}

int courier_open(struct courier *c, const struct options *o, struct cursor *cursor,
                 struct letters *letters, const volatile sig_atomic_t *stop, struct err *e)
{
    *c = (struct courier){.options = o, .cursor = cursor, .letters = letters, .stop = stop};
    pthread_mutex_init(&c->lock, NULL);
    c->pack = o->compression == OPTIONS_ZSTD && zst_there() ? PART_ZSTD : PART_GZIP;
    c->in_state = c->filled = clock_mono();
    backoff_init(&c->backoff, UINT_MAX, o->wait_least, o->wait_most,
                 (uint64_t)clock_real() ^ ((uint64_t)getpid() << 32));
    return courier_connect(c, e);
}

void courier_close(struct courier *c)
{
    remote_close(c->remote);
    c->remote = NULL;
    pthread_mutex_destroy(&c->lock);
}

/* ---- holding ------------------------------------------------------------------------------- */

void courier_hold_until(struct courier *c, enum courier_hold hold, int64_t until, const char *why)
{
    bool other = hold != c->hold || strcmp(why, c->why) != 0;
    if (other && hold == HOLD_NONE && c->hold != HOLD_NONE)
        log_note("it goes on, after %lld s: %s", (long long)((clock_mono() - c->in_state) / SECOND),
                 c->why);
    if (hold != c->hold)
        c->in_state = clock_mono();
    if (other && hold != HOLD_NONE)
        log_write(hold == HOLD_WAIT ? LOG_WARN : LOG_ERROR, "%s", why);
    c->held = until;
    pthread_mutex_lock(&c->lock);
    c->hold = hold;
    c->until = until;
    snprintf(c->why, sizeof c->why, "%s", why);
    pthread_mutex_unlock(&c->lock);
}

void courier_hold_no_longer(struct courier *c)
{
    c->held = 0;
    pthread_mutex_lock(&c->lock);
    c->until = 0;
    pthread_mutex_unlock(&c->lock);
}

enum courier_step courier_disk(struct courier *c, const struct err *e)
{
    char why[416];
    snprintf(why, sizeof why, "nothing is sent while the state cannot be written: %.340s", e->text);
    COURIER_COUNT(c, disk_errors, 1);
    courier_hold_until(c, HOLD_DISK, clock_mono() + 5 * SECOND, why);
    return COURIER_HELD;
}

enum courier_step courier_block(struct courier *c, struct errand *x, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log_each(LOG_ERROR, "session %s, channel %s: %s", x->work->id, x->course->channel, text);
    x->course->blocked = true;
    COURIER_COUNT(c, blocked, 1);
    return COURIER_LEFT;
}

/* ---- bandwidth ----------------------------------------------------------------------------- */

static void fill_tokens(struct courier *c)
{
    int64_t rate = c->options->bandwidth, now = clock_mono();
    c->tokens += (int64_t)((double)(now - c->filled) / (double)SECOND * (double)rate);
    c->tokens = c->tokens < rate ? c->tokens : rate;
    c->filled = now;
}

bool courier_may_send(struct courier *c)
{
    if (!c->options->bandwidth)
        return true;
    for (fill_tokens(c); c->tokens < 0 && !*c->stop; fill_tokens(c))
        nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000000L}, NULL);
    return !*c->stop;
}

void courier_paid(struct courier *c, int64_t bytes)
{
    COURIER_COUNT(c, sent_bytes, bytes);
    c->tokens -= c->options->bandwidth ? bytes : 0;
}

/* ---- the steps of a session ---------------------------------------------------------------- */

/* Takes the server's positions. */
static void take_positions(struct courier *courier, struct work *w,
                           const struct remote_positions *p)
{
    for (size_t i = 0; i < w->course_count; i++) {
        struct course *c = &w->courses[i];
        bool first = c->server < 0;
        c->server = 0;
        for (unsigned k = 0; k < p->count; k++)
            if (strcmp(p->items[k].channel, c->channel) == 0)
                c->server = p->items[k].offset;
        /* With a mark, all that the server has may be from a body whose answer was lost. */
        if (first)
            c->tried = c->mark >= 0 ? c->server : 0;
        courier->doubt |= !first && c->server < c->at;
        /* Below a mark only bytes that the server has lost are sent again. */
        if (c->at < 0 || c->server < c->at)
            c->at = c->server;
        c->caught = false;
    }
    w->asked = true;
}

/* For a receiver that cannot be asked, the marks are the positions. */
static void take_marks(struct work *w)
{
    for (size_t i = 0; i < w->course_count; i++) {
        struct course *c = &w->courses[i];
        c->at = c->at > 0 ? c->at : 0;
        c->server = c->tried = c->at;
        c->caught = false;
    }
    w->asked = true;
}

/* Returns true if the server has answered for each channel. */
static bool is_known(const struct work *w)
{
    for (size_t i = 0; i < w->course_count; i++)
        if (w->courses[i].server < 0)
            return false;
    return true;
}

/* A server that does not know a session answers 200. A server that answers 404 has no such address:
 * only its answers to bodies show what it took. Windows have no positions; a server that refuses
 * even this request must not get windows to refuse. */
static enum courier_step ask(struct courier *c, struct work *w)
{
    struct remote_positions p;
    struct errand x = {.work = w};
    bool good = false;
    if (w->asked || (remote_is_blind(c->remote) && !w->session->ours))
        return COURIER_ON;
    if (remote_is_blind(c->remote)) {
        take_marks(w);
        return COURIER_ON;
    }
    x.rc = remote_ask_positions(c->remote, w->id, &p, &x.answer, &x.e);
    bool unknown = !x.rc && x.answer.status == 404;
    if (unknown)
        x.answer.status = 200;
    enum courier_step step = courier_judge(c, &x, &good);
    if (good && w->session->ours && !(unknown && is_known(w)))
        take_positions(c, w, &p);
    w->asked |= good;
    return step;
}

int64_t courier_has(struct courier *c, const char *session)
{
    struct remote_positions p;
    struct remote_answer a;
    int64_t sum = 0;
    if (remote_ask_positions(c->remote, session, &p, &a, NULL))
        return -1;
    if (a.status == 410)
        return COURIER_UNWANTED;
    if (a.status != 200)
        return -1;
    for (unsigned i = 0; i < p.count; i++)
        sum += p.items[i].offset;
    return sum;
}

enum courier_step courier_step(struct courier *c, struct view *v, struct work *w)
{
    enum courier_step all = COURIER_CAUGHT, one;
    if (!w->session || w->closed)
        return COURIER_CAUGHT;
    one = ask(c, w);
    if (one != COURIER_ON)
        return one;
    for (size_t i = 0; i < w->course_count && !*c->stop; i++) {
        struct errand x = {.work = w, .course = &w->courses[i]};
        if (!x.course->count || x.course->caught || x.course->blocked)
            continue;
        one = w->session->ours ? courier_offsets(c, v, &x) : courier_windows(c, v, &x);
        if (one == COURIER_HELD)
            return one;
        x.course->caught = one == COURIER_CAUGHT;
        all = one == COURIER_ON ? COURIER_ON : all;
    }
    return all;
}

/* Returns the ends of the channels. Windows count as wholes: they have no ends. */
static struct remote_positions ends_of(const struct work *w)
{
    struct remote_positions p = {0};
    for (size_t i = 0; i < w->course_count && w->session && w->session->ours; i++) {
        const struct course *c = &w->courses[i];
        struct remote_position *to = &p.items[p.count];
        if (p.count == REMOTE_CHANNELS || c->at <= 0)
            continue;
        memcpy(to->channel, c->channel, sizeof to->channel);
        to->offset = c->at;
        p.count++;
    }
    return p;
}

enum courier_step courier_complete(struct courier *c, struct view *v, struct work *w)
{
    struct errand x = {.work = w};
    bool good = false;
    (void)v;
    if (w->closed)
        return COURIER_CAUGHT;
    if (!w->checked && w->session->ours && !remote_is_blind(c->remote)) {
        w->checked = true;
        w->asked = false;
        return COURIER_ON;
    }
    struct remote_positions ends = ends_of(w);
    x.rc = remote_complete_at(c->remote, w->id, &ends, &x.answer, &x.e);
    enum courier_step step = courier_judge(c, &x, &good);
    if (step == COURIER_HELD)
        return step;
    if (good)
        COURIER_COUNT(c, completed, 1);
    else
        log_warn("session %s was not called complete: the server answers %d %s", w->id,
                 x.answer.status, x.answer.detail);
    w->closed = true;
    return COURIER_CAUGHT;
}

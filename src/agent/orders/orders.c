/* orders.c - see orders.h. */
#include "agent/orders/orders.h"

#include "agent/orders/config_cache.h"
#include "agent/orders/reach.h"
#include "agent/send/courier.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BODY_MOST = 4096, CAPTURES_MOST = 64 };

static const int64_t SECOND = 1000000000;
static const int64_t HELLO_SECONDS = 20; /* the server counts an agent as gone after 60 */
/* Another server with the same tables sends no events here. */
static const int64_t ROUND_SECONDS = 10;

static bool is_ending(const struct orders *o)
{
    return __atomic_load_n(&o->ending, __ATOMIC_ACQUIRE);
}

/* ---- requests ------------------------------------------------------------------------------ */

/* Posts members of a JSON object, of which `host` is one. 0 for an answer of success. */
static int post(struct orders *o, const char *path, const char *members, struct remote_text *out,
                struct err *e)
{
    struct buf body;
    struct remote_answer a;
    buf_init(&body, BODY_MOST);
    buf_str(&body, "{\"host\":");
    buf_json_str(&body, o->host);
    buf_printf(&body, "%s%s}", *members ? "," : "", members);
    int rc = buf_error(&body) ? err_nomem(e) : remote_post(o->asker, path, &body, &a, out, e);
    buf_fini(&body);
    if (!rc && a.status >= 300)
        rc = err_set(e,
                     a.status == 401 || a.status == 403 || a.status == 409 ? GPUFL_E_PERM
                                                                           : GPUFL_E_UNAVAILABLE,
                     "the server answers %d%s%.200s", a.status, *a.detail ? ": " : "", a.detail);
    return rc;
}

static int say_hello(struct orders *o, struct err *e)
{
    char members[128];
    int64_t now = clock_mono();
    if (o->said && now - o->said < HELLO_SECONDS * SECOND)
        return 0;
    snprintf(members, sizeof members, "\"version\":\"" GPUFL_VERSION "\",\"control\":%s",
             o->options->allow_remote_control ? "true" : "false");
    int rc = post(o, "/agent/hello", members, NULL, e);
    if (!rc)
        o->said = now;
    return rc;
}

static int fetch_configs(struct orders *o, struct err *e)
{
    struct remote_answer a;
    struct remote_text text;
    const struct remote_tagged configs = {"/agent/configs?host=", o->host, o->configs_tag};
    int rc = remote_get_tagged(o->asker, &configs, &a, &text, e);
    if (!rc && a.status >= 300 && a.status != 304)
        rc = err_set(e, GPUFL_E_UNAVAILABLE, "configurations: the server answers %d%s%.200s",
                     a.status, *a.detail ? ": " : "", a.detail);
    if (!rc && a.status == 200)
        rc = config_cache_take(o->options->config_cache, text.data, text.len, e);
    if (rc)
        return rc;
    if (a.status == 200)
        snprintf(o->configs_tag, sizeof o->configs_tag, "%s", text.tag);
    pthread_mutex_lock(&o->lock);
    o->configs_at = clock_real();
    pthread_mutex_unlock(&o->lock);
    return 0;
}

/* ---- captures ------------------------------------------------------------------------------ */

struct capture {
    char id[64], session[64], engine[32], scope[256];
    int64_t pid, duration;
};

struct captures {
    struct capture items[CAPTURES_MOST];
    size_t count;
};

static bool take_capture(struct json *j, const char *key, struct json_value v, void *to)
{
    struct capture *c = to;
    const struct {
        const char *key;
        char *out;
        size_t size;
    } texts[] = {{"id", c->id, sizeof c->id},
                 {"session", c->session, sizeof c->session},
                 {"engine", c->engine, sizeof c->engine},
                 {"scope", c->scope, sizeof c->scope}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0 && v.type == JSON_STRING)
            json_text(v, texts[i].out, texts[i].size);
    if (strcmp(key, "pid") == 0 && v.type == JSON_INT)
        c->pid = v.integer;
    if (strcmp(key, "duration") == 0 && v.type == JSON_INT)
        c->duration = v.integer;
    return json_skip(j, v);
}

static bool take_captures(struct json *j, const char *key, struct json_value v, void *to)
{
    struct captures *l = to;
    if (strcmp(key, "rows") != 0 || v.type != JSON_ARRAY)
        return json_skip(j, v);
    while ((v = json_next(j)).type == JSON_OBJECT && l->count < CAPTURES_MOST)
        if (!json_members(j, take_capture, memset(&l->items[l->count++], 0, sizeof *l->items)))
            return false;
    return v.type == JSON_END;
}

static bool is_word(const char *text)
{
    size_t n = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    return n && !text[n];
}

/* Makes the session record, and reports the result to the server. The server's values are checked
 * again: only words, a process id and a time are given to the session. */
static void obey(struct orders *o, const struct capture *c)
{
    char path[128], members[1024];
    struct buf reason;
    struct err e = {0}, post_error = {0};
    const struct reach_order order = {c->pid, c->session, c->engine, c->duration, c->scope};
    bool sound = is_word(c->session) && is_word(c->engine) && c->pid > 1 && c->duration > 0 &&
                 !c->scope[strcspn(c->scope, "\r\n")];
    int rc =
        sound ? reach_capture(&order, &e) : err_set(&e, GPUFL_E_INVAL, "the request is malformed");
    const char *state = !rc                                         ? "open"
                        : rc == GPUFL_E_TIMEOUT || rc == GPUFL_E_IO ? "failed"
                                                                    : "refused";
    buf_init(&reason, sizeof members - 64);
    printable_clean(e.text, strlen(e.text));
    buf_json_str(&reason, rc ? e.text : "");
    snprintf(members, sizeof members, "\"state\":\"%s\",\"reason\":%s", state, buf_cstr(&reason));
    buf_fini(&reason);
    log_note("capture of %s for %" PRId64 " ms in process %" PRId64 ": %s%s%s", c->engine,
             c->duration / 1000000, c->pid, state, rc ? ": " : "", rc ? e.text : "");
    snprintf(path, sizeof path, "/agent/captures/%.63s", c->id);
    if (is_word(c->id) && post(o, path, members, NULL, &post_error))
        log_warn("a capture could not be reported to the server: %s", post_error.text);
    pthread_mutex_lock(&o->lock);
    *(rc ? &o->refused : &o->captures) += 1;
    pthread_mutex_unlock(&o->lock);
}

static int take_orders(struct orders *o, struct err *e)
{
    static struct captures list; /* large; the thread's alone */
    struct remote_text text;
    int rc = post(o, "/agent/captures", "", &text, e);
    list.count = 0;
    if (!rc && !json_document(text.data, text.len, take_captures, &list))
        rc = err_set(e, GPUFL_E_CORRUPT, "the server's answer is no list of requests");
    for (size_t i = 0; i < list.count && !rc && !is_ending(o); i++)
        obey(o, &list.items[i]);
    return rc;
}

/* ---- the stream ---------------------------------------------------------------------------- */

/* Asks for everything: at the beginning, after a silence, and after an event. Requests are carried
 * out even if the configurations are not available, or cannot be written. */
static int look(struct orders *o, struct err *e)
{
    struct err of_configs = {0}, of_captures = {0};
    int rc = say_hello(o, e);
    if (rc)
        return rc;
    int configs = o->options->config_cache ? fetch_configs(o, &of_configs) : 0;
    int captures = o->options->allow_remote_control ? take_orders(o, &of_captures) : 0;
    if (captures || configs)
        *e = captures ? of_captures : of_configs;
    return captures ? captures : configs;
}

struct listening {
    struct orders *orders;
    struct err e; /* why a piece ended the stream */
};

/* Takes a piece of the stream. Each event leads to the same request, and so does a comment, which
 * comes every 15 s. */
static int take_piece(void *arg, const char *data, size_t n)
{
    struct listening *l = arg;
    struct orders *o = l->orders;
    bool news = false;
    for (size_t i = 0; i < n; i++) {
        if (data[i] == '\n') {
            o->line[o->line_len] = '\0';
            news |= strncmp(o->line, "event:", 6) == 0 || o->line[0] == ':';
            o->line_len = 0;
        } else if (o->line_len + 1 < sizeof o->line) {
            o->line[o->line_len++] = data[i];
        }
    }
    return news && !is_ending(o) ? look(o, &l->e) : 0;
}

/* Listens until the connection ends, or until it is time to ask without an event. */
static int listen_once(struct orders *o, struct err *e)
{
    struct remote_answer a;
    o->line_len = 0;
    int64_t until = clock_mono() + ROUND_SECONDS * SECOND;
    struct listening mine = {.orders = o};
    const struct remote_listening l = {"/agent/stream?host=", o->host, take_piece, &mine, until};
    int rc = remote_listen(o->listener, &l, &a, e);
    if (rc && mine.e.code) {
        *e = mine.e;
        return rc;
    }
    if (rc == GPUFL_E_TIMEOUT)
        return 0;
    if (!rc && a.status >= 300)
        rc = err_set(e, GPUFL_E_UNAVAILABLE, "the server answers %d%s%.200s", a.status,
                     *a.detail ? ": " : "", a.detail);
    return rc;
}

/* Opens new connections, with the present key. */
static int reconnect(struct orders *o, struct err *e)
{
    struct remote *listener = NULL, *asker = NULL;
    int rc = courier_dial(o->options, &o->ending, &listener, e);
    if (!rc)
        rc = courier_dial(o->options, &o->ending, &asker, e);
    if (rc) {
        remote_close(listener);
        return rc;
    }
    remote_close(o->listener);
    remote_close(o->asker);
    o->listener = listener;
    o->asker = asker;
    return 0;
}

/* Stores the problem for the status; logs it once, and logs its end. */
static void set_why(struct orders *o, const char *why)
{
    bool before = *o->why, now = *why;
    if (now && !before)
        log_warn("no configurations and requests from the server for now: %s", why);
    else if (!now && before)
        log_note("the server answers again: configurations and requests");
    pthread_mutex_lock(&o->lock);
    snprintf(o->why, sizeof o->why, "%s", why);
    pthread_mutex_unlock(&o->lock);
}

static void *orders_main(void *arg)
{
    struct orders *o = arg;
    struct backoff wait;
    backoff_init(&wait, UINT_MAX, o->options->wait_least, o->options->wait_most,
                 (uint64_t)clock_real() ^ ((uint64_t)getpid() << 32));
    while (!is_ending(o)) {
        struct err e = {0};
        int rc = look(o, &e);
        if (!rc) {
            backoff_reset(&wait);
            set_why(o, "");
            rc = listen_once(o, &e);
        }
        if (!rc || is_ending(o))
            continue;
        set_why(o, *e.text ? e.text : err_text(rc));
        o->said = 0;
        wakeup_wait(&o->pause, backoff_wait(&wait, -1));
        (void)reconnect(o, &e);
    }
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

int orders_open(struct orders *o, const struct options *options, struct err *e)
{
    *o = (struct orders){.options = options};
    pthread_mutex_init(&o->lock, NULL);
    if (!options->config_cache && !options->allow_remote_control)
        return 0;
    if (gethostname(o->host, sizeof o->host - 1))
        return err_set(e, GPUFL_E_STATE, "this machine has no name");
    int rc = options->config_cache ? config_cache_open(options->config_cache, e) : 0;
    if (!rc)
        rc = reconnect(o, e);
    if (!rc && wakeup_init(&o->pause))
        rc = err_nomem(e);
    if (rc)
        return rc;
    o->has_pause = true;
    if (thread_start(&o->thread, "gpufl-orders", 0, orders_main, o))
        return err_set(e, GPUFL_E_NOMEM, "%s", thread_refusal());
    return 0;
}

void orders_close(struct orders *o)
{
    __atomic_store_n(&o->ending, 1, __ATOMIC_RELEASE);
    if (o->has_pause)
        wakeup_signal(&o->pause);
    if (o->thread.running)
        thread_join(&o->thread);
    if (o->has_pause)
        wakeup_fini(&o->pause);
    remote_close(o->listener);
    remote_close(o->asker);
    o->listener = o->asker = NULL;
    o->has_pause = false;
    pthread_mutex_destroy(&o->lock);
}

struct orders_counts orders_counts(struct orders *o)
{
    pthread_mutex_lock(&o->lock);
    struct orders_counts n = {o->captures, o->refused, o->configs_at, o->has_pause, ""};
    memcpy(n.why, o->why, sizeof n.why);
    pthread_mutex_unlock(&o->lock);
    return n;
}

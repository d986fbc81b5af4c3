/* alerts.c - makes rounds over all rules: what holds, since when, and what is published; see
 * alerts.h. */
#include "server/watch/alerts.h"

#include "analyze/insight/insight.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process/thread.h"
#include "net/client/http_client.h"
#include "server/auth/secret.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MEMORY = 256 << 20, BODY_MAX = 64 << 10, SECRET_LEAST = 16, URL_MOST = 2000 };

static const char LEASE[] = "alerts";
static const int64_t LEASE_NS = 30000000000, PERIOD_NS = 5000000000, REFRESH_NS = 60000000000,
                     EXPIRE_NS = 3600000000000;

/* ---- rules ----------------------------------------------------------------------------------- */

static int check_url(const struct meta_alert *r, struct err *e)
{
    char clean[URL_MOST + 1];
    if (!*r->url)
        return 0;
    size_t base = strstr(r->url, "://") ? (size_t)(strstr(r->url, "://") - r->url) + 3 : 0;
    base += strcspn(r->url + base, "/?#");
    if (strlen(r->url) > URL_MOST || strchr(r->url, '#') || !strstr(r->url, "://"))
        return err_set(e, GPUFL_E_INVAL,
                       "'url' must be http:// or https:// with at most %d bytes and without '#'",
                       URL_MOST);
    for (const char *p = r->url; *p; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
            return err_set(e, GPUFL_E_INVAL, "'url' has characters that must be encoded");
    memcpy(clean, r->url, base);
    clean[base] = '\0';
    char out[URL_MOST + 16];
    struct err why = {0};
    if (http_client_clean_url(clean, out, sizeof out, &why))
        return err_set(e, GPUFL_E_INVAL, "'url': %s", why.text);
    return 0;
}

static bool insight_known(const char *rule)
{
    for (size_t i = 0; i < insight_rule_count; i++)
        if (strcmp(insight_rules[i].id, rule) == 0)
            return true;
    return !*rule;
}

int alerts_check(const struct meta_alert *r, struct err *e)
{
    bool insight = strcmp(r->kind, "insight") == 0;
    if (!insight && !alerts_metric_known(r->subject))
        return err_set(e, GPUFL_E_INVAL,
                       "'subject' must be gpu., host., process., part. or monitor. and a column of "
                       "device_metric, host_metric, process_metric, instance_metric or monitor; or "
                       "gpu.memory_share, host.memory_share, gpu.silent or host.silent");
    if (insight && !insight_known(r->subject))
        return err_set(
            e, GPUFL_E_INVAL,
            "'subject' is not the name of an insight rule; leave it empty for every rule");
    if (insight && !r->above)
        return err_set(e, GPUFL_E_INVAL,
                       "'above' must be true of insights: what is not found is no finding");
    if (!isfinite(r->threshold))
        return err_set(e, GPUFL_E_INVAL, "'threshold' must be a number");
    if (r->secret && *r->secret && strlen(r->secret) < SECRET_LEAST)
        return err_set(e, GPUFL_E_INVAL, "'secret' must have %d bytes or more", SECRET_LEAST);
    return check_url(r, e);
}

/* ---- what is reported ------------------------------------------------------------------------ */

static void put_time(struct buf *b, const char *name, int64_t t)
{
    if (t)
        buf_printf(b, ",\"%s\":\"%" PRId64 "\"", name, t);
    else
        buf_printf(b, ",\"%s\":null", name);
}

/* `text` at the top is what chat programs show of a hook. f NULL: a test. */
static void put_body(struct buf *b, const char *workspace, const char *event,
                     const struct meta_alert *r, const struct meta_firing *f, int64_t now)
{
    struct buf text;
    buf_init(&text, BODY_MAX);
    buf_printf(&text, "[%s] %s%s%s", event, r->name, f ? ": " : "", f ? f->text : "");
    buf_printf(b, "{\"version\":1,\"event\":\"%s\",\"text\":", event);
    buf_json(b, text.data ? text.data : "", text.len);
    buf_fini(&text);
    put_time(b, "at", now);
    buf_str(b, ",\"workspace\":");
    buf_json_str(b, workspace);
    buf_str(b, ",\"alert\":{\"id\":");
    buf_json_str(b, r->id);
    buf_str(b, ",\"name\":");
    buf_json_str(b, r->name);
    buf_printf(b, ",\"kind\":\"%s\",\"subject\":", r->kind);
    buf_json_str(b, r->subject);
    buf_printf(b, ",\"above\":%s,\"threshold\":%.17g,\"hold\":%" PRId64 "},\"firing\":",
               r->above ? "true" : "false", r->threshold, r->hold);
    if (!f) {
        buf_str(b, "null}");
        return;
    }
    buf_str(b, "{\"id\":");
    buf_json_str(b, f->id);
    buf_str(b, ",\"subject\":");
    buf_json_str(b, f->subject);
    put_time(b, "started", f->started);
    put_time(b, "fired", f->fired);
    put_time(b, "ended", f->ended);
    buf_printf(b, isfinite(f->value) ? ",\"value\":%.17g" : ",\"value\":null", f->value);
    buf_str(b, ",\"text\":");
    buf_json_str(b, f->text);
    buf_str(b, "}}");
}

void alerts_test_body(struct buf *out, const char *workspace, const struct meta_alert *r,
                      int64_t now)
{
    put_body(out, workspace, "test", r, NULL, now);
}

/* ---- one workspace --------------------------------------------------------------------------- */

struct round {
    const struct alerts_config *config;
    const char *workspace;
    int64_t now;
    bool refresh; /* values of what is open are written, too */
    const struct meta_alert *rule;
    struct meta_firing *open; /* of the workspace, at the begin */
    bool *kept, *known;       /* of each: its condition holds; something is known of its subject */
    size_t open_count;
    struct region mem; /* of one firing */
};

/* Writes a firing, with a delivery where event asks for one. */
static int put_firing(struct round *w, const struct meta_firing *f, const char *event,
                      struct err *e)
{
    struct meta_firing out;
    struct meta_delivery d = {0};
    struct buf body;
    char id[META_ID_MAX];
    region_clear(&w->mem);
    buf_init(&body, BODY_MAX);
    if (event) {
        put_body(&body, w->workspace, event, w->rule, f, w->now);
        snprintf(id, sizeof id, "%s-%s", f->id, event);
        d = (struct meta_delivery){.id = id,
                                   .firing = f->id,
                                   .alert = w->rule->id,
                                   .url = w->rule->url,
                                   .body = buf_cstr(&body),
                                   .state = "waiting",
                                   .next = w->now,
                                   .created = w->now};
    }
    bool post = event && *w->rule->url;
    const struct meta_ask ask = {w->config->meta, w->workspace, &w->mem, e};
    int rc = buf_error(&body) ? err_set(e, GPUFL_E_FULL, "what is to be posted is too long")
                              : meta_firing_put(&ask, f, post ? &d : NULL, &out);
    if (!rc && event && w->config->event)
        w->config->event(w->config->arg, w->workspace, body.data, body.len);
    if (!rc && post && w->config->posts)
        w->config->posts(w->config->arg);
    buf_fini(&body);
    return rc;
}

static struct meta_firing *find_open(const struct round *w, const char *subject, size_t *at)
{
    for (size_t i = 0; i < w->open_count; i++)
        if (strcmp(w->open[i].alert, w->rule->id) == 0 &&
            strcmp(w->open[i].subject, subject) == 0) {
            *at = i;
            return &w->open[i];
        }
    return NULL;
}

/* A finding that gives back nothing, as one of errors does, holds where the threshold is 0; one
 * whose share is unknown was asked for. */
static bool holds(const struct meta_alert *r, double value)
{
    if (strcmp(r->kind, "insight") == 0)
        return isnan(value) || value >= r->threshold;
    return r->above ? value > r->threshold : value < r->threshold;
}

/* Takes a subject whose value is known. */
static int take_seen(void *arg, const struct alerts_seen *s, struct err *e)
{
    struct round *w = arg;
    const struct meta_alert *r = w->rule;
    char id[SECRET_ID] = "";
    size_t at = 0;
    const struct meta_firing *open = find_open(w, s->subject, &at);
    if (open)
        w->known[at] = true;
    if (!holds(r, s->value))
        return 0;
    if (open)
        w->kept[at] = true;
    else
        auth_secret_id(id);
    struct meta_firing f = {.id = open ? open->id : id,
                            .alert = r->id,
                            .subject = s->subject,
                            .started = open ? open->started : w->now,
                            .fired = open ? open->fired : 0,
                            .value = s->value,
                            .text = s->text};
    bool fires = !f.fired && w->now - f.started >= r->hold;
    if (fires)
        f.fired = w->now;
    if (open && !fires && !(w->refresh && open->value != s->value && !isnan(s->value)))
        return 0;
    return put_firing(w, &f, fires ? "firing" : NULL, e);
}

/* Ends a firing. A value that is not known any more has not become better: the text says so. */
static int end_firing(struct round *w, size_t at, struct err *e)
{
    struct meta_firing f = w->open[at];
    bool metric = strcmp(w->rule->kind, "insight") != 0, own = false;
    struct buf text;
    f.ended = w->now;
    buf_init(&text, BODY_MAX);
    if (metric && w->rule->enabled && !w->known[at]) {
        buf_printf(&text, "%s; no newer value came, so whether this still holds is not known",
                   f.text);
        own = !buf_error(&text);
    }
    f.text = own ? buf_cstr(&text) : f.text;
    int rc = put_firing(w, &f, f.fired ? "resolved" : NULL, e);
    buf_fini(&text);
    return rc;
}

/* Ends the rule's firings whose condition does not hold any more. */
static int end_others(struct round *w, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < w->open_count; i++)
        if (!w->kept[i] && strcmp(w->open[i].alert, w->rule->id) == 0)
            rc = end_firing(w, i, e);
    return rc;
}

static int look_at(struct round *w, struct region *mem, struct err *e)
{
    struct meta_alert *rules;
    size_t count = 0;
    const struct meta_ask ask = {w->config->meta, w->workspace, mem, e};
    int rc = meta_alert_list(&ask, &rules, &count);
    if (rc || !count)
        return rc;
    rc = meta_firing_open(&ask, NULL, &w->open, &w->open_count);
    w->kept = rc ? NULL : region_array(mem, w->open_count + 1, sizeof *w->kept);
    w->known = rc ? NULL : region_array(mem, w->open_count + 1, sizeof *w->known);
    if (!w->kept || !w->known)
        return rc ? rc : GPUFL_E_FULL;
    struct alerts_watch watch = {
        .meta = w->config->meta, .workspace = w->workspace, .now = w->now, .mem = mem};
    for (size_t i = 0; !rc && i < count; i++) {
        w->rule = &rules[i];
        rc = w->rule->enabled ? alerts_watch(&watch, w->rule, take_seen, w, e) : 0;
        if (rc == 0)
            rc = end_others(w, e);
    }
    return rc;
}

int alerts_round(const struct alerts_config *c, int64_t now, struct err *e)
{
    struct meta_workspace *workspaces;
    struct region list;
    size_t count = 0;
    int result = 0;
    region_init(&list, MEMORY);
    const struct meta_ask ask = {c->meta, NULL, &list, e};
    int rc = meta_workspace_list(&ask, &workspaces, &count);
    for (size_t i = 0; !rc && i < count; i++) {
        struct region mem;
        struct round w = {.config = c,
                          .workspace = workspaces[i].id,
                          .now = now,
                          .refresh = now / REFRESH_NS != (now - PERIOD_NS) / REFRESH_NS};
        region_init(&mem, MEMORY);
        region_init(&w.mem, 1 << 20);
        int one = look_at(&w, &mem, e); /* one rule's failure does not stop the others */
        result = result ? result : one;
        region_fini(&w.mem);
        region_fini(&mem);
    }
    region_fini(&list);
    return rc ? rc : result;
}

/* ---- the thread ------------------------------------------------------------------------------ */

struct alerts {
    struct alerts_config config;
    struct thread thread;
    struct wakeup wake;
    _Atomic bool ending; /* relaxed: the wake-up orders */
    int64_t expired_at;
    bool failing; /* it was said */
};

static void look(struct alerts *a)
{
    struct err e = {0};
    bool mine = false;
    int64_t now = clock_real();
    struct meta *m = a->config.meta;
    const struct meta_lease lease = {LEASE, a->config.holder, now, now + LEASE_NS};
    int rc = meta_lease(m, &lease, &mine, &e);
    if (!rc && !mine)
        return;
    if (rc == 0)
        rc = alerts_round(&a->config, now, &e);
    if (!rc && now - a->expired_at >= EXPIRE_NS) {
        a->expired_at = now;
        rc = meta_alerts_expire(m, now - ALERTS_KEEP_NS, &e);
    }
    if (rc && !a->failing)
        log_warn("alerts cannot be looked at now, and will be again: %s",
                 e.text[0] ? e.text : err_text(rc));
    a->failing = rc != 0;
}

static void *run(void *arg)
{
    struct alerts *a = arg;
    while (!atomic_load_explicit(&a->ending, memory_order_relaxed)) {
        look(a);
        wakeup_wait(&a->wake, a->config.period_ns);
    }
    return NULL;
}

int alerts_open(struct alerts **out, const struct alerts_config *c, struct err *e)
{
    struct alerts *a = mem_zalloc(sizeof *a);
    *out = NULL;
    if (!a || wakeup_init(&a->wake)) {
        mem_free(a);
        return err_nomem(e);
    }
    a->config = *c;
    a->config.period_ns = c->period_ns > 0 ? c->period_ns : PERIOD_NS;
    int rc = thread_start(&a->thread, "alerts", 5, run, a);
    if (rc) {
        alerts_close(a);
        return err_set(e, rc, "the alerts' thread cannot be started: %s", err_text(rc));
    }
    *out = a;
    return 0;
}

void alerts_wake(struct alerts *a)
{
    wakeup_signal(&a->wake);
}

void alerts_close(struct alerts *a)
{
    if (!a)
        return;
    bool ran = a->thread.running, mine = false;
    int64_t now = clock_real();
    atomic_store_explicit(&a->ending, true, memory_order_relaxed);
    wakeup_signal(&a->wake);
    thread_join(&a->thread);
    const struct meta_lease over = {LEASE, a->config.holder, now, now};
    if (ran) /* another server, or this one started again, need not wait */
        meta_lease(a->config.meta, &over, &mine, NULL);
    wakeup_fini(&a->wake);
    mem_free(a);
}

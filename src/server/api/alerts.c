/* alerts.c - serves alert rules, the times when their conditions held, and the posts. */
#include "server/auth/secret.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/rows.h"
#include "server/watch/webhooks.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { RULES_MAX = 1000 /* of a workspace */, BODY_MAX = 64 << 10 };

/* Paths of hooks are secrets: a user who may not change a rule sees only the server. */
static void veil(struct call *c, struct meta_alert *r)
{
    const char *host = strstr(r->url, "://");
    char text[600];
    if (!host || auth_may(&c->who, RIGHTS_WRITE, NULL, NULL) == 0)
        return;
    snprintf(text, sizeof text, "%.*s/…", (int)(host + 3 - r->url + strcspn(host + 3, "/?#")),
             r->url);
    r->url = region_strdup(c->memory, text);
    r->url = r->url ? r->url : "";
}

void api_alerts(struct call *c)
{
    struct meta_alert *rows;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_alert_list(&ask, &rows, &count);
    for (size_t i = 0; i < count && rc == 0; i++)
        veil(c, &rows[i]);
    if (rc)
        call_fail(c, rc, "list", &e);
    else
        rows_send(c, META_ROW_alert, rows, count, NULL);
    region_fini(&mem);
}

static void send_rule(struct call *c, const char *id)
{
    struct meta_alert row;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_alert_get(&ask, id, &row);
    if (rc) {
        call_fail_named(c, rc, "rule", &e);
        return;
    }
    veil(c, &row);
    rows_send_one(c, META_ROW_alert, &row);
}

void api_alert(struct call *c)
{
    send_rule(c, ARG(c, alert, alert)->text);
}

static const char *or_none(const struct value *v)
{
    return v->given && v->text ? v->text : "";
}

/* Takes the members of a body that both routes take. */
#define RULE(c, route)                                                                             \
    (struct meta_alert)                                                                            \
    {                                                                                              \
        .name = ARG(c, route, name)->text, .enabled = ARG(c, route, enabled)->i,                   \
        .kind = ARG(c, route, kind)->i ? "insight" : "metric",                                     \
        .subject = or_none(ARG(c, route, subject)), .above = ARG(c, route, above)->i,              \
        .threshold = ARG(c, route, threshold)->r, .hold = ARG(c, route, hold)->i,                  \
        .host = or_none(ARG(c, route, host)), .app = or_none(ARG(c, route, app)),                  \
        .url = or_none(ARG(c, route, url)), .secret = ARG(c, route, secret)->text,                 \
        .created = clock_real(), .creator = c->who.actor                                           \
    }

static void put_rule(struct call *c, const struct meta_alert *r, const char *action)
{
    const struct parts *s = c->parts;
    struct err e = {0};
    int rc = alerts_check(r, &e);
    if (rc == 0)
        rc = webhooks_check(webhooks_config_of(s->webhooks), r->url, &e);
    if (rc == 0)
        rc = meta_alert_put(s->meta, c->who.workspace, r, &e);
    if (rc) {
        call_fail(c, rc, "rule", &e);
        return;
    }
    access_note(c, action, r->id);
    alerts_wake(s->alerts);
    send_rule(c, r->id);
}

void api_alert_make(struct call *c)
{
    char id[SECRET_ID];
    struct meta_alert *rows, r = RULE(c, alert_make);
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_alert_list(&ask, &rows, &count);
    region_fini(&mem);
    if (rc) {
        call_fail(c, rc, "list", &e);
        return;
    }
    if (count >= RULES_MAX) {
        http_problem(c->http, 409, "A workspace has at most %d rules.", RULES_MAX);
        return;
    }
    auth_secret_id(id);
    r.id = id;
    put_rule(c, &r, "alert.create");
}

void api_alert_put(struct call *c)
{
    struct meta_alert old, r = RULE(c, alert_put);
    struct err e = {0};
    r.id = ARG(c, alert_put, alert)->text;
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_alert_get(&ask, r.id, &old);
    if (rc)
        call_fail_named(c, rc, "rule", &e);
    else
        put_rule(c, &r, "alert.change");
}

void api_alert_delete(struct call *c)
{
    const char *id = ARG(c, alert_delete, alert)->text;
    struct err e = {0};
    int rc = meta_alert_remove(c->parts->meta, c->who.workspace, id, clock_real(), &e);
    if (rc) {
        call_fail_named(c, rc, "rule", &e);
        return;
    }
    access_note(c, "alert.delete", id);
    http_send_nothing(c->http, 204);
}

static int add_test(struct call *c, const struct meta_alert *r, const char *id, struct err *e)
{
    int64_t now = clock_real();
    struct buf body;
    buf_init(&body, BODY_MAX);
    alerts_test_body(&body, c->who.workspace, r, now);
    const struct meta_delivery d = {.id = id,
                                    .firing = "",
                                    .alert = r->id,
                                    .url = r->url,
                                    .body = buf_cstr(&body),
                                    .state = "waiting",
                                    .next = now,
                                    .created = now};
    int rc = buf_error(&body) ? err_set(e, GPUFL_E_FULL, "the rule is too long")
                              : meta_delivery_add(c->parts->meta, c->who.workspace, &d, e);
    buf_fini(&body);
    return rc;
}

/* The post is queued like any other, so that the log of deliveries has its result. */
void api_alert_test(struct call *c)
{
    char id[SECRET_ID];
    struct meta_alert r;
    struct err e = {0};
    struct json_out j;
    auth_secret_id(id);
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_alert_get(&ask, ARG(c, alert_test, alert)->text, &r);
    if (rc == 0 && !*r.url) {
        http_problem(c->http, 409, "The rule posts nowhere: it has no 'url'.");
        return;
    }
    if (rc == 0)
        rc = add_test(c, &r, id, &e);
    if (rc) {
        call_fail_named(c, rc, "rule", &e);
        return;
    }
    access_note(c, "alert.test", r.id);
    webhooks_wake(c->parts->webhooks);
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text(&j, "id", id);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
}

void api_firings(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, firings);
    struct meta_firing_now *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_firing_list(&l.ask, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_firing_now, rows, page.next);
}

void api_firings_open(struct call *c)
{
    struct meta_firing_now *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_firing_now(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_firing_now, rows, NULL);
}

void api_deliveries(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, deliveries);
    struct meta_delivery *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_delivery_list(&l.ask, &page, &rows, &l.count);
    for (size_t i = 0; i < l.count && rc == 0; i++)
        webhooks_veil(c->parts->webhooks, c->who.admin, &rows[i]);
    rows_list_end(&l, rc, META_ROW_delivery, rows, page.next);
}

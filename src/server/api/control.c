/* control.c - what hosts do at a member's wish: named configurations, which programs take options
 * from, and captures in running sessions; and the agents that carry both out.
 *
 * Members write configurations, each time a new version; nothing is overwritten. Agents fetch the
 * newest versions and keep them for the library, which never asks the network itself. Members also
 * say which of them a host uses; its agent keeps that one a second time, under the name @host.
 *
 * A request for a capture is for one session, or for all that run on a host: one row each. What may
 * be asked for is the table of the route's parameters (schema/routes.def): the engines, and how
 * long. It may be taken once, within 30 s.
 *
 * An agent that takes requests has an API key of its own: the first time it reaches the server, its
 * host and its key are bound to each other (meta_agent_put). From then on requests of that host go
 * to that key alone. Each agent listens on a topic of the live hub; what it hears is only that
 * there is something, and it asks with its key. */
#include "server/auth/secret.h"
#include "server/common/capture_options.h"
#include "server/request/access.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/rows.h"

#include "base/clock.h"
#include "base/intern.h"
#include "meta/control.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CONFIGS_MAX = 500, /* of a workspace */
    NAME_MAX_BYTES = 64,
    OPTIONS_MAX = 128 << 10,
    TOPIC_MAX = 48,
    SESSIONS_MAX = 64 /* of one request */
};

/* Returns the text of a parameter; NULL: it was left out, or is empty. */
static const char *given(const struct value *v)
{
    return v->given && v->text && *v->text ? v->text : NULL;
}

/* ---- agents -------------------------------------------------------------------------------- */

/* Returns true if the caller is an API key; else 403 is answered. */
static bool agents_is_key(struct call *c)
{
    if (strcmp(c->who.kind, "key") == 0)
        return true;
    http_problem(c->http, 403, "This address is for agents: it takes API keys only.");
    return false;
}

/* No workspace's id begins with a slash, so that nobody else listens there. Two hosts of one hash
 * wake each other, which does no harm. */
static void topic_of(const struct call *c, const char *host, char out[TOPIC_MAX])
{
    const char *w = c->who.workspace;
    snprintf(out, TOPIC_MAX, "/%016" PRIx64 "%016" PRIx64, (uint64_t)intern_hash(w, strlen(w)),
             (uint64_t)intern_hash(host, strlen(host)));
}

static void wake_one(struct call *c, const char *host, const char *event)
{
    char topic[TOPIC_MAX];
    topic_of(c, host, topic);
    http_hub_publish(c->parts->hub, topic, event, "{}", 2);
}

/* Makes agents of the workspace ask the server at once: those of the host; NULL: all. */
static void agents_wake(struct call *c, const char *host, const char *event)
{
    struct meta_agent *rows = NULL;
    size_t count = 0;
    struct region mem;
    struct err e = {0};
    if (host) {
        wake_one(c, host, event);
        return;
    }
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    if (meta_agent_list(&ask, &rows, &count) == 0)
        for (size_t i = 0; i < count; i++)
            wake_one(c, rows[i].host, event);
    region_fini(&mem);
}

void api_agents(struct call *c)
{
    struct meta_agent *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_agent_list(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_agent, rows, NULL);
}

void api_agent_delete(struct call *c)
{
    const char *host = ARG(c, agent_delete, host)->text;
    struct err e = {0};
    int rc = meta_agent_remove(c->parts->meta, c->who.workspace, host, &e);
    if (rc) {
        call_fail_named(c, rc, "agent", &e);
        return;
    }
    access_note(c, "agent.delete", host);
    http_send_nothing(c->http, 204);
}

void api_agent_hello(struct call *c)
{
    const struct meta_agent a = {.host = ARG(c, agent_hello, host)->text,
                                 .holder = c->who.actor,
                                 .version = ARG(c, agent_hello, version)->text,
                                 .control = ARG(c, agent_hello, control)->i,
                                 .seen = clock_real()};
    struct err e = {0};
    bool fresh = false;
    if (!agents_is_key(c))
        return;
    int rc = meta_agent_put(c->parts->meta, c->who.workspace, &a, &fresh, &e);
    if (rc) {
        call_fail(c, rc, "agent", &e);
        return;
    }
    if (fresh)
        access_note(c, "agent.bind", a.host);
    http_send_nothing(c->http, 204);
}

void api_agent_stream(struct call *c)
{
    struct http_stream *s;
    char topic[TOPIC_MAX];
    if (!agents_is_key(c))
        return;
    topic_of(c, ARG(c, agent_stream, host)->text, topic);
    int rc = http_stream_open(&s, c->parts->hub, topic);
    if (rc == GPUFL_E_FULL)
        http_problem(c->http, 503,
                     "Too many browsers and agents follow this server; see "
                     "--max-streams.");
    else if (rc)
        call_fail(c, rc, "stream", NULL);
    else
        http_send_stream(c->http, s);
}

void api_agent_take(struct call *c)
{
    struct meta_capture *rows = NULL;
    struct rows_list l;
    if (!agents_is_key(c))
        return;
    rows_list_begin(&l, c);
    int rc = meta_capture_take(&l.ask, ARG(c, agent_take, host)->text, c->who.actor, clock_real(),
                               &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_capture, rows, NULL);
}

void api_agent_result(struct call *c)
{
    static const char *const states[] = {"open", "refused", "failed"};
    static const char *const actions[] = {"capture.open", "capture.refuse", "capture.fail"};
    struct meta_capture out;
    struct err e = {0};
    const struct value *reason = ARG(c, agent_result, reason);
    int64_t what = ARG(c, agent_result, state)->i;
    const struct meta_capture end = {.id = ARG(c, agent_result, capture)->text,
                                     .state = states[what],
                                     .reason = reason->given && reason->text ? reason->text : ""};
    if (!agents_is_key(c))
        return;
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_capture_end(&ask, ARG(c, agent_result, host)->text, c->who.actor, &end,
                              clock_real(), &out);
    if (rc) {
        call_fail(c, rc, "request", &e);
        return;
    }
    access_note(c, actions[what], end.id);
    struct buf b;
    buf_init(&b, 2048);
    buf_str(&b, "{\"session\":");
    buf_json_str(&b, out.session);
    buf_str(&b, ",\"host\":");
    buf_json_str(&b, out.host);
    buf_char(&b, '}');
    if (!buf_error(&b))
        http_hub_publish(c->parts->hub, c->who.workspace, "capture", b.data, b.len);
    buf_fini(&b);
    http_send_nothing(c->http, 204);
}

/* ---- configurations ------------------------------------------------------------------------ */

/* The name is a file's name in the agents' caches. */
static bool is_name(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || (n && name[n] && strchr("._-", name[n])))
        n++;
    return n && !name[n] && n <= NAME_MAX_BYTES;
}

void api_named_configs(struct call *c)
{
    struct meta_named_config *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_config_list(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_named_config, rows, NULL);
}

static void send_newest(struct call *c, const char *name)
{
    struct meta_named_config row;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_config_get(&ask, name, &row);
    if (rc || row.removed)
        call_fail_named(c, rc ? rc : GPUFL_E_NOENT, "configuration", &e);
    else
        rows_send_one(c, META_ROW_named_config, &row);
}

void api_named_config(struct call *c)
{
    send_newest(c, ARG(c, named_config, config)->text);
}

void api_named_config_versions(struct call *c)
{
    struct meta_named_config *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc =
        meta_config_versions(&l.ask, ARG(c, named_config_versions, config)->text, &rows, &l.count);
    if (!rc && !l.count)
        call_fail(c, GPUFL_E_NOENT, "configuration", NULL);
    else
        rows_list_end(&l, rc, META_ROW_named_config, rows, NULL);
    if (!rc && !l.count)
        region_fini(&l.mem);
}

/* Writes a version, and makes the agents fetch it. */
static int put_version(struct call *c, struct meta_named_config *row, int64_t base, struct err *e)
{
    int64_t version = 0;
    row->created = clock_real();
    row->creator = c->who.actor;
    row->author = c->who.name ? c->who.name : "";
    int rc = meta_config_put(c->parts->meta, c->who.workspace, row, base, &version, e);
    if (!rc) {
        access_note(c, row->removed ? "config.delete" : "config.write", row->id);
        agents_wake(c, NULL, "config");
    }
    return rc;
}

static bool has_room(struct call *c, const char *name)
{
    struct meta_named_config *rows = NULL;
    size_t count = 0, i = 0;
    struct region mem;
    struct err e = {0};
    region_init(&mem, ROWS_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_config_list(&ask, &rows, &count);
    while (!rc && i < count && strcmp(rows[i].id, name) != 0)
        i++;
    bool known = i < count;
    region_fini(&mem);
    if (rc)
        call_fail(c, rc, "list", &e);
    else if (!known && count >= CONFIGS_MAX)
        http_problem(c->http, 409, "A workspace has at most %d configurations.", CONFIGS_MAX);
    return !rc && (known || count < CONFIGS_MAX);
}

void api_named_config_put(struct call *c)
{
    const struct value *note = ARG(c, named_config_put, note);
    const char *options = ARG(c, named_config_put, options)->text;
    struct buf checked;
    struct err e = {0};
    struct meta_named_config row = {.id = ARG(c, named_config_put, config)->text,
                                    .note = note->given && note->text ? note->text : ""};
    if (!is_name(row.id)) {
        http_problem(c->http, 400,
                     "The name of a configuration has up to %d letters, digits, '.', '_' and '-', "
                     "and begins with a letter or digit.",
                     NAME_MAX_BYTES);
        return;
    }
    if (!has_room(c, row.id))
        return;
    buf_init(&checked, OPTIONS_MAX);
    int rc = capture_options_check(options, strlen(options), &checked, &e);
    row.options = buf_cstr(&checked);
    if (!rc)
        rc = put_version(c, &row, ARG(c, named_config_put, base)->i, &e);
    buf_fini(&checked);
    if (rc)
        call_fail(c, rc, "configuration", &e);
    else
        send_newest(c, row.id);
}

void api_named_config_delete(struct call *c)
{
    struct err e = {0};
    struct meta_named_config row = {.id = ARG(c, named_config_delete, config)->text,
                                    .options = "{}",
                                    .note = "",
                                    .removed = true};
    int rc = put_version(c, &row, -1, &e);
    if (rc)
        call_fail_named(c, rc, "configuration", &e);
    else
        http_send_nothing(c->http, 204);
}

void api_host_configs(struct call *c)
{
    struct meta_host_config *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_host_config_list(&l.ask, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_host_config, rows, NULL);
}

void api_host_config_put(struct call *c)
{
    struct err e = {0};
    const struct meta_host_config row = {.host = ARG(c, host_config_put, host)->text,
                                         .config = ARG(c, host_config_put, config)->text,
                                         .created = clock_real(),
                                         .creator = c->who.actor,
                                         .author = c->who.name ? c->who.name : ""};
    int rc = meta_host_config_put(c->parts->meta, c->who.workspace, &row, &e);
    if (rc) {
        call_fail_named(c, rc, "configuration", &e);
        return;
    }
    access_note(c, "config.assign", row.host);
    agents_wake(c, row.host, "config");
    rows_send_one(c, META_ROW_host_config, &row);
}

void api_host_config_delete(struct call *c)
{
    const char *host = ARG(c, host_config_delete, host)->text;
    struct err e = {0};
    int rc = meta_host_config_remove(c->parts->meta, c->who.workspace, host, &e);
    if (rc) {
        call_fail_named(c, rc, "configuration of the host", &e);
        return;
    }
    access_note(c, "config.release", host);
    agents_wake(c, host, "config");
    http_send_nothing(c->http, 204);
}

/* Finds the configuration of the agent's host; its name is "" if none was assigned. */
static int assigned_to(struct meta_ask *ask, const char *host, struct meta_host_config *out)
{
    *out = (struct meta_host_config){.config = ""};
    int rc = host ? meta_host_config_get(ask, host, out) : 0;
    return rc == GPUFL_E_NOENT ? 0 : rc;
}

/* Sends the list; the host's configuration is in it a second time, as the last row. */
static void send_for_agent(struct rows_list *l, const char *assigned)
{
    struct meta_named_config *rows = NULL, *all = NULL;
    int rc = meta_config_list(&l->ask, &rows, &l->count);
    if (!rc && !(all = region_array(&l->mem, l->count + 1, sizeof *all)))
        rc = err_nomem(&l->e);
    size_t n = rc ? 0 : l->count;
    for (size_t i = 0; i < n; i++) {
        all[i] = rows[i];
        if (strcmp(rows[i].id, assigned) == 0) {
            all[n] = rows[i];
            all[n].id = "@host";
            all[n].note = rows[i].id;
            l->count = n + 1;
        }
    }
    rows_list_end(l, rc, META_ROW_named_config, all, NULL);
}

/* Serves agents. The tag changes with the number of versions that were ever written, and with the
 * moment at which the host got its configuration. */
void api_agent_configs(struct call *c)
{
    int64_t changes = 0;
    char tag[64];
    struct meta_host_config own;
    struct rows_list l;
    if (!agents_is_key(c))
        return;
    rows_list_begin(&l, c);
    int rc = assigned_to(&l.ask, given(ARG(c, agent_configs, host)), &own);
    if (!rc)
        rc = meta_config_changes(c->parts->meta, c->who.workspace, &changes, &l.e);
    snprintf(tag, sizeof tag, "W/\"c%" PRId64 ".%" PRId64 "\"", changes, own.created);
    if (rc) {
        rows_list_end(&l, rc, META_ROW_named_config, NULL, NULL);
    } else if (call_unchanged(c, tag)) {
        region_fini(&l.mem);
    } else {
        http_set(c->http, "ETag", tag);
        send_for_agent(&l, own.config);
    }
}

/* ---- captures ------------------------------------------------------------------------------ */

static const int64_t SECOND = 1000000000;
static const int64_t AGENT_SECONDS = 60, TAKE_SECONDS = 30;

void api_captures(struct call *c)
{
    struct meta_capture *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_capture_list(&l.ask, given(ARG(c, captures, host)),
                               given(ARG(c, captures, session)), clock_real(), &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_capture, rows, NULL);
}

/* Returns true if the host has an agent that takes requests; else it is answered. */
static bool has_agent(struct call *c, const char *host, int64_t now)
{
    struct meta_agent a;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_agent_get(&ask, host, &a);
    if (rc && rc != GPUFL_E_NOENT)
        call_fail(c, rc, "agent", &e);
    else if (rc || !a.control)
        http_problem(c->http, 409,
                     "No agent of host %.100s takes requests: start gpufl-agent there with "
                     "--allow-remote-control.",
                     host);
    else if (now - a.seen > AGENT_SECONDS * SECOND)
        http_problem(c->http, 409,
                     "The agent of host %.100s has not reached this server for more than a minute.",
                     host);
    else
        return true;
    return false;
}

/* Finds the sessions that are meant, all of one host. false: answered. */
static bool find_sessions(struct call *c, struct meta_ask *ask, struct meta_capture *out,
                          size_t *count)
{
    const char *session = given(ARG(c, capture_make, session));
    const char *host = given(ARG(c, capture_make, host));
    struct meta_session one;
    struct meta_running *rows = NULL;
    size_t n = 0;
    *count = 0;
    if (!session == !host) {
        http_problem(c->http, 400, "Name one of 'session' and 'host'.");
        return false;
    }
    int rc = session ? meta_session_get(ask, session, &one)
                     : meta_running_list(ask, host, NULL, NULL, &rows, &n);
    if (rc) {
        call_fail_named(c, rc, session ? "session" : "host", ask->e);
        return false;
    }
    if (session && strcmp(one.state, "live") == 0 && one.pid > 0)
        out[(*count)++] =
            (struct meta_capture){.host = one.host, .session = one.id, .pid = one.pid};
    for (size_t i = 0; i < n && *count < SESSIONS_MAX; i++) { /* a row for each GPU of a session */
        bool again = *count && strcmp(out[*count - 1].session, rows[i].session) == 0;
        if (!again && rows[i].pid > 0)
            out[(*count)++] = (struct meta_capture){
                .host = rows[i].host, .session = rows[i].session, .pid = rows[i].pid};
    }
    if (!*count)
        http_problem(c->http, 409,
                     !session ? "No session runs on this host."
                     : strcmp(one.state, "live") == 0
                         ? "The session has only begun: its process is "
                           "not known yet. Ask again in a second."
                         : "The session does not run any more.");
    return *count > 0;
}

static int ask_for(struct call *c, struct meta_capture *r, char id[SECRET_ID], int64_t now,
                   struct err *e)
{
    const char *scope = given(ARG(c, capture_make, scope));
    auth_secret_id(id);
    r->id = region_strdup(c->memory, id);
    r->engine = ARG(c, capture_make, engine)->text;
    r->duration = ARG(c, capture_make, duration)->i;
    r->scope = scope ? scope : "";
    r->state = "waiting";
    r->reason = "";
    r->created = now;
    r->creator = c->who.actor;
    r->author = c->who.name ? c->who.name : "";
    r->expires = now + TAKE_SECONDS * SECOND;
    if (!r->id)
        return err_nomem(e);
    int rc = meta_capture_add(c->parts->meta, c->who.workspace, r, e);
    if (!rc)
        access_note(c, "capture.request", r->id);
    return rc;
}

void api_capture_make(struct call *c)
{
    struct meta_capture rows[SESSIONS_MAX];
    size_t count = 0, made = 0;
    char id[SECRET_ID];
    struct region mem;
    struct err e = {0};
    int64_t now = clock_real();
    const char *scope = given(ARG(c, capture_make, scope));
    const char *session = given(ARG(c, capture_make, session));
    if (scope && scope[strcspn(scope, "\r\n")]) {
        http_problem(c->http, 400, "The name of a scope is one line.");
        return;
    }
    region_init(&mem, ROWS_MEMORY);
    struct meta_ask ask = call_ask(c, &mem, &e);
    bool goes = find_sessions(c, &ask, rows, &count) && has_agent(c, rows[0].host, now);
    int rc = 0;
    for (size_t i = 0; goes && i < count; i++) {
        int one = ask_for(c, &rows[i], id, now, &e);
        if (one)
            rc = one;
        else
            rows[made++] = rows[i];
    }
    if (goes && made)
        agents_wake(c, rows[0].host, "capture");
    if (goes && !made)
        call_fail(c, rc, "capture", &e);
    else if (goes)
        rows_send(c, META_ROW_capture, rows, made, NULL);
    if (!made && c->http->answer.status == 409)
        access_note(c, "capture.refuse", session ? session : ARG(c, capture_make, host)->text);
    region_fini(&mem);
}

/* engine.c - opens and closes the engine. Opening checks that the servers answer and accept name
 * and password, so that a wrong setting is reported at the start and not at the first session. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_ATTACHED = 256 };

#define DEFAULT_QUERY  30000000000ll /* ns */
#define DEFAULT_MEMORY (INT64_C(1) << 30)
#define OLDEST         18016 /* version: 18.16 */

struct version {
    char text[32];
    int number; /* 18016 for 18.16 */
};

static int take_version(void *arg, const struct page *p)
{
    struct version *v = arg;
    struct store_text t = page_text(p, 0, 0);
    int major = 0, minor = 0;
    snprintf(v->text, sizeof v->text, "%.*s", (int)t.len, t.at);
    if (sscanf(v->text, "%d.%d", &major, &minor) == 2) /* NOLINT: checked below */
        v->number = major * 1000 + minor;
    return 0;
}

static int greet(struct store *s, unsigned host, struct err *e)
{
    static const char text[] = "SELECT version() FORMAT Native";
    struct version v = {"", 0};
    int rc = link_ask(&s->links, host,
                      &(struct link_question){text, sizeof text - 1, take_version, &v, 0}, e);
    if (!rc && v.number < OLDEST)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "ClickHouse (server %u of --columns) has version %s; 18.16 is the oldest "
                       "that is supported",
                       host + 1, v.text);
    return rc;
}

/* Reads a login like "name:password". */
static int take_login(struct store *s, const char *login, struct err *e)
{
    const char *colon = login ? strchr(login, ':') : NULL;
    if (!login)
        return 0;
    size_t n = colon ? (size_t)(colon - login) : 0;
    if (!n || n >= sizeof s->select_user || !colon[1] ||
        strlen(colon + 1) >= sizeof s->select_password)
        return err_set(e, GPUFL_E_INVAL, "--columns-sql is NAME:PASSWORD, as in docs/server.md");
    memcpy(s->select_user, login, n);
    snprintf(s->select_password, sizeof s->select_password, "%s", colon + 1);
    return 0;
}

int click_engine_open(struct store **out, const struct store_config *c, struct err *e)
{
    *out = NULL;
    if (!c->url)
        return err_set(e, GPUFL_E_INVAL, "ClickHouse has no address");
    struct store *s = mem_zalloc(sizeof *s);
    if (!s)
        return err_nomem(e);
    s->turns = c->turns;
    s->all_large = c->small_most < 0;
    s->alone = c->alone;
    s->query_limit = c->query_limit > 0 ? c->query_limit : DEFAULT_QUERY;
    session_list_init(&s->open, click_session_close, click_session_free);
    s->open.most = c->attached_most ? c->attached_most : DEFAULT_ATTACHED;
    int rc = links_open(&s->links, c->url, c->memory_limit > 0 ? c->memory_limit : DEFAULT_MEMORY,
                        c->threads, e);
    if (rc == 0)
        rc = take_login(s, c->select_login, e);
    for (unsigned i = 0; !rc && i < s->links.place.host_count; i++)
        rc = greet(s, i, e);
    if (rc == 0)
        rc = sweep_start(s, e);
    if (rc)
        click_engine_close(s);
    else
        *out = s;
    return rc;
}

void click_engine_close(struct store *s)
{
    if (!s)
        return;
    session_list_close_all(&s->open);
    sweep_stop(s);
    workspaces_free(s);
    links_close(&s->links);
    explicit_bzero(s->select_password, sizeof s->select_password);
    session_list_fini(&s->open);
    mem_free(s);
}

/* session_ref.c - opens a session for a question; see session_ref.h. */
#include "server/request/session_ref.h"

#include "base/hash.h"
#include "server/common/logs.h"
#include "server/intake/loader/loader.h"
#include "server/request/parts.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void starts_init(struct starts *s)
{
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
}

void starts_fini(struct starts *s)
{
    pthread_mutex_destroy(&s->lock);
}

static struct start *start_entry(struct starts *s, const char *workspace, const char *session)
{
    return &s->entries[hash_names(workspace, session) % STARTS_MAX];
}

static bool start_known(struct starts *s, const char *workspace, const char *session, int64_t *at)
{
    pthread_mutex_lock(&s->lock);
    const struct start *e = start_entry(s, workspace, session);
    bool known = strcmp(e->session, session) == 0 && strcmp(e->workspace, workspace) == 0;
    *at = e->at;
    pthread_mutex_unlock(&s->lock);
    return known;
}

static void start_keep(struct starts *s, const char *workspace, const char *session, int64_t at)
{
    pthread_mutex_lock(&s->lock);
    struct start *e = start_entry(s, workspace, session);
    snprintf(e->workspace, sizeof e->workspace, "%s", workspace);
    snprintf(e->session, sizeof e->session, "%s", session);
    e->at = at;
    pthread_mutex_unlock(&s->lock);
}

/* ---- the start in the header lines ----------------------------------------------------------- */

enum { FOUND = 1 };

struct search {
    struct decoder *decoder;
    int64_t at;
};

static int take_header(void *arg, const struct wire_header *h)
{
    struct search *s = arg;
    if (!h->start)
        return 0;
    s->at = h->start;
    return FOUND;
}

static int take_lines(void *arg, const struct store_chunk *chunk)
{
    struct search *s = arg;
    const struct wire_visitor v = {.arg = s, .header = take_header};
    int rc = 0;
    for (size_t row = 0; row < chunk->rows && rc == 0; row++) {
        const struct store_text channel = chunk->columns[0].texts[row];
        const struct store_text text = chunk->columns[1].texts[row];
        if (channel.len != strlen(LOADER_HEADERS) ||
            memcmp(channel.at, LOADER_HEADERS, channel.len) != 0)
            continue;
        char *line = mem_strndup(text.at, text.len); /* the decoder may change it */
        rc = line ? decoder_feed(s->decoder, line, text.len, &v) : GPUFL_E_NOMEM;
        mem_free(line);
    }
    return rc;
}

static int start_search(struct call *c, struct session_ref *s, struct err *e)
{
    struct search search = {0};
    const struct store_visitor v = {.arg = &search, .chunk = take_lines};
    int rc = decoder_open(&search.decoder);
    if (rc)
        return rc;
    rc = c->parts->ops->scan_unknown(s->columns, &v, e);
    decoder_close(search.decoder);
    if (rc == FOUND) {
        s->start = search.at;
        start_keep(c->parts->starts, c->who.workspace, s->row.id, s->start);
    }
    return rc == FOUND ? 0 : rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The small tables count rows of the session, and the store has none. */
static void say_absent(struct call *c, const char *session)
{
    if (!c->parts->alone) {
        http_problem(
            c->http, 421,
            "The rows of this session are not with this server: it was sent to another one "
            "that shares its small tables. Ask that one.");
        return;
    }
    logs_say(LOG_ERROR, "request",
             "request %s: session %s of workspace %s is lost: the store has no rows of it, and the "
             "small tables count some; `gpufl-server check` lists all such sessions",
             c->http->id, session, c->who.workspace);
    http_problem(c->http, 500,
                 "The rows of this session are lost: they are no longer in the server's store. A "
                 "backup has them, or the log on the host that sent them.");
}

bool session_ref_open(struct call *c, const char *session, struct session_ref *s)
{
    const struct parts *server = c->parts;
    struct err e = {0};
    *s = (struct session_ref){0};
    const struct meta_ask ask = {server->meta, c->who.workspace, c->memory, &e};
    int rc = c->who.session && strcmp(c->who.session, session) != 0
                 ? GPUFL_E_NOENT /* a link to another session */
                 : meta_session_get(&ask, session, &s->row);
    if (rc == 0) {
        rc = server->ops->get(server->store, c->who.workspace, session, false, &s->columns, &e);
        if (rc == GPUFL_E_NOENT)
            rc = 0; /* registered, and its first rows not committed yet */
    }
    if (rc == 0 && s->columns && !start_known(server->starts, c->who.workspace, session, &s->start))
        rc = start_search(c, s, &e);
    if (rc) {
        session_ref_close(c, s);
        call_fail_named(c, rc, "session", &e);
    } else if (!s->columns && s->row.records > 0) {
        rc = GPUFL_E_NOENT;
        say_absent(c, session);
    }
    return rc == 0;
}

void session_ref_close(struct call *c, struct session_ref *s)
{
    if (s->columns)
        c->parts->ops->put(s->columns);
    s->columns = NULL;
}

bool session_ref_answers(struct call *c, struct session_ref *s)
{
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned count = STORE_POSITIONS_MAX;
    struct err e = {0};
    int rc = s->columns ? c->parts->ops->peek(s->columns, positions, &count, &e) : 0;
    if (!rc)
        return true;
    session_ref_close(c, s);
    call_fail(c, rc, "session", &e);
    return false;
}

bool session_ref_unchanged(struct call *c, const struct session_ref *s, char tag[32])
{
    char text[256];
    tag[0] = '\0';
    if (strcmp(s->row.state, "live") == 0)
        return false;
    snprintf(text, sizeof text, "%s %lld %lld %s", s->row.id, (long long)s->row.records,
             (long long)s->row.received, GPUFL_VERSION);
    snprintf(tag, 32, "W/\"%016" PRIx64 "\"", hash_names(text, c->http->target));
    return call_unchanged(c, tag);
}

/* control.c - keeps the data with which the server controls agents: versions of configurations,
 * which agent belongs to which host, and requests for captures.
 *
 * Versions of a configuration are never changed; deleting a configuration adds a version that says
 * so. The state of a request for a capture is first waiting, then taken, then open, refused or
 * failed. Each change is one statement that requires the state before, so that of concurrent
 * changes one succeeds. States that follow from the time (expired, lost, done) are not stored.
 * [any] */
#include "meta/control.h"

#include "meta/inside.h"

#include <string.h>

static const int64_t SECOND = 1000000000, DAY = 86400ll * 1000000000, KEPT_DAYS = 90;
static const int64_t LOST_AFTER = 60; /* s after a request expired; sql.def has the same number */

/* ---- configurations ------------------------------------------------------------------------ */

/* Reads the newest version. NOENT: there has never been one. */
static int config_newest(struct meta_tx *tx, const char *name, struct region *mem,
                         struct meta_named_config *out, struct err *e)
{
    const struct meta_part part = {META_ROW_named_config, out};
    const struct meta_one one = {&part, 1, mem, "configuration"};
    struct meta_args get = {0};
    meta_arg_text(&get, name);
    return meta_get_tx(tx, META_S_config_get, &get, &one, e);
}

struct config_put {
    struct meta_named_config row;
    int64_t base;
    int64_t *version;
};

static int config_put(struct meta_tx *tx, void *arg, struct err *e)
{
    struct config_put *p = arg;
    struct meta_named_config old = {0};
    struct region mem;
    struct meta_args add = {0}, release = {0};
    region_init(&mem, 1 << 20);
    int rc = config_newest(tx, p->row.id, &mem, &old, e);
    bool there = rc == 0;
    int64_t newest = there && !old.removed ? old.version : 0;
    int64_t next = there ? old.version + 1 : 1;
    region_fini(&mem);
    if (rc && rc != GPUFL_E_NOENT)
        return rc;
    if (p->row.removed && !newest)
        return err_set(e, GPUFL_E_NOENT, "no such configuration");
    if (p->base >= 0 && p->base != newest)
        return err_set(e, GPUFL_E_STATE,
                       "somebody wrote version %lld of this configuration meanwhile: read it first",
                       (long long)newest);
    if (e)
        *e = (struct err){0};
    p->row.version = *p->version = next;
    meta_arg_row(&add, META_ROW_named_config, &p->row);
    meta_arg_text(&release, p->row.id);
    rc = meta_run(tx, META_S_config_add, &add, NULL, NULL, e);
    if (!rc && p->row.removed)
        rc = meta_run(tx, META_S_host_config_release, &release, NULL, NULL, e);
    return rc;
}

int meta_config_put(struct meta *m, const char *workspace, const struct meta_named_config *c,
                    int64_t base, int64_t *version, struct err *e)
{
    struct config_put p = {*c, base, version};
    return meta_write(m, workspace, config_put, &p, e);
}

int meta_config_get(const struct meta_ask *ask, const char *name, struct meta_named_config *out)
{
    return meta_get_by(ask, META_S_config_get, META_ROW_named_config, name, out, "configuration");
}

int meta_config_list(const struct meta_ask *ask, struct meta_named_config **rows, size_t *count)
{
    return meta_list(ask, META_S_config_list, NULL, META_ROW_named_config, rows, count);
}

int meta_config_versions(const struct meta_ask *ask, const char *name,
                         struct meta_named_config **rows, size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, name);
    return meta_list(ask, META_S_config_versions, &a, META_ROW_named_config, rows, count);
}

int meta_config_changes(struct meta *m, const char *workspace, int64_t *count, struct err *e)
{
    return meta_number(m, workspace, META_S_config_changes, NULL, count, e);
}

static int host_config_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct meta_host_config *h = arg;
    struct meta_named_config newest = {0};
    struct meta_args put = {0};
    struct region mem;
    region_init(&mem, 1 << 20);
    int rc = config_newest(tx, h->config, &mem, &newest, e);
    bool removed = !rc && newest.removed;
    region_fini(&mem);
    if (rc == GPUFL_E_NOENT || removed)
        return err_set(e, GPUFL_E_NOENT, "no such configuration");
    meta_arg_row(&put, META_ROW_host_config, h);
    return rc ? rc : meta_run(tx, META_S_host_config_put, &put, NULL, NULL, e);
}

int meta_host_config_put(struct meta *m, const char *workspace, const struct meta_host_config *h,
                         struct err *e)
{
    return meta_write(m, workspace, host_config_put, (void *)h, e);
}

int meta_host_config_get(const struct meta_ask *ask, const char *host, struct meta_host_config *out)
{
    return meta_get_by(ask, META_S_host_config_get, META_ROW_host_config, host, out,
                       "configuration of the host");
}

int meta_host_config_list(const struct meta_ask *ask, struct meta_host_config **rows, size_t *count)
{
    return meta_list(ask, META_S_host_config_list, NULL, META_ROW_host_config, rows, count);
}

int meta_host_config_remove(struct meta *m, const char *workspace, const char *host, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, host);
    return meta_change_one(m, workspace, META_S_host_config_remove, &a, "configuration of the host",
                           e);
}

/* ---- agents -------------------------------------------------------------------------------- */

struct agent_put {
    const struct meta_agent *agent;
    bool *fresh;
};

/* Reads an agent. Returns 0, not NOENT, if there is none. */
static int find_agent(struct meta_tx *tx, enum meta_statement_id s, const struct meta_args *a,
                      struct region *mem, struct meta_agent *out, bool *there)
{
    struct err quiet = {0};
    const struct meta_part part = {META_ROW_agent, out};
    const struct meta_one one = {&part, 1, mem, "agent"};
    int rc = meta_get_tx(tx, s, a, &one, &quiet);
    *there = rc == 0;
    return rc == GPUFL_E_NOENT ? 0 : rc;
}

/* Refuses if the host is bound to another valid key, or the key to another host. */
static int check_binding(struct meta_tx *tx, const struct meta_agent *want, bool *fresh,
                         struct region *mem, struct err *e)
{
    struct meta_agent host = {0}, key = {0};
    struct meta_args by_host = {0}, by_key = {0}, valid = {0};
    bool bound = false, elsewhere = false;
    int64_t lives = 0;
    meta_arg_text(&by_host, want->host);
    meta_arg_text(&by_key, want->holder);
    meta_arg_text(&by_key, want->host);
    int rc = find_agent(tx, META_S_agent_get, &by_host, mem, &host, &bound);
    if (!rc)
        rc = find_agent(tx, META_S_agent_of_key, &by_key, mem, &key, &elsewhere);
    if (rc)
        return err_set(e, rc, "the agents cannot be read");
    if (elsewhere)
        return err_set(
            e, GPUFL_E_STATE,
            "this key belongs to the agent of host %.100s: each agent that takes requests "
            "needs a key of its own",
            key.host);
    bool other = bound && host.control && strcmp(host.holder, want->holder) != 0;
    *fresh = !bound || !host.control || other;
    if (!other)
        return 0;
    meta_arg_text(&valid, host.holder);
    meta_arg_int(&valid, want->seen);
    rc = meta_number_tx(tx, META_S_agent_key_valid, &valid, &lives, e);
    if (!rc && lives)
        rc =
            err_set(e, GPUFL_E_STATE,
                    "host %.100s belongs to the agent with another key: revoke that key, or forget "
                    "the agent, first",
                    want->host);
    return rc;
}

static int agent_put(struct meta_tx *tx, void *arg, struct err *e)
{
    struct agent_put *p = arg;
    struct region mem;
    struct meta_args a = {0}, by_host = {0};
    struct meta_agent old = {0};
    bool there = false;
    *p->fresh = false;
    region_init(&mem, 1 << 20);
    int rc = 0;
    if (p->agent->control) {
        rc = check_binding(tx, p->agent, p->fresh, &mem, e);
    } else { /* the row of another agent of the host that takes requests stays */
        meta_arg_text(&by_host, p->agent->host);
        rc = find_agent(tx, META_S_agent_get, &by_host, &mem, &old, &there);
    }
    bool keeps = there && old.control && strcmp(old.holder, p->agent->holder) != 0;
    region_fini(&mem);
    if (rc || keeps)
        return rc;
    meta_arg_row(&a, META_ROW_agent, p->agent);
    return meta_run(tx, META_S_agent_put, &a, NULL, NULL, e);
}

int meta_agent_put(struct meta *m, const char *workspace, const struct meta_agent *a, bool *fresh,
                   struct err *e)
{
    struct agent_put p = {a, fresh};
    return meta_write(m, workspace, agent_put, &p, e);
}

int meta_agent_get(const struct meta_ask *ask, const char *host, struct meta_agent *out)
{
    return meta_get_by(ask, META_S_agent_get, META_ROW_agent, host, out, "agent");
}

int meta_agent_list(const struct meta_ask *ask, struct meta_agent **rows, size_t *count)
{
    return meta_list(ask, META_S_agent_list, NULL, META_ROW_agent, rows, count);
}

int meta_agent_remove(struct meta *m, const char *workspace, const char *host, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, host);
    return meta_change_one(m, workspace, META_S_agent_remove, &a, "agent", e);
}

/* ---- captures ------------------------------------------------------------------------------ */

/* Returns the state at a time: the stored state, or the state that follows from it and the time. */
static const char *state_at(const struct meta_capture *c, int64_t now)
{
    if (strcmp(c->state, "waiting") == 0 && c->expires <= now)
        return "expired";
    if (strcmp(c->state, "taken") == 0 && c->expires + LOST_AFTER * SECOND <= now)
        return "lost";
    if (strcmp(c->state, "open") == 0 && c->ended <= now)
        return "done";
    return c->state;
}

static int capture_add(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct meta_capture *c = arg;
    struct meta_args busy = {0}, old = {0}, add = {0};
    int64_t count = 0;
    meta_arg_text(&busy, c->session);
    meta_arg_int(&busy, c->created);
    meta_arg_int(&old, c->created - KEPT_DAYS * DAY);
    meta_arg_row(&add, META_ROW_capture, c);
    int rc = meta_number_tx(tx, META_S_capture_busy, &busy, &count, e);
    if (!rc && count)
        rc = err_set(e, GPUFL_E_STATE,
                     "a capture in this session is asked for or under way already");
    if (!rc)
        rc = meta_run(tx, META_S_capture_forget, &old, NULL, NULL, e);
    return rc ? rc : meta_run(tx, META_S_capture_add, &add, NULL, NULL, e);
}

int meta_capture_add(struct meta *m, const char *workspace, const struct meta_capture *c,
                     struct err *e)
{
    return meta_write(m, workspace, capture_add, (void *)c, e);
}

int meta_capture_list(const struct meta_ask *ask, const char *host, const char *session,
                      int64_t now, struct meta_capture **rows, size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, host);
    meta_arg_text(&a, session);
    int rc = meta_list(ask, META_S_capture_list, &a, META_ROW_capture, rows, count);
    for (size_t i = 0; !rc && i < *count; i++)
        (*rows)[i].state = state_at(&(*rows)[i], now);
    return rc;
}

/* Describes a call for an agent: which agent it is, and where the rows go. */
struct agent_ask {
    const char *host, *key;
    int64_t now;
    struct region *mem;
    const struct meta_capture *end;
    struct meta_capture **rows, *out;
    size_t *count;
};

static int check_holder(struct meta_tx *tx, const struct agent_ask *p, struct err *e)
{
    struct meta_agent agent = {0};
    struct meta_args a = {0};
    bool there = false;
    meta_arg_text(&a, p->host);
    int rc = find_agent(tx, META_S_agent_get, &a, p->mem, &agent, &there);
    if (rc)
        return err_set(e, rc, "the agents cannot be read");
    if (!there || !agent.control || strcmp(agent.holder, p->key) != 0)
        return err_set(e, GPUFL_E_STATE, "this key is not that of the agent of host %.100s",
                       p->host);
    return 0;
}

static int capture_take(struct meta_tx *tx, void *arg, struct err *e)
{
    struct agent_ask *p = arg;
    struct meta_args a = {0};
    struct meta_capture *rows = NULL;
    size_t n = 0, kept = 0;
    const struct meta_rows into = {META_ROW_capture, p->mem, &rows, &n};
    *p->count = 0;
    meta_arg_text(&a, p->host);
    meta_arg_int(&a, p->now);
    int rc = check_holder(tx, p, e);
    if (!rc)
        rc = meta_list_tx(tx, META_S_capture_waiting, &a, &into, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct meta_args one = {0};
        int64_t changed = 0;
        meta_arg_text(&one, rows[i].id);
        meta_arg_int(&one, p->now);
        rc = meta_run(tx, META_S_capture_take, &one, NULL, &changed, e);
        rows[i].state = "taken";
        rows[i].taken = p->now;
        if (changed)
            rows[kept++] = rows[i];
    }
    *p->rows = rows;
    *p->count = kept;
    return rc;
}

int meta_capture_take(const struct meta_ask *ask, const char *host, const char *key, int64_t now,
                      struct meta_capture **rows, size_t *count)
{
    struct agent_ask p = {
        .host = host, .key = key, .now = now, .mem = ask->mem, .rows = rows, .count = count};
    return meta_write(ask->m, ask->workspace, capture_take, &p, ask->e);
}

static int capture_end(struct meta_tx *tx, void *arg, struct err *e)
{
    struct agent_ask *p = arg;
    struct meta_args get = {0}, set = {0};
    const struct meta_part part = {META_ROW_capture, p->out};
    const struct meta_one one = {&part, 1, p->mem, "request"};
    int64_t changed = 0;
    int rc = check_holder(tx, p, e);
    meta_arg_text(&get, p->end->id);
    if (!rc)
        rc = meta_get_tx(tx, META_S_capture_get, &get, &one, e);
    if (rc)
        return rc;
    bool open = strcmp(p->end->state, "open") == 0;
    meta_arg_text(&set, p->end->id);
    meta_arg_text(&set, p->host);
    meta_arg_text(&set, p->end->state);
    meta_arg_text(&set, p->end->reason);
    meta_arg_int(&set, open ? p->now + p->out->duration : p->now);
    rc = meta_run(tx, META_S_capture_end, &set, NULL, &changed, e);
    if (!rc && !changed)
        rc = err_set(e, GPUFL_E_NOENT, "no request of this host waits for that");
    return rc;
}

int meta_capture_end(const struct meta_ask *ask, const char *host, const char *key,
                     const struct meta_capture *end, int64_t now, struct meta_capture *out)
{
    struct agent_ask p = {
        .host = host, .key = key, .now = now, .mem = ask->mem, .end = end, .out = out};
    return meta_write(ask->m, ask->workspace, capture_end, &p, ask->e);
}

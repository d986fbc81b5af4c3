/* secrets.c - keeps logins, keys, links and tickets, by the hashes of their secrets.
 *
 * Finding one is a read. The time of its last use is written at most once a minute, so that a
 * dashboard with ten requests a second does not wait for the disk. */
#include "meta/inside.h"

#define MINUTE_NS 60000000000

/* ---- logins ------------------------------------------------------------------------------- */

int meta_login_add(struct meta *m, const struct meta_login *l, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_login, l);
    return meta_change(m, NULL, META_S_login_add, &a, NULL, e);
}

static struct meta_args hash_at(const char *hash, int64_t now)
{
    struct meta_args a = {0};
    meta_arg_text(&a, hash);
    meta_arg_int(&a, now);
    return a;
}

/* On a full disk the time of a secret's last use is not written, and the request succeeds. */
static int touched(int rc)
{
    return rc == GPUFL_E_FULL ? 0 : rc;
}

int meta_login_use(const struct meta_ask *ask, const char *hash, int64_t now, int64_t idle,
                   struct meta_login *login, struct meta_user *user)
{
    const struct meta_part parts[] = {{META_ROW_login, login}, {META_ROW_user, user}};
    const struct meta_args touch = hash_at(hash, now);
    struct meta_args a = touch;
    meta_arg_int(&a, now - idle);
    int rc = meta_get(ask, META_S_login_find, &a, parts, 2, "login");
    if (rc || now - login->used < MINUTE_NS)
        return rc;
    login->used = now;
    return touched(meta_change(ask->m, NULL, META_S_login_touch, &touch, NULL, ask->e));
}

int meta_login_remove(struct meta *m, const char *hash, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, hash);
    return meta_change(m, NULL, META_S_login_remove, &a, NULL, e);
}

/* ---- keys --------------------------------------------------------------------------------- */

int meta_key_add(struct meta *m, const char *workspace, const struct meta_key *k, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_key, k);
    return meta_change(m, workspace, META_S_key_add, &a, NULL, e);
}

int meta_key_list(const struct meta_ask *ask, struct meta_key **rows, size_t *count)
{
    return meta_list(ask, META_S_key_list, NULL, META_ROW_key, rows, count);
}

int meta_key_revoke(struct meta *m, const char *workspace, const char *key, int64_t now,
                    struct err *e)
{
    struct meta_args a = hash_at(key, now);
    return meta_change_one(m, workspace, META_S_key_revoke, &a, "key", e);
}

int meta_key_use(const struct meta_ask *ask, const char *hash, int64_t now, const char **workspace,
                 struct meta_key *out)
{
    const struct meta_part parts[] = {{META_ROW_COUNT, workspace}, {META_ROW_key, out}};
    struct meta_args a = hash_at(hash, now);
    int rc = meta_get(ask, META_S_key_find, &a, parts, 2, "key");
    if (rc || now - out->used < MINUTE_NS)
        return rc;
    out->used = now;
    struct meta_args touch = hash_at(out->id, now);
    return touched(meta_change(ask->m, *workspace, META_S_key_touch, &touch, NULL, ask->e));
}

/* ---- links to sessions -------------------------------------------------------------------- */

int meta_share_add(struct meta *m, const char *workspace, const struct meta_share *s, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_share, s);
    return meta_change(m, workspace, META_S_share_add, &a, NULL, e);
}

int meta_share_list(const struct meta_ask *ask, const char *session, struct meta_share **rows,
                    size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, session);
    return meta_list(ask, META_S_share_list, &a, META_ROW_share, rows, count);
}

int meta_share_revoke(struct meta *m, const char *workspace, const char *share, int64_t now,
                      struct err *e)
{
    struct meta_args a = hash_at(share, now);
    return meta_change_one(m, workspace, META_S_share_revoke, &a, "link", e);
}

int meta_share_use(const struct meta_ask *ask, const char *hash, int64_t now,
                   const char **workspace, struct meta_share *out)
{
    const struct meta_part parts[] = {{META_ROW_COUNT, workspace}, {META_ROW_share, out}};
    struct meta_args a = hash_at(hash, now);
    return meta_get(ask, META_S_share_find, &a, parts, 2, "link");
}

/* ---- tickets ------------------------------------------------------------------------------ */

int meta_ticket_add(struct meta *m, const struct meta_ticket *t, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_ticket, t);
    return meta_change(m, NULL, META_S_ticket_add, &a, NULL, e);
}

int meta_ticket_get(const struct meta_ask *ask, const char *hash, int64_t now,
                    struct meta_ticket *out)
{
    const struct meta_part part = {META_ROW_ticket, out};
    struct meta_args a = hash_at(hash, now);
    return meta_get(ask, META_S_ticket_find, &a, &part, 1, "link");
}

struct ticket_call {
    const struct meta_args *a;
    struct region *mem;
    struct meta_ticket *out;
};

static int ticket_take(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct ticket_call *c = arg;
    const struct meta_part part = {META_ROW_ticket, c->out};
    return meta_get_tx(tx, META_S_ticket_take, c->a, &(struct meta_one){&part, 1, c->mem, "link"},
                       e);
}

int meta_ticket_take(const struct meta_ask *ask, const char *hash, int64_t now,
                     struct meta_ticket *out)
{
    struct meta_args a = hash_at(hash, now);
    struct ticket_call c = {&a, ask->mem, out};
    return meta_write(ask->m, NULL, ticket_take, &c, ask->e);
}

struct acceptance {
    const char *hash;
    int64_t now;
    const struct meta_user *user;
    struct region mem;
};

/* The workspace is that of the ticket. */
static int accept_ticket(struct meta_tx *tx, void *arg, struct err *e)
{
    struct acceptance *c = arg;
    const struct meta_args find = hash_at(c->hash, c->now);
    struct meta_args user = {0}, member = {0};
    struct meta_ticket t;
    const struct meta_part part = {META_ROW_ticket, &t};
    int64_t here = 0, is_member = 0;
    region_clear(&c->mem);
    tx->workspace = NULL;
    meta_arg_text(&user, c->user->id);
    int rc = meta_get_tx(tx, META_S_ticket_take, &find,
                         &(struct meta_one){&part, 1, &c->mem, "link"}, e);
    if (rc || (rc = meta_number_tx(tx, META_S_user_here, &user, &here, e)))
        return rc;
    tx->workspace = t.workspace;
    if ((rc = meta_number_tx(tx, META_S_member_here, &user, &is_member, e)))
        return rc;
    if (is_member)
        return err_set(e, GPUFL_E_STATE, "you are a member of this workspace already");
    meta_arg_text(&member, c->user->id);
    meta_arg_text(&member, t.role);
    meta_arg_int(&member, c->now);
    if (!here) {
        user = (struct meta_args){0};
        meta_arg_row(&user, META_ROW_user, c->user);
        if ((rc = meta_run(tx, META_S_user_add, &user, NULL, NULL, e)))
            return rc;
    }
    return meta_run(tx, META_S_member_put, &member, NULL, NULL, e);
}

int meta_accept(struct meta *m, const char *hash, int64_t now, const struct meta_user *u,
                struct err *e)
{
    struct acceptance c = {.hash = hash, .now = now, .user = u};
    region_init(&c.mem, 1 << 20);
    int rc = meta_write(m, NULL, accept_ticket, &c, e);
    region_fini(&c.mem);
    return rc;
}

/* ---- what has expired --------------------------------------------------------------------- */

static int expire(struct meta_tx *tx, void *arg, struct err *e)
{
    int rc = meta_run(tx, META_S_login_expire, arg, NULL, NULL, e);
    if (rc == 0)
        rc = meta_run(tx, META_S_share_expire, arg, NULL, NULL, e);
    return rc ? rc : meta_run(tx, META_S_ticket_expire, arg, NULL, NULL, e);
}

int meta_expire(struct meta *m, int64_t before, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_int(&a, before);
    return meta_write(m, NULL, expire, &a, e);
}

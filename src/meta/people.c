/* people.c - keeps workspaces, users and members.
 *
 * Rules that must hold under concurrent calls (one first user, an admin, an owner) are checked
 * after the change in the same transaction, which is undone if a rule does not hold. */
#include "meta/inside.h"

#include <string.h>

/* ---- workspaces --------------------------------------------------------------------------- */

int meta_workspace_add(struct meta *m, const struct meta_workspace *w, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_workspace, w);
    return meta_change(m, NULL, META_S_workspace_add, &a, NULL, e);
}

int meta_workspace_get(const struct meta_ask *ask, struct meta_workspace *out)
{
    return meta_get_by(ask, META_S_workspace_get, META_ROW_workspace, ask->workspace, out,
                       "workspace");
}

int meta_workspace_rename(struct meta *m, const char *workspace, const char *name, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, workspace);
    meta_arg_text(&a, name ? name : "");
    return meta_change_one(m, NULL, META_S_workspace_rename, &a, "workspace", e);
}

static int workspace_remove(struct meta_tx *tx, void *arg, struct err *e)
{
    struct meta_args now = {0}, id = {0};
    meta_arg_int(&now, *(const int64_t *)arg);
    meta_arg_text(&id, tx->workspace);
    int rc = meta_run(tx, META_S_dropped_add_all, &now, NULL, NULL, e);
    return rc ? rc : meta_run_one(tx, META_S_workspace_remove, &id, "workspace", e);
}

int meta_workspace_remove(struct meta *m, const char *workspace, int64_t now, struct err *e)
{
    return meta_write(m, workspace, workspace_remove, &now, e);
}

int meta_workspace_list(const struct meta_ask *ask, struct meta_workspace **rows, size_t *count)
{
    return meta_list(ask, META_S_workspace_list, NULL, META_ROW_workspace, rows, count);
}

/* ---- users -------------------------------------------------------------------------------- */

int meta_user_add(struct meta *m, const struct meta_user *u, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_row(&a, META_ROW_user, u);
    return meta_change(m, NULL, META_S_user_add, &a, NULL, e);
}

int meta_user_get(const struct meta_ask *ask, const char *user, struct meta_user *out)
{
    return meta_get_by(ask, META_S_user_get, META_ROW_user, user, out, "user");
}

int meta_user_by_email(const struct meta_ask *ask, const char *email, struct meta_user *out)
{
    return meta_get_by(ask, META_S_user_by_email, META_ROW_user, email, out, "user");
}

int meta_user_list(const struct meta_ask *ask, struct meta_user **rows, size_t *count)
{
    return meta_list(ask, META_S_user_list, NULL, META_ROW_user, rows, count);
}

/* Ends all logins of a user except one. */
static int logins_end(struct meta_tx *tx, const char *user, const char *but, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, user);
    meta_arg_text(&a, but ? but : "");
    return meta_run(tx, META_S_login_remove_all, &a, NULL, NULL, e);
}

static int user_change(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct meta_user *u = arg;
    struct meta_args a = {0};
    int64_t admins = 0;
    meta_arg_text(&a, u->id);
    meta_arg_text(&a, u->name ? u->name : "");
    meta_arg_int(&a, u->admin);
    meta_arg_int(&a, u->disabled);
    int rc = meta_run_one(tx, META_S_user_change, &a, "user", e);
    if (rc || (rc = meta_number_tx(tx, META_S_user_admins, NULL, &admins, e)))
        return rc;
    if (admins == 0)
        return err_set(e, GPUFL_E_STATE,
                       "this is the last admin who can log in: make another one first");
    return u->disabled ? logins_end(tx, u->id, NULL, e) : 0;
}

int meta_user_change(struct meta *m, const struct meta_user *u, struct err *e)
{
    return meta_write(m, NULL, user_change, (void *)u, e);
}

struct password_change {
    const char *user, *password, *but;
};

static int user_password(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct password_change *p = arg;
    struct meta_args a = {0};
    meta_arg_text(&a, p->user);
    meta_arg_text(&a, p->password);
    int rc = meta_run_one(tx, META_S_user_password, &a, "user", e);
    return rc ? rc : logins_end(tx, p->user, p->but, e);
}

int meta_user_password(struct meta *m, const char *user, const char *password, const char *but,
                       struct err *e)
{
    struct password_change p = {user, password, but};
    return meta_write(m, NULL, user_password, &p, e);
}

int meta_user_rehash(struct meta *m, const char *user, const char *old, const char *hash,
                     struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, user);
    meta_arg_text(&a, old);
    meta_arg_text(&a, hash);
    return meta_change(m, NULL, META_S_user_rehash, &a, NULL, e);
}

int meta_user_memberships(const struct meta_ask *ask, const char *user,
                          struct meta_membership **rows, size_t *count)
{
    struct meta_args a = {0};
    meta_arg_text(&a, user);
    return meta_list(ask, META_S_user_memberships, &a, META_ROW_membership, rows, count);
}

int meta_user_count(struct meta *m, int64_t *count, struct err *e)
{
    return meta_number(m, NULL, META_S_user_count, NULL, count, e);
}

/* ---- members ------------------------------------------------------------------------------ */

int meta_member_list(const struct meta_ask *ask, struct meta_member **rows, size_t *count)
{
    return meta_list(ask, META_S_member_list, NULL, META_ROW_member, rows, count);
}

int meta_member_get(const struct meta_ask *ask, const char *user, struct meta_member *out)
{
    return meta_get_by(ask, META_S_member_get, META_ROW_member, user, out, "member");
}

struct member_change {
    const char *user, *role;
    int64_t now;
};

static int owner_stays(struct meta_tx *tx, struct err *e)
{
    int64_t owners = 0;
    int rc = meta_number_tx(tx, META_S_member_owners, NULL, &owners, e);
    if (rc == 0 && owners == 0)
        rc = err_set(e, GPUFL_E_STATE, "a workspace needs an owner: make another one first");
    return rc;
}

static int member_put(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct member_change *c = arg;
    struct meta_args a = {0};
    meta_arg_text(&a, c->user);
    meta_arg_text(&a, c->role);
    meta_arg_int(&a, c->now);
    int rc = meta_run(tx, META_S_member_put, &a, NULL, NULL, e);
    return rc ? rc : owner_stays(tx, e);
}

int meta_member_put(struct meta *m, const char *workspace, const char *user, const char *role,
                    int64_t now, struct err *e)
{
    struct member_change c = {user, role, now};
    return meta_write(m, workspace, member_put, &c, e);
}

static int member_remove(struct meta_tx *tx, void *arg, struct err *e)
{
    struct meta_args a = {0};
    meta_arg_text(&a, arg);
    int rc = meta_run_one(tx, META_S_member_remove, &a, "member", e);
    return rc ? rc : owner_stays(tx, e);
}

int meta_member_remove(struct meta *m, const char *workspace, const char *user, struct err *e)
{
    return meta_write(m, workspace, member_remove, (void *)user, e);
}

/* ---- the first one ------------------------------------------------------------------------- */

struct first {
    const struct meta_user *user;
    const struct meta_workspace *workspace;
};

static int first_user(struct meta_tx *tx, void *arg, struct err *e)
{
    const struct first *f = arg;
    struct meta_user admin = *f->user;
    struct meta_args user = {0}, workspace = {0}, member = {0};
    int64_t users = 0;
    admin.admin = 1;
    admin.disabled = 0;
    meta_arg_row(&user, META_ROW_user, &admin);
    meta_arg_row(&workspace, META_ROW_workspace, f->workspace);
    meta_arg_text(&member, admin.id);
    meta_arg_text(&member, "owner");
    meta_arg_int(&member, admin.created);
    int rc = meta_number_tx(tx, META_S_user_count, NULL, &users, e);
    if (rc == 0 && users > 0)
        rc = err_set(e, GPUFL_E_STATE, "this server has been set up already: log in");
    if (rc || (rc = meta_run(tx, META_S_user_add, &user, NULL, NULL, e)) ||
        (rc = meta_run(tx, META_S_workspace_add, &workspace, NULL, NULL, e)))
        return rc;
    return meta_run(tx, META_S_member_put, &member, NULL, NULL, e);
}

int meta_first_user(struct meta *m, const struct meta_user *u, const struct meta_workspace *w,
                    struct err *e)
{
    struct first f = {u, w};
    return meta_write(m, w->id, first_user, &f, e);
}

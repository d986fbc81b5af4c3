/* tickets.c - links that work once: set up, local mode, invitations, forgotten passwords.
 *
 * What is said with a link is checked before the link is taken, so that a mistake does
 * not cost it; then it is taken, once, however many try; then it is done. */
#include "server/auth/auth.h"

#include <string.h>

#define MINUTE_NS 60000000000
#define DAY_NS    86400000000000

static int ticket_add(struct auth *a, const struct meta_ticket *about, int64_t now, int64_t lasts,
                      char token[SECRET_TOKEN], struct err *e)
{
    char hash[SECRET_HASH];
    struct meta_ticket t = *about;
    auth_secret_token(token);
    auth_secret_hash(token, hash);
    t.hash = hash;
    t.created = now;
    t.expires = now + lasts;
    return meta_ticket_add(a->meta, &t, e);
}

static int ticket_refuse(struct err *e)
{
    return err_set(e, GPUFL_E_PERM, "the link is unknown, expired or was used already");
}

/* Looks at a ticket of that purpose, or takes it. */
static int ticket_use(struct auth *a, const char *token, const char *purpose, int64_t now,
                      bool take, struct region *mem, struct meta_ticket *out, struct err *e)
{
    char hash[SECRET_HASH];
    if (!auth_secret_token_ok(token))
        return ticket_refuse(e);
    auth_secret_hash(token, hash);
    const struct meta_ask ask = {a->meta, NULL, mem, e};
    int rc = meta_ticket_get(&ask, hash, now, out);
    if (rc == 0 && (strcmp(out->purpose, purpose) != 0 || !auth_secret_equal(out->hash, hash)))
        return ticket_refuse(e);
    if (rc == 0 && take)
        rc = meta_ticket_take(&ask, hash, now, out);
    return rc == GPUFL_E_NOENT ? ticket_refuse(e) : rc;
}

static int name_check(const char *name, struct err *e)
{
    size_t len = strlen(name);
    return len >= 1 && len <= 200 ? 0 : err_set(e, GPUFL_E_INVAL, "a name has 1 to 200 characters");
}

/* ---- the first admin ---------------------------------------------------------------------- */

int auth_setup_ticket(struct auth *a, int64_t now, char token[SECRET_TOKEN], bool *needed,
                      struct err *e)
{
    const struct meta_ticket t = {.purpose = "setup"};
    int64_t users = 0;
    int rc = meta_user_count(a->meta, &users, e);
    *needed = rc == 0 && users == 0;
    return *needed ? ticket_add(a, &t, now, DAY_NS, token, e) : rc;
}

int auth_setup(struct auth *a, const char *token, const char *email, const char *name,
               const char *password, const char *workspace, const struct auth_from *from,
               struct auth_entry *out, struct err *e)
{
    char address[256], hash[PASSWORD_HASH], user_id[SECRET_ID], workspace_id[SECRET_ID];
    struct meta_ticket t = {0};
    struct region mem;
    int rc = 0;
    if ((rc = auth_email(email, address, e)) || (rc = name_check(name, e)) ||
        (rc = name_check(workspace, e)) || (rc = auth_password_check(password, address, e)))
        return rc;
    region_init(&mem, 1 << 20);
    if ((rc = ticket_use(a, token, "setup", from->now, false, &mem, &t, e)) ||
        (rc = auth_password_hash(&a->password, password, hash, e)) ||
        (rc = ticket_use(a, token, "setup", from->now, true, &mem, &t, e)))
        goto done;
    auth_secret_id(user_id);
    auth_secret_id(workspace_id);
    const struct meta_user user = {
        .id = user_id, .email = address, .name = name, .password = hash, .created = from->now};
    const struct meta_workspace w = {workspace_id, workspace, from->now};
    if ((rc = meta_first_user(a->meta, &user, &w, e)))
        goto done;
    auth_note(a, "", "user", user_id, "server.setup", workspace_id, from);
    rc = auth_enter(a, user_id, from, a->config.login_ns, out, e);
done:
    region_fini(&mem);
    return rc;
}

/* ---- local mode --------------------------------------------------------------------------- */

int auth_local_ticket(struct auth *a, int64_t now, char token[SECRET_TOKEN], struct err *e)
{
    const struct meta_user user = {
        .id = "local", .email = "local", .name = "You", .admin = 1, .created = now};
    const struct meta_workspace w = {"local", "This machine", now};
    const struct meta_ticket t = {.purpose = "local", .workspace = "local", .account = "local"};
    struct meta_member member;
    struct region mem;
    region_init(&mem, 1 << 20);
    int rc = meta_first_user(a->meta, &user, &w, e);
    const struct meta_ask ask = {a->meta, "local", &mem, e};
    if (rc == GPUFL_E_STATE) /* made before; by us, or it is a server's with users of its own */
        rc = meta_member_get(&ask, "local", &member);
    region_fini(&mem);
    if (rc == 0) /* a cookie of the last time may be anywhere by now; nobody needs it */
        rc = meta_user_password(a->meta, user.id, "", NULL, e);
    if (rc == GPUFL_E_NOENT)
        rc =
            err_set(e, GPUFL_E_STATE, "this data folder is a server's with accounts: log in there");
    return rc ? rc : ticket_add(a, &t, now, 10 * MINUTE_NS, token, e);
}

int auth_local(struct auth *a, const char *token, const struct auth_from *from,
               struct auth_entry *out, struct err *e)
{
    struct meta_ticket t = {0};
    struct region mem;
    region_init(&mem, 1 << 20);
    int rc = ticket_use(a, token, "local", from->now, true, &mem, &t, e);
    if (rc == 0)
        rc = auth_enter(a, t.account, from, a->config.login_ns, out, e);
    region_fini(&mem);
    return rc;
}

/* ---- invitations -------------------------------------------------------------------------- */

int auth_invite(struct auth *a, const struct auth_who *by, const char *role,
                const struct auth_from *from, char token[SECRET_TOKEN], struct err *e)
{
    const struct meta_ticket t = {.purpose = "invite", .workspace = by->workspace, .role = role};
    if (!role_ok(role))
        return err_set(e, GPUFL_E_INVAL, "a role is owner, member or viewer");
    int rc = ticket_add(a, &t, from->now, 7 * DAY_NS, token, e);
    if (rc == 0)
        auth_note(a, by->workspace, by->kind, by->actor, "member.invite", role, from);
    return rc;
}

/* The account that takes an invitation: one that is there, proved by its password, or a new one. */
static int account_for(struct auth *a, const char *address, const char *name, const char *password,
                       const struct auth_from *from, struct region *mem, struct meta_user *user,
                       int64_t *wait, struct err *e)
{
    char *hash = region_take(mem, PASSWORD_HASH), *id = region_take(mem, SECRET_ID);
    if (!hash || !id)
        return err_nomem(e);
    const struct meta_ask ask = {a->meta, NULL, mem, e};
    int rc = meta_user_by_email(&ask, address, user);
    if (rc == 0)
        return auth_try(a, user, address, password, from, wait, e);
    if (rc != GPUFL_E_NOENT || (rc = name_check(name, e)) ||
        (rc = auth_password_check(password, address, e)) ||
        (rc = auth_password_hash(&a->password, password, hash, e)))
        return rc;
    auth_secret_id(id);
    *user = (struct meta_user){
        .id = id, .email = address, .name = name, .password = hash, .created = from->now};
    return 0;
}

int auth_accept(struct auth *a, const char *token, const char *email, const char *name,
                const char *password, const struct auth_from *from, struct auth_entry *out,
                struct err *e)
{
    char address[256];
    struct meta_ticket t = {0};
    struct meta_user user = {0};
    struct region mem;
    *out = (struct auth_entry){0};
    int rc = auth_email(email, address, e);
    if (rc)
        return rc;
    region_init(&mem, 1 << 20);
    if ((rc = ticket_use(a, token, "invite", from->now, false, &mem, &t, e)) ||
        (rc = account_for(a, address, name, password, from, &mem, &user, &out->wait, e)))
        goto done;
    if ((rc = meta_accept(a->meta, t.hash, from->now, &user, e))) {
        rc = rc == GPUFL_E_NOENT ? ticket_refuse(e) : rc;
        goto done;
    }
    auth_note(a, t.workspace, "user", user.id, "member.join", t.role, from);
    rc = auth_enter(a, user.id, from, a->config.login_ns, out, e);
done:
    region_fini(&mem);
    return rc;
}

/* ---- forgotten passwords ------------------------------------------------------------------ */

int auth_reset_ticket(struct auth *a, const struct auth_who *by, const char *user,
                      const struct auth_from *from, char token[SECRET_TOKEN], struct err *e)
{
    const struct meta_ticket t = {.purpose = "password", .account = user};
    struct meta_user u;
    struct region mem;
    region_init(&mem, 1 << 20);
    const struct meta_ask ask = {a->meta, NULL, &mem, e};
    int rc = meta_user_get(&ask, user, &u);
    region_fini(&mem);
    if (rc == 0)
        rc = ticket_add(a, &t, from->now, DAY_NS, token, e);
    if (rc == 0)
        auth_note(a, "", by->kind, by->actor, "user.reset", user, from);
    return rc;
}

int auth_reset(struct auth *a, const char *token, const char *password,
               const struct auth_from *from, struct auth_entry *out, struct err *e)
{
    char hash[PASSWORD_HASH];
    struct meta_ticket t = {0};
    struct meta_user user = {0};
    struct region mem;
    *out = (struct auth_entry){0};
    region_init(&mem, 1 << 20);
    int rc = ticket_use(a, token, "password", from->now, false, &mem, &t, e);
    const struct meta_ask ask = {a->meta, NULL, &mem, e};
    if (rc || (rc = meta_user_get(&ask, t.account, &user)) ||
        (rc = auth_password_check(password, user.email, e)) ||
        (rc = auth_password_hash(&a->password, password, hash, e)) ||
        (rc = ticket_use(a, token, "password", from->now, true, &mem, &t, e)) ||
        (rc = meta_user_password(a->meta, user.id, hash, NULL, e)))
        goto done;
    auth_note(a, "", "user", user.id, "password.reset", "", from);
    rc = user.disabled ? err_set(e, GPUFL_E_PERM, "this account is closed")
                       : auth_enter(a, user.id, from, a->config.login_ns, out, e);
done:
    region_fini(&mem);
    return rc;
}

/* tickets.c - makes links that work once: set up, local mode, invitations, forgotten passwords.
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

/* Reads a ticket of that purpose, or takes it. */
static int ticket_use(const struct auth_ask *ask, const char *token, const char *purpose, bool take,
                      struct region *mem, struct meta_ticket *out)
{
    char hash[SECRET_HASH];
    const struct meta_ask rows = {ask->auth->meta, NULL, mem, ask->e};
    int64_t now = ask->from.now;
    if (!auth_secret_token_ok(token))
        return ticket_refuse(ask->e);
    auth_secret_hash(token, hash);
    int rc = meta_ticket_get(&rows, hash, now, out);
    if (rc == 0 && (strcmp(out->purpose, purpose) != 0 || !auth_secret_equal(out->hash, hash)))
        return ticket_refuse(ask->e);
    if (rc == 0 && take)
        rc = meta_ticket_take(&rows, hash, now, out);
    return rc == GPUFL_E_NOENT ? ticket_refuse(ask->e) : rc;
}

static int name_check(const char *name, struct err *e)
{
    size_t len = strlen(name);
    return len >= 1 && len <= 200 ? 0 : err_set(e, GPUFL_E_INVAL, "a name has 1 to 200 bytes");
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

int auth_setup(const struct auth_ask *ask, const char *token, const struct auth_setup *first,
               struct auth_entry *out)
{
    struct auth *a = ask->auth;
    char address[256], hash[PASSWORD_HASH], user_id[SECRET_ID], workspace_id[SECRET_ID];
    struct meta_ticket t = {0};
    struct region mem;
    int rc = 0;
    if ((rc = auth_email(first->admin.email, address, ask->e)) ||
        (rc = name_check(first->admin.name, ask->e)) ||
        (rc = name_check(first->workspace, ask->e)) ||
        (rc = auth_password_check(first->admin.password, address, ask->e)))
        return rc;
    region_init(&mem, 1 << 20);
    if ((rc = ticket_use(ask, token, "setup", false, &mem, &t)) ||
        (rc = auth_password_hash(&a->password, first->admin.password, hash, ask->e)) ||
        (rc = ticket_use(ask, token, "setup", true, &mem, &t)))
        goto done;
    auth_secret_id(user_id);
    auth_secret_id(workspace_id);
    const struct meta_user user = {.id = user_id,
                                   .email = address,
                                   .name = first->admin.name,
                                   .password = hash,
                                   .created = ask->from.now};
    const struct meta_workspace w = {workspace_id, first->workspace, ask->from.now};
    if ((rc = meta_first_user(a->meta, &user, &w, ask->e)))
        goto done;
    auth_note_user(ask, user_id, "", "server.setup", workspace_id);
    rc = auth_enter(ask, user_id, out);
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
    if (rc == GPUFL_E_STATE) /* made before, or a server with accounts has the folder */
        rc = meta_member_get(&ask, "local", &member);
    region_fini(&mem);
    if (rc == 0) /* a former cookie may be anywhere by now, and is no longer needed */
        rc = meta_user_password(a->meta, user.id, "", NULL, e);
    if (rc == GPUFL_E_NOENT)
        rc =
            err_set(e, GPUFL_E_STATE, "this data folder is a server's with accounts: log in there");
    return rc ? rc : ticket_add(a, &t, now, 10 * MINUTE_NS, token, e);
}

int auth_local(const struct auth_ask *ask, const char *token, struct auth_entry *out)
{
    struct meta_ticket t = {0};
    struct region mem;
    region_init(&mem, 1 << 20);
    int rc = ticket_use(ask, token, "local", true, &mem, &t);
    if (rc == 0)
        rc = auth_enter(ask, t.account, out);
    region_fini(&mem);
    return rc;
}

/* ---- invitations -------------------------------------------------------------------------- */

int auth_invite(const struct auth_ask *ask, const char *role, char token[SECRET_TOKEN])
{
    struct auth *a = ask->auth;
    const struct auth_who *by = ask->by;
    const struct meta_ticket t = {.purpose = "invite", .workspace = by->workspace, .role = role};
    if (!role_ok(role))
        return err_set(ask->e, GPUFL_E_INVAL, "a role is owner, member or viewer");
    int rc = ticket_add(a, &t, ask->from.now, 7 * DAY_NS, token, ask->e);
    if (rc == 0)
        auth_note(ask, by->workspace, "member.invite", role);
    return rc;
}

/* Finds the account that takes an invitation, which its password proves, or makes a new one. */
static int account_for(const struct auth_ask *ask, const char *address,
                       const struct auth_person *person, struct region *mem, struct meta_user *user,
                       int64_t *wait)
{
    struct auth *a = ask->auth;
    const struct meta_ask rows = {a->meta, NULL, mem, ask->e};
    char *hash = region_take(mem, PASSWORD_HASH), *id = region_take(mem, SECRET_ID);
    if (!hash || !id)
        return err_nomem(ask->e);
    int rc = meta_user_by_email(&rows, address, user);
    if (rc == 0)
        return auth_try(ask, user, address, person->password, wait);
    if (rc != GPUFL_E_NOENT || (rc = name_check(person->name, ask->e)) ||
        (rc = auth_password_check(person->password, address, ask->e)) ||
        (rc = auth_password_hash(&a->password, person->password, hash, ask->e)))
        return rc;
    auth_secret_id(id);
    *user = (struct meta_user){.id = id,
                               .email = address,
                               .name = person->name,
                               .password = hash,
                               .created = ask->from.now};
    return 0;
}

int auth_accept(const struct auth_ask *ask, const char *token, const struct auth_person *person,
                struct auth_entry *out)
{
    struct auth *a = ask->auth;
    char address[256];
    struct meta_ticket t = {0};
    struct meta_user user = {0};
    struct region mem;
    *out = (struct auth_entry){0};
    int rc = auth_email(person->email, address, ask->e);
    if (rc)
        return rc;
    region_init(&mem, 1 << 20);
    if ((rc = ticket_use(ask, token, "invite", false, &mem, &t)) ||
        (rc = account_for(ask, address, person, &mem, &user, &out->wait)))
        goto done;
    if ((rc = meta_accept(a->meta, t.hash, ask->from.now, &user, ask->e))) {
        rc = rc == GPUFL_E_NOENT ? ticket_refuse(ask->e) : rc;
        goto done;
    }
    auth_note_user(ask, user.id, t.workspace, "member.join", t.role);
    rc = auth_enter(ask, user.id, out);
done:
    region_fini(&mem);
    return rc;
}

/* ---- forgotten passwords ------------------------------------------------------------------ */

int auth_reset_ticket(const struct auth_ask *ask, const char *user, char token[SECRET_TOKEN])
{
    struct auth *a = ask->auth;
    const struct meta_ticket t = {.purpose = "password", .account = user};
    struct meta_user u;
    struct region mem;
    region_init(&mem, 1 << 20);
    const struct meta_ask rows = {a->meta, NULL, &mem, ask->e};
    int rc = meta_user_get(&rows, user, &u);
    region_fini(&mem);
    if (rc == 0)
        rc = ticket_add(a, &t, ask->from.now, DAY_NS, token, ask->e);
    if (rc == 0)
        auth_note(ask, "", "user.reset", user);
    return rc;
}

int auth_reset(const struct auth_ask *ask, const char *token, const char *password,
               struct auth_entry *out)
{
    struct auth *a = ask->auth;
    char hash[PASSWORD_HASH];
    struct meta_ticket t = {0};
    struct meta_user user = {0};
    struct region mem;
    *out = (struct auth_entry){0};
    region_init(&mem, 1 << 20);
    int rc = ticket_use(ask, token, "password", false, &mem, &t);
    const struct meta_ask rows = {a->meta, NULL, &mem, ask->e};
    if (rc || (rc = meta_user_get(&rows, t.account, &user)) ||
        (rc = auth_password_check(password, user.email, ask->e)) ||
        (rc = auth_password_hash(&a->password, password, hash, ask->e)) ||
        (rc = ticket_use(ask, token, "password", true, &mem, &t)) ||
        (rc = meta_user_password(a->meta, user.id, hash, NULL, ask->e)))
        goto done;
    auth_note_user(ask, user.id, "", "password.reset", "");
    rc = user.disabled ? err_set(ask->e, GPUFL_E_PERM, "this account is closed")
                       : auth_enter(ask, user.id, out);
done:
    region_fini(&mem);
    return rc;
}

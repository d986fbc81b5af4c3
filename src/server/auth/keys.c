/* keys.c - API keys, links to sessions, and passwords that are changed. What is made is told
 * once; only its hash is kept. */
#include "server/auth/auth.h"

#include <string.h>

int auth_key_make(struct auth *a, const struct auth_who *by, const char *name, int64_t scopes,
                  int64_t expires, const struct auth_from *from, char key[SECRET_KEY],
                  char id[SECRET_ID], struct err *e)
{
    char hash[SECRET_HASH], prefix[SECRET_PREFIX] = "";
    if (!*name || strlen(name) > 200)
        return err_set(e, GPUFL_E_INVAL, "a key's name has 1 to 200 characters");
    if (scopes <= 0 || scopes & ~(int64_t)SCOPE_ALL)
        return err_set(e, GPUFL_E_INVAL, "a key's scopes are ingest, read, admin, or some of them");
    if (expires && expires <= from->now)
        return err_set(e, GPUFL_E_INVAL, "a key expires in the future, or never");
    auth_secret_key(SECRET_API_KEY, key);
    auth_secret_hash(key, hash);
    auth_secret_id(id);
    memcpy(prefix, key, sizeof prefix - 1);
    const struct meta_key k = {.id = id,
                               .name = name,
                               .prefix = prefix,
                               .hash = hash,
                               .scopes = scopes,
                               .created = from->now,
                               .creator = by->actor,
                               .expires = expires};
    int rc = meta_key_add(a->meta, by->workspace, &k, e);
    if (rc == 0)
        auth_note(a, by->workspace, by->kind, by->actor, "key.create", id, from);
    return rc;
}

int auth_key_revoke(struct auth *a, const struct auth_who *by, const char *id,
                    const struct auth_from *from, struct err *e)
{
    int rc = meta_key_revoke(a->meta, by->workspace, id, from->now, e);
    if (rc == 0)
        auth_note(a, by->workspace, by->kind, by->actor, "key.revoke", id, from);
    return rc;
}

int auth_share_make(struct auth *a, const struct auth_who *by, const char *session, int64_t expires,
                    const struct auth_from *from, char token[SECRET_KEY], char id[SECRET_ID],
                    struct err *e)
{
    char hash[SECRET_HASH];
    if (expires <= from->now)
        return err_set(e, GPUFL_E_INVAL, "a link expires, in the future");
    auth_secret_key(SECRET_SHARE, token);
    auth_secret_hash(token, hash);
    auth_secret_id(id);
    const struct meta_share s = {.id = id,
                                 .session = session,
                                 .hash = hash,
                                 .created = from->now,
                                 .creator = by->actor,
                                 .expires = expires};
    int rc = meta_share_add(a->meta, by->workspace, &s, e);
    if (rc == GPUFL_E_NOENT)
        err_set(e, rc, "no such session");
    if (rc == 0)
        auth_note(a, by->workspace, by->kind, by->actor, "share.create", session, from);
    return rc;
}

int auth_share_revoke(struct auth *a, const struct auth_who *by, const char *id,
                      const struct auth_from *from, struct err *e)
{
    int rc = meta_share_revoke(a->meta, by->workspace, id, from->now, e);
    if (rc == 0)
        auth_note(a, by->workspace, by->kind, by->actor, "share.revoke", id, from);
    return rc;
}

int auth_password_change(struct auth *a, const struct auth_who *by, const char *cookie,
                         const char *old, const char *password, const struct auth_from *from,
                         int64_t *wait, struct err *e)
{
    char hash[PASSWORD_HASH], keep[SECRET_HASH] = "";
    struct meta_user user;
    struct region mem;
    *wait = 0;
    if (strcmp(by->kind, "user") != 0)
        return err_set(e, GPUFL_E_STATE, "only a user has a password");
    region_init(&mem, 1 << 20);
    const struct meta_ask ask = {a->meta, NULL, &mem, e};
    int rc = meta_user_get(&ask, by->actor, &user);
    if (rc || (rc = auth_try(a, &user, user.email, old, from, wait, e)) ||
        (rc = auth_password_check(password, user.email, e)) ||
        (rc = auth_password_hash(&a->password, password, hash, e)))
        goto done;
    if (cookie && auth_secret_token_ok(cookie))
        auth_secret_hash(cookie, keep);
    rc = meta_user_password(a->meta, user.id, hash, keep, e);
    if (rc == 0)
        auth_note(a, "", "user", user.id, "password.change", "", from);
done:
    region_fini(&mem);
    return rc;
}

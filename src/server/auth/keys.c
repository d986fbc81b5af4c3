/* keys.c - serves API keys, links to sessions, and passwords that are changed. A secret is returned
 * once; only its hash is stored. */
#include "server/auth/auth.h"

#include <string.h>

int auth_key_make(const struct auth_ask *ask, const char *name, int64_t scopes, int64_t expires,
                  char key[SECRET_KEY], char id[SECRET_ID])
{
    struct auth *a = ask->auth;
    const struct auth_who *by = ask->by;
    char hash[SECRET_HASH], prefix[SECRET_PREFIX] = "";
    if (!*name || strlen(name) > 200)
        return err_set(ask->e, GPUFL_E_INVAL, "a key's name has 1 to 200 bytes");
    if (scopes <= 0 || scopes & ~(int64_t)SCOPE_ALL)
        return err_set(ask->e, GPUFL_E_INVAL,
                       "a key's scopes are ingest, read, admin, or some of them");
    if (expires && expires <= ask->from.now)
        return err_set(ask->e, GPUFL_E_INVAL, "a key expires in the future, or never");
    auth_secret_key(SECRET_API_KEY, key);
    auth_secret_hash(key, hash);
    auth_secret_id(id);
    memcpy(prefix, key, sizeof prefix - 1);
    const struct meta_key k = {.id = id,
                               .name = name,
                               .prefix = prefix,
                               .hash = hash,
                               .scopes = scopes,
                               .created = ask->from.now,
                               .creator = by->actor,
                               .expires = expires};
    int rc = meta_key_add(a->meta, by->workspace, &k, ask->e);
    if (rc == 0)
        auth_note(ask, by->workspace, "key.create", id);
    return rc;
}

int auth_key_revoke(const struct auth_ask *ask, const char *id)
{
    struct auth *a = ask->auth;
    const struct auth_who *by = ask->by;
    int rc = meta_key_revoke(a->meta, by->workspace, id, ask->from.now, ask->e);
    if (rc == 0)
        auth_note(ask, by->workspace, "key.revoke", id);
    return rc;
}

int auth_share_make(const struct auth_ask *ask, const char *session, int64_t expires,
                    char token[SECRET_KEY], char id[SECRET_ID])
{
    struct auth *a = ask->auth;
    const struct auth_who *by = ask->by;
    char hash[SECRET_HASH];
    if (expires <= ask->from.now)
        return err_set(ask->e, GPUFL_E_INVAL, "a link expires, in the future");
    auth_secret_key(SECRET_SHARE, token);
    auth_secret_hash(token, hash);
    auth_secret_id(id);
    const struct meta_share s = {.id = id,
                                 .session = session,
                                 .hash = hash,
                                 .created = ask->from.now,
                                 .creator = by->actor,
                                 .expires = expires};
    int rc = meta_share_add(a->meta, by->workspace, &s, ask->e);
    if (rc == GPUFL_E_NOENT)
        err_set(ask->e, rc, "no such session");
    if (rc == 0)
        auth_note(ask, by->workspace, "share.create", session);
    return rc;
}

int auth_share_revoke(const struct auth_ask *ask, const char *id)
{
    struct auth *a = ask->auth;
    const struct auth_who *by = ask->by;
    int rc = meta_share_revoke(a->meta, by->workspace, id, ask->from.now, ask->e);
    if (rc == 0)
        auth_note(ask, by->workspace, "share.revoke", id);
    return rc;
}

int auth_password_change(const struct auth_ask *ask, const char *cookie, const char *old,
                         const char *password, int64_t *wait)
{
    struct auth *a = ask->auth;
    const struct auth_who *by = ask->by;
    char hash[PASSWORD_HASH], keep[SECRET_HASH] = "";
    struct meta_user user;
    struct region mem;
    *wait = 0;
    if (strcmp(by->kind, "user") != 0)
        return err_set(ask->e, GPUFL_E_STATE, "only a user has a password");
    region_init(&mem, 1 << 20);
    const struct meta_ask rows = {a->meta, NULL, &mem, ask->e};
    int rc = meta_user_get(&rows, by->actor, &user);
    if (rc || (rc = auth_try(ask, &user, user.email, old, wait)) ||
        (rc = auth_password_check(password, user.email, ask->e)) ||
        (rc = auth_password_hash(&a->password, password, hash, ask->e)))
        goto done;
    if (cookie && auth_secret_token_ok(cookie))
        auth_secret_hash(cookie, keep);
    rc = meta_user_password(a->meta, user.id, hash, keep, ask->e);
    if (rc == 0)
        auth_note_user(ask, user.id, "", "password.change", "");
done:
    region_fini(&mem);
    return rc;
}

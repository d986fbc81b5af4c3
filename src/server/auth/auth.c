/* auth.c - see auth.h: who asks, logging in and out.
 *
 * A secret is looked up by its hash, and what is found is compared once more in constant time:
 * nothing of a secret's text ever decides how long an answer takes. Where there is no user, a
 * hash is computed as well. */
#include "server/auth/auth.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DAY_NS 86400000000000

int auth_init(struct auth *a, struct meta *meta, const struct auth_config *c, struct err *e)
{
    memset(a, 0, sizeof *a);
    a->meta = meta;
    a->config = *c;
    a->config.login_ns = c->login_ns ? c->login_ns : 30 * DAY_NS;
    a->config.idle_ns = c->idle_ns ? c->idle_ns : 7 * DAY_NS;
    /* __Host-: browsers take it from TLS only, and for this host only. */
    const char *begin = c->secure ? "__Host-" : "";
    char end[16] = "";
    if (c->port)
        snprintf(end, sizeof end, "_%u", c->port);
    snprintf(a->cookie, sizeof a->cookie, "%s" AUTH_COOKIE_NAME "%s", begin, end);
    snprintf(a->device, sizeof a->device, "%s" AUTH_DEVICE_NAME "%s", begin, end);
    if (auth_secret_init())
        return err_set(e, GPUFL_E_UNAVAILABLE, "the system gives no random numbers");
    if (auth_limit_init(&a->limit))
        return err_nomem(e);
    if (auth_password_init(&a->password, c->password_passes, c->password_memory, 0)) {
        auth_limit_fini(&a->limit);
        return err_nomem(e);
    }
    return 0;
}

void auth_fini(struct auth *a)
{
    auth_password_fini(&a->password);
    auth_limit_fini(&a->limit);
}

/* The action has happened: an entry that cannot be written goes to the server's log. */
static void note(const struct auth_ask *ask, const char *kind, const char *actor,
                 const char *workspace, const char *action, const char *target)
{
    struct err e = {0};
    const struct meta_audit entry = {.at = ask->from.now,
                                     .kind = kind,
                                     .actor = actor,
                                     .action = action,
                                     .target = target,
                                     .address = ask->from.address};
    if (meta_audit_add(ask->auth->meta, workspace, &entry, &e))
        log_warn("the audit log lacks %s by %s %s: %s", action, kind, actor, e.text);
}

void auth_note(const struct auth_ask *ask, const char *workspace, const char *action,
               const char *target)
{
    note(ask, ask->by->kind, ask->by->actor, workspace, action, target);
}

void auth_note_user(const struct auth_ask *ask, const char *user, const char *workspace,
                    const char *action, const char *target)
{
    note(ask, "user", user, workspace, action, target);
}

/* ---- who asks ----------------------------------------------------------------------------- */

static int refuse(struct err *e)
{
    return err_set(e, GPUFL_E_PERM, "the key, link or login is unknown, expired or was taken back");
}

/* The code for a secret that is not found is a refusal; every other error is the small tables'. */
static int found(int rc, struct err *e)
{
    return rc == GPUFL_E_NOENT || rc == GPUFL_E_INVAL ? refuse(e) : rc;
}

static int who_key(struct auth *a, const char *hash, int64_t now, struct region *mem,
                   struct auth_who *w, struct err *e)
{
    struct meta_key *k = region_array(mem, 1, sizeof *k);
    if (!k)
        return err_set(e, GPUFL_E_FULL, "the request takes too much memory");
    const struct meta_ask ask = {a->meta, NULL, mem, e};
    int rc = found(meta_key_use(&ask, hash, now, &w->workspace, k), e);
    if (rc)
        return rc;
    if (!auth_secret_equal(k->hash, hash))
        return refuse(e);
    w->kind = "key";
    w->actor = k->id;
    w->name = k->name;
    w->scopes = k->scopes;
    return 0;
}

static int who_share(struct auth *a, const char *hash, int64_t now, struct region *mem,
                     struct auth_who *w, struct err *e)
{
    struct meta_share s;
    const struct meta_ask ask = {a->meta, NULL, mem, e};
    int rc = found(meta_share_use(&ask, hash, now, &w->workspace, &s), e);
    if (rc)
        return rc;
    if (!auth_secret_equal(s.hash, hash))
        return refuse(e);
    w->kind = "share";
    w->actor = s.id;
    w->session = s.session;
    return 0;
}

static int who_bearer(struct auth *a, const struct auth_said *said, const char *secret,
                      struct region *mem, struct auth_who *w, struct err *e)
{
    char hash[SECRET_HASH];
    int rc = 0;
    auth_secret_hash(secret, hash);
    if (auth_secret_key_ok(SECRET_API_KEY, secret))
        rc = who_key(a, hash, said->now, mem, w, e);
    else if (auth_secret_key_ok(SECRET_SHARE, secret))
        rc = who_share(a, hash, said->now, mem, w, e);
    else
        rc = refuse(e);
    if (rc == 0 && said->workspace && strcmp(said->workspace, w->workspace) != 0)
        rc = err_set(e, GPUFL_E_NOENT, "no such workspace");
    return rc;
}

/* Finds the workspace that is asked for, or the first one; a user may be in none. */
static int who_workspace(struct auth *a, const struct auth_said *said, struct region *mem,
                         struct auth_who *w, struct err *e)
{
    struct meta_membership *in = NULL;
    size_t n = 0, i = 0;
    const struct meta_ask ask = {a->meta, NULL, mem, e};
    int rc = meta_user_memberships(&ask, w->actor, &in, &n);
    if (rc)
        return rc;
    while (said->workspace && i < n && strcmp(in[i].workspace, said->workspace) != 0)
        i++;
    if (i < n) {
        w->workspace = in[i].workspace;
        w->role = in[i].role;
        return 0;
    }
    return said->workspace ? err_set(e, GPUFL_E_NOENT, "no such workspace") : 0;
}

static int who_cookie(struct auth *a, const struct auth_said *said, struct region *mem,
                      struct auth_who *w, struct err *e)
{
    char hash[SECRET_HASH], csrf[SECRET_TOKEN];
    struct meta_login login;
    struct meta_user user;
    if (!auth_secret_token_ok(said->cookie))
        return refuse(e);
    auth_secret_hash(said->cookie, hash);
    const struct meta_ask ask = {a->meta, NULL, mem, e};
    int rc = found(meta_login_use(&ask, hash, said->now, a->config.idle_ns, &login, &user), e);
    if (rc)
        return rc;
    if (!auth_secret_equal(login.hash, hash))
        return refuse(e);
    auth_secret_csrf(said->cookie, csrf);
    if (said->writes && !(said->csrf && auth_secret_equal(csrf, said->csrf)))
        return err_set(e, GPUFL_E_STATE,
                       "the header X-CSRF-Token is missing or of another login: reload the page");
    w->kind = "user";
    w->actor = user.id;
    w->name = user.email;
    w->admin = user.admin != 0;
    return who_workspace(a, said, mem, w, e);
}

int auth_who(struct auth *a, const struct auth_said *said, struct region *mem, struct auth_who *out,
             struct err *e)
{
    static const char bearer[] = "bearer ";
    *out = (struct auth_who){.kind = "", .actor = "", .name = "", .workspace = "", .role = ""};
    struct auth_who w = *out;
    int rc = 0;
    if (said->authorization && strncasecmp(said->authorization, bearer, 7) == 0) {
        const char *secret = said->authorization + 7;
        rc = who_bearer(a, said, secret + strspn(secret, " "), mem, &w, e);
    } else if (said->authorization) {
        rc = err_set(e, GPUFL_E_PERM, "the header Authorization takes: Bearer, and an API key");
    } else if (said->cookie && *said->cookie) {
        rc = who_cookie(a, said, mem, &w, e);
    }
    if (rc == 0)
        *out = w;
    return rc;
}

int auth_may(const struct auth_who *w, enum rights right, const char *session, struct err *e)
{
    bool may = false;
    if (right == RIGHTS_PUBLIC)
        return 0;
    if (!*w->kind)
        return err_set(e, GPUFL_E_PERM, "log in, or bear an API key");
    if (strcmp(w->kind, "share") == 0) {
        if (!rights_of_share(right) || !session)
            return err_set(e, GPUFL_E_STATE, "a link shows its session and nothing else");
        return strcmp(w->session, session) == 0 ? 0 : err_set(e, GPUFL_E_NOENT, "no such session");
    }
    if (right == RIGHTS_ADMIN)
        may = w->admin;
    else if (strcmp(w->kind, "key") == 0)
        may = *w->workspace && rights_of_scopes(right, w->scopes);
    else
        may = *w->workspace && rights_of_role(right, w->role);
    return may ? 0
               : err_set(e, GPUFL_E_STATE, "not with the rights of this %s",
                         strcmp(w->kind, "key") == 0 ? "key" : "login");
}

/* ---- logging in --------------------------------------------------------------------------- */

int auth_email(const char *said, char out[256], struct err *e)
{
    said += strspn(said, " \t");
    size_t len = strcspn(said, " \t\r\n");
    const char *at = memchr(said, '@', len);
    if (len > 254 || !at || at == said || at + 1 == said + len ||
        said[len + strspn(said + len, " \t\r\n")])
        return err_set(e, GPUFL_E_INVAL, "that is no e-mail address");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)said[i];
        if (c < 0x21 || c == 0x7f || strchr("<>\"'\\,;", c))
            return err_set(e, GPUFL_E_INVAL, "that is no e-mail address");
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : (char)c;
    }
    out[len] = '\0';
    return 0;
}

/* Holds the buckets of a try: the browser's own where the browser is known, else the address's and
 * the account's. */
struct tries {
    enum limit_kind kinds[2];
    const char *names[2];
    unsigned count;
    char address[64], device[SECRET_ID];
};

static void tries_of(const struct auth_ask *ask, const struct meta_user *user, const char *email,
                     struct tries *t)
{
    *t = (struct tries){0};
    if (auth_device_known(user, ask->from.device, t->device)) {
        t->kinds[t->count] = LIMIT_DEVICE;
        t->names[t->count++] = t->device;
        return;
    }
    auth_limit_address(ask->from.address, t->address, sizeof t->address);
    t->kinds[t->count] = LIMIT_ADDRESS;
    t->names[t->count++] = t->address;
    t->kinds[t->count] = LIMIT_ACCOUNT;
    t->names[t->count++] = email;
}

static void tries_give(struct auth *a, const struct tries *t, unsigned count, int64_t now)
{
    for (unsigned i = 0; i < count; i++)
        auth_limit_give(&a->limit, t->kinds[i], t->names[i], now);
}

/* Takes a token of each; ns to wait where one has none, and then none is taken. */
static int64_t tries_take(struct auth *a, const struct tries *t, int64_t now)
{
    for (unsigned i = 0; i < t->count; i++) {
        int64_t wait = auth_limit_take(&a->limit, t->kinds[i], t->names[i], now);
        if (wait) {
            tries_give(a, t, i, now);
            return wait;
        }
    }
    return 0;
}

int auth_try(const struct auth_ask *ask, const struct meta_user *user, const char *email,
             const char *password, int64_t *wait)
{
    struct auth *a = ask->auth;
    struct tries t;
    int64_t now = clock_mono();
    tries_of(ask, user, email, &t);
    *wait = tries_take(a, &t, now);
    if (*wait)
        return err_set(ask->e, GPUFL_E_TIMEOUT, "too many wrong passwords: try again in %lld s",
                       (long long)*wait / 1000000000 + 1);
    bool right = auth_password_verify(&a->password, user ? user->password : NULL, password);
    if (!right || !user || user->disabled) {
        auth_note_user(ask, user ? user->id : "", "", "login.failed", email);
        return err_set(ask->e, GPUFL_E_PERM, "the address or the password is wrong");
    }
    tries_give(a, &t, t.count, now);
    return 0;
}

/* The browser of a login becomes known. Without the user's row it stays unknown, which costs the
 * user only the bucket. */
static void device_renew(const struct auth_ask *ask, const char *user, struct auth_entry *out)
{
    struct meta_user row;
    struct region mem;
    struct err e = {0};
    region_init(&mem, 1 << 20);
    const struct meta_ask rows = {ask->auth->meta, NULL, &mem, &e};
    out->device[0] = '\0';
    if (meta_user_get(&rows, user, &row) == 0 && row.password && *row.password)
        auth_device_make(&row, out->device);
    region_fini(&mem);
}

int auth_enter(const struct auth_ask *ask, const char *user, struct auth_entry *out)
{
    struct auth *a = ask->auth;
    char hash[SECRET_HASH], agent[200];
    auth_secret_token(out->token);
    auth_secret_csrf(out->token, out->csrf);
    auth_secret_hash(out->token, hash);
    out->expires = ask->from.now + a->config.login_ns;
    out->wait = 0;
    size_t n = 0; /* the printable characters of the agent, as many as fit */
    for (const char *c = ask->from.agent; *c && n + 1 < sizeof agent; c++)
        agent[n++] = *c >= ' ' && *c < 0x7f ? *c : '?';
    agent[n] = '\0';
    const struct meta_login login = {.hash = hash,
                                     .account = user,
                                     .created = ask->from.now,
                                     .used = ask->from.now,
                                     .expires = out->expires,
                                     .address = ask->from.address,
                                     .agent = agent};
    int rc = meta_login_add(a->meta, &login, ask->e);
    if (rc)
        return rc;
    device_renew(ask, user, out);
    auth_note_user(ask, user, "", "login", "");
    return 0;
}

/* A password whose hash is of an older cost gets a new one, now that it is known. */
static void hash_renew(struct auth *a, const struct meta_user *user, const char *password)
{
    char hash[PASSWORD_HASH];
    struct err e = {0};
    if (!auth_password_is_old(&a->password, user->password))
        return;
    if (auth_password_hash(&a->password, password, hash, &e) ||
        meta_user_rehash(a->meta, user->id, user->password, hash, &e))
        log_warn("a password's hash was not renewed: %s", e.text);
}

int auth_login(const struct auth_ask *ask, const char *email, const char *password,
               struct auth_entry *out)
{
    struct auth *a = ask->auth;
    char address[256];
    struct meta_user user;
    struct region mem;
    *out = (struct auth_entry){0};
    int rc = auth_email(email, address, ask->e);
    if (rc)
        return rc;
    region_init(&mem, 1 << 20);
    const struct meta_ask rows = {a->meta, NULL, &mem, ask->e};
    rc = meta_user_by_email(&rows, address, &user);
    bool known = rc == 0;
    if (rc == GPUFL_E_NOENT || rc == 0)
        rc = auth_try(ask, known ? &user : NULL, address, password, &out->wait);
    if (rc == 0) {
        hash_renew(a, &user, password);
        rc = auth_enter(ask, user.id, out);
    }
    region_fini(&mem);
    return rc;
}

int auth_logout(struct auth *a, const char *cookie, struct err *e)
{
    char hash[SECRET_HASH];
    if (!cookie || !auth_secret_token_ok(cookie))
        return 0;
    auth_secret_hash(cookie, hash);
    return meta_login_remove(a->meta, hash, e);
}

/* Makes the cookie strict: a link on a foreign page opens the dashboard without the cookie; its own
 * requests have it. */
void auth_cookie_set(const struct auth *a, const struct auth_entry *entry, int64_t now,
                     char out[AUTH_COOKIE])
{
    snprintf(out, AUTH_COOKIE, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
             a->cookie, entry->token, (long long)((entry->expires - now) / 1000000000),
             a->config.secure ? "; Secure" : "");
}

void auth_cookie_device(const struct auth *a, const struct auth_entry *entry, char out[AUTH_COOKIE])
{
    snprintf(out, AUTH_COOKIE, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s", a->device,
             entry->device, 365 * 86400, a->config.secure ? "; Secure" : "");
}

void auth_cookie_clear(const struct auth *a, char out[AUTH_COOKIE])
{
    snprintf(out, AUTH_COOKIE, "%s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0%s", a->cookie,
             a->config.secure ? "; Secure" : "");
}

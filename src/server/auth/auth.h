/* auth.h - identifies the caller of a request, and makes logins, keys, links and tickets.
 *
 * The functions know no HTTP: they take the values of headers and return values for headers. The
 * caller turns codes into statuses:
 *   PERM     401: no login, or a secret that is wrong, expired or revoked; one sentence for all
 *   STATE    403: not with these rights, or without the page's own token (CSRF)
 *   NOENT    404: not in this workspace, and nobody learns whether elsewhere
 *   TIMEOUT  429: too many tries, with the wait; without a wait the tables are slow: 503
 *   INVAL    400: a value that is not accepted
 *   others   503: the small tables do not answer
 *
 * Changes of people, keys and links are written to the audit log here, so that no handler can
 * forget it. Called by any thread; functions with passwords take a tenth of a second. */
#ifndef GPUFL_SERVER_AUTH_AUTH_H
#define GPUFL_SERVER_AUTH_AUTH_H

#include "meta/meta.h"
#include "server/auth/limit.h"
#include "server/auth/password.h"
#include "server/auth/rights.h"
#include "server/auth/secret.h"

#define AUTH_COOKIE_NAME "gpufl_login"

#define AUTH_DEVICE_NAME "gpufl_device"

enum { AUTH_DEVICE = 67 }; /* bytes of a device's token with its NUL: an id, a dot, a signature */

enum { AUTH_COOKIE = 256 }; /* bytes of a Set-Cookie value */

struct auth_config {
    bool secure;      /* browsers use TLS, to this server or to a proxy */
    unsigned port;    /* 0, or part of the cookie's name, for several servers on one host */
    int64_t login_ns; /* how long a login lasts; 0: 30 days */
    int64_t idle_ns;  /* how long a login lasts without use; 0: 7 days */
    unsigned long long password_passes; /* cost, for tests; 0: the standard */
    size_t password_memory;
};

struct auth {
    struct meta *meta; /* the caller's; outlives this */
    struct auth_config config;
    struct auth_limit limit;
    struct auth_password password;
    char cookie[40]; /* name of the login's cookie */
    char device[40]; /* name of the cookie that recognises a browser */
};

int auth_init(struct auth *a, struct meta *meta, const struct auth_config *c, struct err *e);
void auth_fini(struct auth *a);

/* ---- the caller of a request ---------------------------------------------------------------- */

/* Holds the values of a request that identify its caller; NULL: absent. */
struct auth_said {
    const char *authorization; /* the header */
    const char *cookie;        /* value of the cookie a->cookie */
    const char *csrf;          /* the header X-CSRF-Token */
    const char *workspace;     /* the requested one; NULL: the caller's only or first one */
    bool writes;               /* the method is another than GET, HEAD, OPTIONS */
    int64_t now;               /* ns since the Unix epoch */
};

/* Describes the caller; texts are in the request's region. */
struct auth_who {
    const char *kind;      /* user, key, share; "": anonymous */
    const char *actor;     /* id of the user, key or link */
    const char *name;      /* for people to read: the e-mail address, or the key's name */
    const char *workspace; /* "": in none */
    const char *role;      /* of a user in that workspace; "": none */
    const char *session;   /* of a link: the only session; NULL: all */
    int64_t scopes;        /* of a key */
    bool admin;            /* of the server */
};

int auth_who(struct auth *a, const struct auth_said *said, struct region *mem, struct auth_who *out,
             struct err *e);

/* Returns 0 if the caller has the right. session: the session that the route is about; NULL:
 * none. */
int auth_may(const struct auth_who *w, enum rights right, const char *session, struct err *e);

/* ---- logging in ----------------------------------------------------------------------------- */

struct auth_from {
    const char *address, *agent; /* address and user agent of the request; never NULL */
    int64_t now;                 /* ns since the Unix epoch */
    const char *device;          /* value of the cookie a->device; NULL: none */
};

/* Says who does something, and from where: the first argument of all functions that change logins,
 * keys or people. */
struct auth_ask {
    struct auth *auth;
    const struct auth_who *by; /* NULL: the secret identifies the caller */
    struct auth_from from;
    struct err *e;
};

struct auth_person {
    const char *email, *name, *password;
};

struct auth_entry {
    char token[SECRET_TOKEN]; /* only for the cookie */
    char csrf[SECRET_TOKEN];
    char device[AUTH_DEVICE]; /* for the browser's other cookie; "" : none */
    int64_t expires;
    int64_t wait; /* after GPUFL_E_TIMEOUT: ns until the next try */
};

int auth_login(const struct auth_ask *ask, const char *email, const char *password,
               struct auth_entry *out);
/* Ends a login; there is no error if there is no login. */
int auth_logout(struct auth *a, const char *cookie, struct err *e);

/* The functions make the value of a Set-Cookie header. */
void auth_cookie_set(const struct auth *a, const struct auth_entry *entry, int64_t now,
                     char out[AUTH_COOKIE]);
void auth_cookie_device(const struct auth *a, const struct auth_entry *entry,
                        char out[AUTH_COOKIE]);
void auth_cookie_clear(const struct auth *a, char out[AUTH_COOKIE]);

/* ---- links that work once (tickets.c) ------------------------------------------------------- */

/* Makes the ticket for the first admin if there is no user (*needed). It lasts a day. */
int auth_setup_ticket(struct auth *a, int64_t now, char token[SECRET_TOKEN], bool *needed,
                      struct err *e);
struct auth_setup {
    struct auth_person admin;
    const char *workspace; /* its name */
};

int auth_setup(const struct auth_ask *ask, const char *token, const struct auth_setup *first,
               struct auth_entry *out);

/* Makes, for local mode, the user and the workspace "local" if they are missing, and a ticket for
 * the URL that the browser opens. It lasts 10 minutes. */
int auth_local_ticket(struct auth *a, int64_t now, char token[SECRET_TOKEN], struct err *e);
int auth_local(const struct auth_ask *ask, const char *token, struct auth_entry *out);

/* Makes an invitation to a workspace with a role, which lasts 7 days. Its user enters the password
 * of an account, or makes an account. */
int auth_invite(const struct auth_ask *ask, const char *role, char token[SECRET_TOKEN]);
int auth_accept(const struct auth_ask *ask, const char *token, const struct auth_person *person,
                struct auth_entry *out);

/* Makes a link for a user who forgot the password, which an admin passes on. It lasts a day. Ends
 * all logins of the user. */
int auth_reset_ticket(const struct auth_ask *ask, const char *user, char token[SECRET_TOKEN]);
int auth_reset(const struct auth_ask *ask, const char *token, const char *password,
               struct auth_entry *out);

/* ---- keys, links, passwords (keys.c) -------------------------------------------------------- */

/* The functions make a key or link in ask->by's workspace. The key, and the link's token, are
 * returned only here. */
int auth_key_make(const struct auth_ask *ask, const char *name, int64_t scopes, int64_t expires,
                  char key[SECRET_KEY], char id[SECRET_ID]);
int auth_key_revoke(const struct auth_ask *ask, const char *id);
int auth_share_make(const struct auth_ask *ask, const char *session, int64_t expires,
                    char token[SECRET_KEY], char id[SECRET_ID]);
int auth_share_revoke(const struct auth_ask *ask, const char *id);

/* Changes the user's own password; the old one is required. The user's other logins end; the one
 * with this cookie stays. */
int auth_password_change(const struct auth_ask *ask, const char *cookie, const char *old,
                         const char *password, int64_t *wait);

/* ---- recognised browsers (device.c) --------------------------------------------------------- */

/* Makes the token of a browser in which the user has just logged in. Its signature depends on the
 * hash of the password, so that a new password ends all tokens, and servers that share the small
 * tables accept each other's tokens. */
void auth_device_make(const struct meta_user *user, char out[AUTH_DEVICE]);

/* Returns true if the token was made for this user; id gets the browser's name for limits. */
bool auth_device_known(const struct meta_user *user, const char *token, char id[SECRET_ID]);

/* ---- for the files of auth ------------------------------------------------------------------ */

/* Makes a login for a user whose identity has been proved in any way. */
int auth_enter(const struct auth_ask *ask, const char *user, struct auth_entry *out);

/* Checks a password, within the limits of tries: 0, GPUFL_E_PERM, or GPUFL_E_TIMEOUT and the
 * wait. */
int auth_try(const struct auth_ask *ask, const struct meta_user *user, const char *email,
             const char *password, int64_t *wait);

/* Normalizes an e-mail address: lower case, no blanks around it. GPUFL_E_INVAL: not an address. */
int auth_email(const char *said, char out[256], struct err *e);

/* Writes an entry into a workspace's audit log ("": the server's): ask->by, or the user, did
 * this. */
void auth_note(const struct auth_ask *ask, const char *workspace, const char *action,
               const char *target);
void auth_note_user(const struct auth_ask *ask, const char *user, const char *workspace,
                    const char *action, const char *target);

#endif

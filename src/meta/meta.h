/* meta.h - the small tables: who may do what, which sessions there are, what was
 * found in them, what the fleet does, and what has been done.
 *
 * One set of statements (sql.def) runs on two engines: SQLite for one server,
 * PostgreSQL for several side by side. Nobody but the two folders knows which; both
 * pass one conformance suite (tests/store).
 *
 * Tenants: what belongs to a workspace is reached only by functions whose second
 * argument is that workspace, and every statement behind them is bound to it; a
 * test walks the statements. The few functions that look across workspaces stand
 * in a section of their own. They find out whose a secret is, or serve the server
 * itself, and no handler passes a client's words to them.
 *
 * Rows are the structs of schema/meta.def. What is read lies in the caller's
 * region; NULL texts that are written count as "". Times are ns since the Unix
 * epoch and come from the caller. Of keys, cookies and links only hashes get here.
 *
 * Every function is one transaction, durable when it returns. Any thread; calls
 * run side by side, writers of SQLite one after the other. A connection that broke
 * is made again; a transaction that lost against another one is tried again.
 *
 * 0, or: NOENT no such row (or not in this workspace: nobody can tell which);
 * STATE it is there already, or the state does not allow it; INVAL a text that is
 * too long, not UTF-8, or an id or name that is none; TIMEOUT others were in the
 * way for too long; IO the database cannot be reached or failed; FULL the region or
 * the disk has no room. Where e is given, with a sentence. */
#ifndef GPUFL_META_META_H
#define GPUFL_META_META_H

#include "base/buf.h"
#include "base/err.h"
#include "base/region.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define META_NONE INT64_MIN /* an INT that is unknown */

enum {
    META_ID_MAX = 64,         /* bytes of an id with its NUL */
    META_TEXT_MAX = 16384,    /* bytes of a text of a row */
    META_JSON_MAX = 1 << 20,  /* bytes of a JSON text, and of a delivery's body */
    META_BODY_MAX = 64 << 20, /* bytes of a document */
    META_PAGE_MAX = 1000,     /* rows of a page; more are cut to it, 0 is 50 */
    META_LABELS_MAX = 64,     /* labels of a session */
    META_GPUS_MAX = 256,      /* GPUs of a session */
    META_FINDINGS_MAX = 2048, /* findings of a session */
    META_WORDS_MAX = 4,       /* words of a search; more are left out */
};

/* ---- rows -------------------------------------------------------------------------------- */

struct meta_bytes {
    const void *data;
    size_t len;
};

/* clang-format off */
#define META_C_TEXT   const char *
#define META_C_JSON   const char *
#define META_C_SECRET const char *
#define META_C_INT    int64_t
#define META_C_BOOL   int64_t
#define META_C_TIME   int64_t
#define META_C_REAL   double
#define META_C_BYTES  struct meta_bytes

#define ROW(name, of, doc)           struct meta_##name {
#define FIELD(row, field, type, doc) META_C_##type field;
#define ROW_END(name)                };
#include "schema/meta.def"
/* clang-format on */

enum meta_type {
    META_TEXT,
    META_JSON,
    META_SECRET,
    META_INT,
    META_BOOL,
    META_TIME,
    META_REAL,
    META_BYTES,
};

struct meta_field {
    const char *name;
    enum meta_type type;
    size_t offset; /* in the row's struct */
    const char *doc;
};

struct meta_row {
    const char *name;
    bool tenant;
    const char *doc;
    const struct meta_field *fields;
    unsigned field_count;
    size_t size; /* of the struct */
};

enum meta_row_id {
#define ROW(name, of, doc) META_ROW_##name,
#include "schema/meta.def"
    META_ROW_COUNT
};

extern const struct meta_row meta_rows[META_ROW_COUNT];

/* Appends a row as a JSON object: times as strings (ns do not fit a JavaScript number), null for
 * what is unknown and for times and JSON that are none; secrets and bodies left out. [any] */
void meta_json(struct buf *out, enum meta_row_id row, const void *from);

/* ---- the store --------------------------------------------------------------------------- */

struct meta;

struct meta_config {
    const char *path;     /* SQLite: the file, created; ":memory:" is refused */
    const char *url;      /* PostgreSQL: postgres://…, as libpq reads it; else NULL */
    bool migrate;         /* brings an older schema up to date; else it is refused */
    bool relaxed;         /* a crash may lose the newest changes: for what can be made again */
    unsigned connections; /* at once; 0: default (SQLite: 4 readers and a writer; PostgreSQL 8) */
};

/* STATE: the schema is newer than this program, or older and migrate was not said. NOT_BUILT: no
 * such engine in this build. */
int meta_open(struct meta **out, const struct meta_config *c, struct err *e);
void meta_close(struct meta *m); /* after every other call has returned; NULL: nothing */

const char *meta_engine(const struct meta *m); /* "sqlite", "postgres" */
bool meta_has_postgres(void);                  /* in this build */
int meta_version(void);                        /* of the schema that this program writes */

int meta_ping(struct meta *m, struct err *e);  /* for /readyz: a connection, and an answer */
int meta_check(struct meta *m, struct err *e); /* CORRUPT: what is wrong, thoroughly */

/* A copy to path, made while others go on. UNAVAILABLE with PostgreSQL: it has pg_dump. */
int meta_backup(struct meta *m, const char *path, struct err *e);

/* Where a list goes on. after is NULL or what the page before left in next. */
struct meta_page {
    unsigned limit;
    const char *after;
    const char *next; /* out: in the region; NULL: that was the last one */
};

/* ---- workspaces, users, members ------------------------------------------------------------ */

int meta_workspace_add(struct meta *m, const struct meta_workspace *w, struct err *e);
int meta_workspace_get(struct meta *m, const char *workspace, struct region *mem,
                       struct meta_workspace *out, struct err *e);
int meta_workspace_rename(struct meta *m, const char *workspace, const char *name, struct err *e);

/* Everything of it but its audit log; its sessions are left as dropped (see below). */
int meta_workspace_remove(struct meta *m, const char *workspace, int64_t now, struct err *e);
int meta_workspace_list(struct meta *m, struct region *mem, struct meta_workspace **rows,
                        size_t *count, struct err *e); /* by name */

int meta_user_add(struct meta *m, const struct meta_user *u, struct err *e);
int meta_user_get(struct meta *m, const char *user, struct region *mem, struct meta_user *out,
                  struct err *e);
int meta_user_by_email(struct meta *m, const char *email, struct region *mem, struct meta_user *out,
                       struct err *e);
int meta_user_list(struct meta *m, struct region *mem, struct meta_user **rows, size_t *count,
                   struct err *e); /* by email */

/* Name, admin and disabled. STATE: it is the last admin that can log in. Whoever is disabled is
 * logged out. */
int meta_user_change(struct meta *m, const struct meta_user *u, struct err *e);

/* Ends the user's logins as well, but for the one with the hash `but` (NULL: all of them). */
int meta_user_password(struct meta *m, const char *user, const char *password, const char *but,
                       struct err *e);

/* The same password with another hash, if `old` is the one that is there. */
int meta_user_rehash(struct meta *m, const char *user, const char *old, const char *hash,
                     struct err *e);
int meta_user_memberships(struct meta *m, const char *user, struct region *mem,
                          struct meta_membership **rows, size_t *count, struct err *e);
int meta_user_count(struct meta *m, int64_t *count, struct err *e);

/* The first user, who is admin, and owner of the first workspace. STATE: there is a user already,
 * however many ask at once. */
int meta_first_user(struct meta *m, const struct meta_user *u, const struct meta_workspace *w,
                    struct err *e);

int meta_member_list(struct meta *m, const char *workspace, struct region *mem,
                     struct meta_member **rows, size_t *count, struct err *e); /* by email */
int meta_member_get(struct meta *m, const char *workspace, const char *user, struct region *mem,
                    struct meta_member *out, struct err *e);

/* Adds a user, or gives another role. STATE: a workspace keeps an owner. */
int meta_member_put(struct meta *m, const char *workspace, const char *user, const char *role,
                    int64_t now, struct err *e);
int meta_member_remove(struct meta *m, const char *workspace, const char *user, struct err *e);

/* ---- secrets, by their hashes -------------------------------------------------------------- */

int meta_login_add(struct meta *m, const struct meta_login *l, struct err *e);

/* The login and its user, if it has not expired at now, was last used less than idle ns ago, and
 * the user is not disabled; its last use becomes now, unless that is less than a minute later. */
int meta_login_use(struct meta *m, const char *hash, int64_t now, int64_t idle, struct region *mem,
                   struct meta_login *login, struct meta_user *user, struct err *e);
int meta_login_remove(struct meta *m, const char *hash, struct err *e);

int meta_key_add(struct meta *m, const char *workspace, const struct meta_key *k, struct err *e);
int meta_key_list(struct meta *m, const char *workspace, struct region *mem, struct meta_key **rows,
                  size_t *count, struct err *e); /* newest first */
int meta_key_revoke(struct meta *m, const char *workspace, const char *key, int64_t now,
                    struct err *e);

int meta_share_add(struct meta *m, const char *workspace, const struct meta_share *s,
                   struct err *e); /* NOENT: no such session */
int meta_share_list(struct meta *m, const char *workspace, const char *session, /* NULL: all */
                    struct region *mem, struct meta_share **rows, size_t *count, struct err *e);
int meta_share_revoke(struct meta *m, const char *workspace, const char *share, int64_t now,
                      struct err *e);

int meta_ticket_add(struct meta *m, const struct meta_ticket *t, struct err *e);

/* Looks, or takes: a ticket is taken once, however many try. NOENT: unknown, expired or taken. */
int meta_ticket_get(struct meta *m, const char *hash, int64_t now, struct region *mem,
                    struct meta_ticket *out, struct err *e);
int meta_ticket_take(struct meta *m, const char *hash, int64_t now, struct region *mem,
                     struct meta_ticket *out, struct err *e);

/* Takes an invitation and makes u a member of its workspace with its role; adds u where there is no
 * user with that id. NOENT: the ticket, as above. STATE: a member already, and the ticket stays. */
int meta_accept(struct meta *m, const char *hash, int64_t now, const struct meta_user *u,
                struct err *e);

/* Which workspace a key or link opens. NOENT: unknown, expired or revoked. meta_key_use keeps the
 * last use as meta_login_use does. */
int meta_key_use(struct meta *m, const char *hash, int64_t now, struct region *mem,
                 const char **workspace, struct meta_key *out, struct err *e);
int meta_share_use(struct meta *m, const char *hash, int64_t now, struct region *mem,
                   const char **workspace, struct meta_share *out, struct err *e);

/* Forgets logins, tickets and links that expired before. */
int meta_expire(struct meta *m, int64_t before, struct err *e);

/* ---- the registry of sessions ------------------------------------------------------------- */

struct meta_pair {
    const char *key, *value; /* a label; or a GPU: UUID and product name */
};

/* What a session's header says; what it grows to is told by meta_session_grow. gpus, labels and
 * what is counted in *s are not read. Again for a session that is there already: fills in what is
 * new, and it is live again. STATE: that id is another session's (of another host or process), or
 * the session was deleted. */
int meta_session_put(struct meta *m, const char *workspace, const struct meta_session *s,
                     const struct meta_pair *gpus, unsigned gpu_count,
                     const struct meta_pair *labels, unsigned label_count, struct err *e);

/* Sets a label of a session, or (value NULL) takes it away. NOENT: no such session, or no such label
 * to take away. STATE: it has META_LABELS_MAX others. INVAL: an empty name. */
int meta_session_label(struct meta *m, const char *workspace, const char *session, const char *name,
                       const char *value, struct err *e);

/* Totals so far; never smaller than they were, so that a replay does no harm. kernels META_NONE and
 * busy NAN: as they were, at first unknown. received 0: they are what the analysis says. */
int meta_session_grow(struct meta *m, const char *workspace, const char *session, int64_t records,
                      int64_t kernels, int64_t bytes, double busy, int64_t received, struct err *e);

/* "ended" or "aborted", and when (0: unknown). An end that was recorded stays. */
int meta_session_end(struct meta *m, const char *workspace, const char *session, const char *state,
                     int64_t ended, struct err *e);
int meta_session_get(struct meta *m, const char *workspace, const char *session, struct region *mem,
                     struct meta_session *out, struct err *e);

/* How lists of sessions are sorted: X(key, column or expression, type). Ties by id. */
#define META_SESSION_SORTS(X)                                                                      \
    X(started, "started", INT)                                                                     \
    X(duration, "(CASE WHEN ended > 0 THEN ended ELSE received END - started)", INT)               \
    X(kernels, "COALESCE(kernels, -1)", INT)                                                       \
    X(records, "records", INT)                                                                     \
    X(bytes, "bytes", INT)                                                                         \
    X(busy, "COALESCE(busy, -1)", REAL)                                                            \
    X(app, "app", TEXT)                                                                            \
    X(host, "host", TEXT)

enum meta_session_sort {
#define X(key, expression, type) META_SORT_##key,
    META_SESSION_SORTS(X)
#undef X
        META_SORT_COUNT
};

struct meta_session_query {
    const char *app, *host, *engine, *state, *account; /* equal; NULL: all */
    const char *gpu;                                   /* UUID, or product name; NULL: all */
    const char *label, *label_value; /* a label's key, and its value (NULL: any); NULL: all */
    const char *text;                /* words that id, app, host, user, GPUs or labels contain,
                                           A to Z as a to z; NULL: all */
    int64_t from, to;                /* from <= started < to; 0: open */
    enum meta_session_sort sort;
    bool ascending;
};

int meta_session_list(struct meta *m, const char *workspace, const struct meta_session_query *q,
                      struct meta_page *page, struct region *mem, struct meta_session **rows,
                      size_t *count, struct err *e);
int meta_session_count(struct meta *m, const char *workspace, const struct meta_session_query *q,
                       int64_t *count, struct err *e);

/* What there is to choose among: values that sessions have, most sessions first. */
enum meta_by { META_BY_APP, META_BY_HOST, META_BY_GPU, META_BY_ENGINE, META_BY_COUNT };

int meta_session_names(struct meta *m, const char *workspace, enum meta_by by, unsigned limit,
                       struct region *mem, struct meta_name_count **rows, size_t *count,
                       struct err *e);

/* Live sessions of which nothing came since: to be ended as aborted. */
int meta_session_silent(struct meta *m, const char *workspace, int64_t since, struct region *mem,
                        struct meta_session **rows, size_t *count, struct err *e);

/* Sessions that end (or were last heard of) before, oldest first; and what all take. For
 * retention. */
int meta_session_oldest(struct meta *m, const char *workspace, int64_t before, unsigned limit,
                        struct region *mem, struct meta_session **rows, size_t *count,
                        struct err *e);
int meta_session_bytes(struct meta *m, const char *workspace, int64_t *bytes, struct err *e);

/* Deletes a session with its findings, documents and links, and keeps its id as dropped: who frees
 * the columns looks there, and data that comes late does not bring it back (STATE). */
int meta_session_drop(struct meta *m, const char *workspace, const char *session, int64_t now,
                      struct err *e);
int meta_session_is_dropped(struct meta *m, const char *workspace, const char *session,
                            bool *dropped, struct err *e);

/* ---- browser uploads ------------------------------------------------------------------------ */

int meta_upload_add(struct meta *m, const char *workspace, const struct meta_upload *u,
                    struct err *e);
int meta_upload_get(struct meta *m, const char *workspace, const char *upload, struct region *mem,
                    struct meta_upload *out, struct err *e);
int meta_upload_list(struct meta *m, const char *workspace, struct region *mem,
                     struct meta_upload **rows, size_t *count, struct err *e); /* newest first */

/* from -> to bytes received, for one of those who try at once. STATE: it does not stand at from. */
int meta_upload_advance(struct meta *m, const char *workspace, const char *upload, int64_t from,
                        int64_t to, const char *session, int64_t now, struct err *e);
int meta_upload_remove(struct meta *m, const char *workspace, const char *upload, struct err *e);

/* ---- analysis ------------------------------------------------------------------------------- */

/* Replaces the session's document of that kind and, unless findings is NULL, its findings. NOENT:
 * no such session. */
int meta_analysis_put(struct meta *m, const char *workspace, const struct meta_analysis *a,
                      const struct meta_finding *findings, size_t count, struct err *e);
int meta_analysis_get(struct meta *m, const char *workspace, const char *session, const char *kind,
                      struct region *mem, struct meta_analysis *out, struct err *e);
int meta_analysis_head(struct meta *m, const char *workspace, const char *session, const char *kind,
                       struct region *mem, struct meta_analysis_head *out, struct err *e);

/* Ended sessions without a final document of that kind by those rules, oldest first. */
int meta_analysis_missing(struct meta *m, const char *workspace, const char *kind,
                          const char *rules, unsigned limit, struct region *mem,
                          struct meta_session **rows, size_t *count, struct err *e);

int meta_finding_list(struct meta *m, const char *workspace, const char *session,
                      struct region *mem, struct meta_finding **rows, size_t *count,
                      struct err *e); /* by number */

struct meta_finding_query {
    const char *rule, *app, *host, *file; /* equal; NULL: all */
    const char *kernel;                   /* part of the mangled name; NULL: all */
    int64_t severity;                     /* at least */
    int64_t from, to;                     /* from <= start of the session < to; 0: open */
};

/* Across the workspace's sessions: HIGH before MEDIUM before LOW, and of each those that give back most
 * first. */
int meta_finding_search(struct meta *m, const char *workspace, const struct meta_finding_query *q,
                        struct meta_page *page, struct region *mem, struct meta_found **rows,
                        size_t *count, struct err *e);

/* ---- fleet --------------------------------------------------------------------------------- */

/* The newest state of a host or GPU; one that is older than what is there changes nothing.
 * Texts, numbers and state that are none leave what was known. */
int meta_host_put(struct meta *m, const char *workspace, const struct meta_host *h, struct err *e);
int meta_gpu_put(struct meta *m, const char *workspace, const struct meta_gpu *g, struct err *e);

/* Many at once, in one transaction: what a server hears within a moment. */
int meta_fleet_put(struct meta *m, const char *workspace, const struct meta_host *hosts,
                   size_t host_count, const struct meta_gpu *gpus, size_t gpu_count, struct err *e);
int meta_host_list(struct meta *m, const char *workspace, struct meta_page *page,
                   struct region *mem, struct meta_host_now **rows, size_t *count,
                   struct err *e); /* by name */
int meta_host_get(struct meta *m, const char *workspace, const char *host, struct region *mem,
                  struct meta_host_now *out, struct err *e);
int meta_host_remove(struct meta *m, const char *workspace, const char *host,
                     struct err *e);                                       /* with its GPUs */
int meta_gpu_list(struct meta *m, const char *workspace, const char *host, /* NULL: all */
                  struct meta_page *page, struct region *mem, struct meta_gpu_now **rows,
                  size_t *count, struct err *e); /* by host and number */
int meta_gpu_get(struct meta *m, const char *workspace, const char *gpu, struct region *mem,
                 struct meta_gpu_now *out, struct err *e);

/* What runs where now: a row for each live session and GPU of it; by host and start. NULL: all. */
int meta_running_list(struct meta *m, const char *workspace, const char *host, const char *app,
                      const char *gpu, struct region *mem, struct meta_running **rows,
                      size_t *count, struct err *e);

/* Forgets hosts and GPUs that were not seen since, and what was used on days before that. */
int meta_fleet_forget(struct meta *m, const char *workspace, int64_t before, struct err *e);

/* Replaces what a session contributes to the days. */
int meta_usage_put(struct meta *m, const char *workspace, const char *session,
                   const struct meta_usage *rows, size_t count, struct err *e);

/* Sums of the days from <= day < to by host, application or GPU (not engine): of each day, by name
 * and day; and of all of them together, those that held GPUs longest first. */
int meta_usage_days(struct meta *m, const char *workspace, enum meta_by by, int64_t from,
                    int64_t to, struct meta_page *page, struct region *mem,
                    struct meta_usage_sum **rows, size_t *count, struct err *e);
int meta_fleet_sums(struct meta *m, const char *workspace, enum meta_by by, int64_t from,
                    int64_t to, struct meta_page *page, struct region *mem,
                    struct meta_fleet_sum **rows, size_t *count, struct err *e);

/* ---- alerts --------------------------------------------------------------------------------- */

int meta_alert_put(struct meta *m, const char *workspace, const struct meta_alert *a,
                   struct err *e); /* adds or replaces; creator and created stay */
int meta_alert_get(struct meta *m, const char *workspace, const char *alert, struct region *mem,
                   struct meta_alert *out, struct err *e);
int meta_alert_list(struct meta *m, const char *workspace, struct region *mem,
                    struct meta_alert **rows, size_t *count, struct err *e); /* by name */

/* What it opened ends now; what waits to be delivered for it is given up. */
int meta_alert_remove(struct meta *m, const char *workspace, const char *alert, int64_t now,
                      struct err *e);

/* Opens a firing, or changes the one that is open for that rule and subject: fired, ended, value
 * and text; *out is what is there then. id and started are those of the first call. One that ends
 * without having fired is forgotten. tell: a delivery that is to be made of it, put in with it; one
 * whose id is there already is not put in again. NULL: none. */
int meta_firing_put(struct meta *m, const char *workspace, const struct meta_firing *f,
                    const struct meta_delivery *tell, struct region *mem, struct meta_firing *out,
                    struct err *e);
int meta_firing_open(struct meta *m, const char *workspace, const char *alert, /* NULL: all */
                     struct region *mem, struct meta_firing **rows, size_t *count, struct err *e);
int meta_firing_now(struct meta *m, const char *workspace, struct region *mem,
                    struct meta_firing_now **rows, size_t *count,
                    struct err *e); /* those that are open, newest first */
int meta_firing_list(struct meta *m, const char *workspace, struct meta_page *page,
                     struct region *mem, struct meta_firing_now **rows, size_t *count,
                     struct err *e); /* those that fired, newest first */

/* Findings whose part of the run is above, of sessions that are live or were heard of since; of
 * each session the worst first. NULL: every rule, application, host. */
int meta_finding_above(struct meta *m, const char *workspace, const char *rule, const char *app,
                       const char *host, double share, int64_t since, struct region *mem,
                       struct meta_found **rows, size_t *count, struct err *e);

int meta_delivery_add(struct meta *m, const char *workspace, const struct meta_delivery *d,
                      struct err *e);

/* How an attempt went: "sent", "failed", or "waiting" until next. */
int meta_delivery_done(struct meta *m, const char *workspace, const char *delivery,
                       const char *state, int64_t next, int64_t status, const char *error,
                       int64_t now, struct err *e);
int meta_delivery_list(struct meta *m, const char *workspace, struct meta_page *page,
                       struct region *mem, struct meta_delivery **rows, size_t *count,
                       struct err *e); /* newest first */

/* ---- operations ------------------------------------------------------------------------------ */

struct meta_turn_times {
    int64_t now, until, ask; /* ns since the Unix epoch */
};

/* The audit log: only ever appended to. workspace "" is the server's own log. */
int meta_audit_add(struct meta *m, const char *workspace, const struct meta_audit *a,
                   struct err *e);
int meta_audit_list(struct meta *m, const char *workspace, struct meta_page *page,
                    struct region *mem, struct meta_audited **rows, size_t *count,
                    struct err *e); /* newest first */

int meta_retention_get(struct meta *m, const char *workspace, struct meta_retention *out,
                       struct err *e); /* zeros where nothing was set */
int meta_retention_put(struct meta *m, const char *workspace, const struct meta_retention *r,
                       struct err *e);

/* Whose turn it is to write a session (store.h), until a time. *mine: the holder has it now;
 * *seized: it was another's, or its own, and was not given back. Else it is next, if it asks again
 * before `ask`. */
int meta_turn_take(struct meta *m, const char *workspace, const char *session, const char *holder,
                   const struct meta_turn_times *at, bool *mine, bool *seized, struct err *e);
/* *mine: it was still the holder's. */
int meta_turn_keep(struct meta *m, const char *workspace, const char *session, const char *holder,
                   int64_t until, bool *mine, struct err *e);
int meta_turn_give(struct meta *m, const char *workspace, const char *session, const char *holder,
                   int64_t now, bool *mine, struct err *e);
/* Forgets turns that nobody gave back, and that were over before. */
int meta_turn_expire(struct meta *m, int64_t before, struct err *e);

int meta_setting_get(struct meta *m, const char *name, struct region *mem, struct meta_setting *out,
                     struct err *e);
int meta_setting_put(struct meta *m, const struct meta_setting *s, struct err *e);
int meta_setting_list(struct meta *m, struct region *mem, struct meta_setting **rows, size_t *count,
                      struct err *e); /* by name */

/* ---- across workspaces: for the server itself, never for a client's words -------------------- */

/* One of several servers does a thing: true for the holder, until `until`, or longer if it asks
 * again. */
int meta_lease(struct meta *m, const char *name, const char *holder, int64_t now, int64_t until,
               bool *mine, struct err *e);

/* Sessions whose columns are to be freed, oldest first; and that they have been. Their ids stay
 * known as dropped. */
int meta_dropped_list(struct meta *m, unsigned limit, struct region *mem,
                      struct meta_dropped **rows, size_t *count, struct err *e);
int meta_dropped_freed(struct meta *m, const char *workspace, const char *session, struct err *e);

/* Forgets firings that ended, and deliveries that were made or given up, before. */
int meta_alerts_expire(struct meta *m, int64_t before, struct err *e);

/* Takes deliveries whose time has come, those first that were tried least; they come again at
 * `again`, if nobody says how it went. */
int meta_delivery_due(struct meta *m, int64_t now, int64_t again, unsigned limit,
                      struct region *mem, struct meta_due **rows, size_t *count, struct err *e);

#endif

/* meta.h - keeps the small tables: users and rights, the registry of sessions, findings, the fleet,
 * and the audit log.
 *
 * One set of statements (sql.def) runs on two engines: SQLite for one server, PostgreSQL
 * for several concurrent ones. Only the files of the engines differ; both engines pass one
 * conformance suite (tests/store).
 *
 * Tenants: rows of a workspace are reached only by functions that get the workspace, in their ask
 * or as their second argument, and each of their statements is bound to it; a test checks all
 * statements. The few functions that look across workspaces have a section of their own. They find
 * the owner of a secret, or do work of the server itself, and no request handler passes input of a
 * client to them.
 *
 * Rows are the structs of schema/meta.def. Rows that are read lie in the caller's region; a NULL
 * text is written as "". Times are ns since the Unix epoch and come from the caller. Of keys,
 * cookies and links, only hashes are stored.
 *
 * Every function is one transaction, durable when it returns. Called by any thread; calls run
 * concurrently, except that SQLite has one writer at a time. A broken connection is replaced; a
 * transaction that fails because of another one is tried again.
 *
 * Functions return 0, or: NOENT no such row (or it is in another workspace: the caller cannot know
 * which); STATE the row exists already, or its state does not allow the change; INVAL a text that
 * is too long, not UTF-8, or a malformed id or name; TIMEOUT other transactions took too long; IO
 * the database cannot be reached or failed; FULL the region or the disk has no room. e, unless
 * NULL, gets a sentence. */
#ifndef GPUFL_META_META_H
#define GPUFL_META_META_H

#include "base/buf.h"
#include "base/err.h"
#include "base/region.h"
#include "meta/session_lists.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define META_NONE INT64_MIN /* an INT that is unknown */

enum {
    META_ID_MAX = 64,         /* bytes of an id with its NUL */
    META_TEXT_MAX = 16384,    /* bytes of a text of a row */
    META_JSON_MAX = 1 << 20,  /* bytes of a JSON text, and of a delivery's body */
    META_BODY_MAX = 64 << 20, /* bytes of a document */
    META_PAGE_MAX = 1000,     /* rows of a page; larger limits are reduced to it, 0 is 50 */
    META_LABELS_MAX = 64,     /* labels of a session */
    META_GPUS_MAX = 256,      /* GPUs of a session */
    META_FINDINGS_MAX = 2048, /* findings of a session */
    META_WORDS_MAX = 4,       /* words of a search; further words are ignored */
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

/* Appends a row as a JSON object. Times are strings (ns do not fit a JavaScript number); unknown
 * values, absent times and empty JSON are null; secrets and bodies are left out. [any] */
void meta_json(struct buf *out, enum meta_row_id row, const void *from);

/* ---- the store --------------------------------------------------------------------------- */

struct meta;

struct meta_config {
    const char *path;     /* SQLite: the file, created; ":memory:" is refused */
    const char *url;      /* PostgreSQL: postgres://…, as libpq reads it; else NULL */
    bool migrate;         /* migrates an older schema; false: it is refused */
    bool relaxed;         /* a crash may lose the newest changes: for data that can be rebuilt */
    unsigned connections; /* most at a time; 0: SQLite 4 readers and a writer, PostgreSQL 8 */
};

/* Opens the small tables. STATE: the schema is newer than this program, or it is older and
 * `migrate` is false. NOT_BUILT: this build does not contain the engine. */
int meta_open(struct meta **out, const struct meta_config *c, struct err *e);
void meta_close(struct meta *m); /* after every other call has returned; NULL: nothing */

const char *meta_engine(const struct meta *m); /* "sqlite", "postgres" */
bool meta_has_postgres(void);                  /* in this build */
bool meta_one_writer(const struct meta *m);    /* one call writes at a time */
int meta_version(void);                        /* of the schema that this program writes */
int meta_ping(struct meta *m, struct err *e);  /* for /readyz: connects, and runs a statement */
int meta_check(struct meta *m, struct err *e); /* CORRUPT: the file is damaged; reads all of it */

/* Copies the database to path while other calls go on. UNAVAILABLE: PostgreSQL has pg_dump. */
int meta_backup(struct meta *m, const char *path, struct err *e);

/* Holds the workspace, and where results go: the first argument of functions that read rows. */
struct meta_ask {
    struct meta *m;
    const char *workspace; /* NULL if the rows belong to no workspace */
    struct region *mem;    /* for rows and their texts */
    struct err *e;         /* NULL: no sentence is wanted */
};

/* This is the position at which a list continues. after: NULL, or the `next` of the page before. */
struct meta_page {
    unsigned limit;
    const char *after;
    const char *next; /* out: in the region; NULL: this was the last page */
};

/* ---- workspaces, users, members ------------------------------------------------------------ */

int meta_workspace_add(struct meta *m, const struct meta_workspace *w, struct err *e);
int meta_workspace_get(const struct meta_ask *ask, struct meta_workspace *out); /* for tests */
int meta_workspace_rename(struct meta *m, const char *workspace, const char *name,
                          struct err *e); /* for tests */

/* Removes a workspace except its audit log; its sessions stay known as dropped. */
int meta_workspace_remove(struct meta *m, const char *workspace, int64_t now, struct err *e);
int meta_workspace_list(const struct meta_ask *ask, struct meta_workspace **rows,
                        size_t *count); /* by name */

int meta_user_add(struct meta *m, const struct meta_user *u, struct err *e); /* for tests */
int meta_user_get(const struct meta_ask *ask, const char *user, struct meta_user *out);
int meta_user_by_email(const struct meta_ask *ask, const char *email, struct meta_user *out);
int meta_user_list(const struct meta_ask *ask, struct meta_user **rows,
                   size_t *count); /* by email */

/* Changes name, admin and disabled. STATE: the user is the last admin who can log in. A disabled
 * user is logged out. */
int meta_user_change(struct meta *m, const struct meta_user *u, struct err *e); /* for tests */

/* Ends the user's logins as well, except the one with the hash `but` (NULL: all of them). */
int meta_user_password(struct meta *m, const char *user, const char *password, const char *but,
                       struct err *e);

/* Stores another hash of the same password, if `old` is the stored hash. */
int meta_user_rehash(struct meta *m, const char *user, const char *old, const char *hash,
                     struct err *e);
int meta_user_memberships(const struct meta_ask *ask, const char *user,
                          struct meta_membership **rows, size_t *count);
int meta_user_count(struct meta *m, int64_t *count, struct err *e);

/* Adds the first user, who is an admin and the owner of the first workspace. STATE: there is a user
 * already; of concurrent calls one succeeds. */
int meta_first_user(struct meta *m, const struct meta_user *u, const struct meta_workspace *w,
                    struct err *e);

int meta_member_list(const struct meta_ask *ask, struct meta_member **rows,
                     size_t *count); /* by email */
int meta_member_get(const struct meta_ask *ask, const char *user, struct meta_member *out);

/* Adds a member, or changes its role. STATE: the workspace would have no owner. */
int meta_member_put(struct meta *m, const char *workspace, const char *user, const char *role,
                    int64_t now, struct err *e);
int meta_member_remove(struct meta *m, const char *workspace, const char *user, struct err *e);

/* ---- secrets, by their hashes -------------------------------------------------------------- */

int meta_login_add(struct meta *m, const struct meta_login *l, struct err *e);

/* Gets the login and its user, if it has not expired at now, was last used less than idle ns ago,
 * and the user is not disabled; its last use becomes now, unless less than a minute has passed. */
int meta_login_use(const struct meta_ask *ask, const char *hash, int64_t now, int64_t idle,
                   struct meta_login *login, struct meta_user *user);
int meta_login_remove(struct meta *m, const char *hash, struct err *e);

int meta_key_add(struct meta *m, const char *workspace, const struct meta_key *k, struct err *e);
int meta_key_list(const struct meta_ask *ask, struct meta_key **rows,
                  size_t *count); /* newest first */
int meta_key_revoke(struct meta *m, const char *workspace, const char *key, int64_t now,
                    struct err *e);

int meta_share_add(struct meta *m, const char *workspace, const struct meta_share *s,
                   struct err *e); /* NOENT: no such session */
int meta_share_list(const struct meta_ask *ask, const char *session, struct meta_share **rows,
                    size_t *count);
int meta_share_revoke(struct meta *m, const char *workspace, const char *share, int64_t now,
                      struct err *e);

int meta_bookmark_add(struct meta *m, const char *workspace, const struct meta_bookmark *b,
                      struct err *e); /* NOENT: no such session */
int meta_bookmark_list(const struct meta_ask *ask, const char *session, struct meta_bookmark **rows,
                       size_t *count); /* by start */
int meta_bookmark_note(struct meta *m, const char *workspace, const struct meta_bookmark *b,
                       struct err *e); /* changes the note of a session's bookmark */
int meta_bookmark_remove(struct meta *m, const char *workspace, const char *session, const char *id,
                         struct err *e);

int meta_ticket_add(struct meta *m, const struct meta_ticket *t, struct err *e);

/* Reads or takes a ticket; of concurrent takes one succeeds. NOENT: unknown, expired or taken. */
int meta_ticket_get(const struct meta_ask *ask, const char *hash, int64_t now,
                    struct meta_ticket *out);
int meta_ticket_take(const struct meta_ask *ask, const char *hash, int64_t now,
                     struct meta_ticket *out);

/* Takes an invitation and makes u a member of its workspace with its role; adds u if there is no
 * user with that id. NOENT: see meta_ticket_get. STATE: a member already; the ticket stays. */
int meta_accept(struct meta *m, const char *hash, int64_t now, const struct meta_user *u,
                struct err *e);

/* Finds the workspace that a key or link opens. NOENT: unknown, expired or revoked. meta_key_use
 * writes the last use as meta_login_use does. */
int meta_key_use(const struct meta_ask *ask, const char *hash, int64_t now, const char **workspace,
                 struct meta_key *out);
int meta_share_use(const struct meta_ask *ask, const char *hash, int64_t now,
                   const char **workspace, struct meta_share *out);

/* Forgets logins, tickets and links that expired before that time. */
int meta_expire(struct meta *m, int64_t before, struct err *e);

/* ---- the registry of sessions ------------------------------------------------------------- */

/* Writes the data of a session's header; meta_session_grow writes its totals. The counts, gpus and
 * labels of *s are not read: GPUs and labels come from the lists (NULL: none). A second call for
 * the same session adds what was unknown, and makes the session live again. STATE: the id belongs
 * to another session (of another host or process), or the session was deleted. */
int meta_session_put(struct meta *m, const char *workspace, const struct meta_session *s,
                     const struct meta_session_gpus *gpus, const struct meta_pairs *labels,
                     struct err *e);

/* Sets a label of a session, or (value NULL) takes it away. NOENT: no such session, or no such
 * label to take away. STATE: it has META_LABELS_MAX others. INVAL: an empty name. */
int meta_session_label(struct meta *m, const char *workspace, const char *session, const char *name,
                       const char *value, struct err *e);

/* Holds a session's totals so far. */
struct meta_growth {
    int64_t records;
    int64_t kernels; /* META_NONE: as before, at first unknown */
    int64_t bytes;
    double busy;      /* NAN: as before, at first unknown */
    int64_t received; /* when data came last; 0: the totals come from the analysis */
};

/* Totals never become smaller, so that data may arrive twice. */
int meta_session_grow(struct meta *m, const char *workspace, const char *session,
                      const struct meta_growth *g, struct err *e);

/* Sets the state "ended" or "aborted", and the time of the end (0: unknown). "ended" is final; if
 * the state changes, the session has to be analyzed again. */
int meta_session_end(struct meta *m, const char *workspace, const char *session, const char *state,
                     int64_t ended, struct err *e);
int meta_session_get(const struct meta_ask *ask, const char *session, struct meta_session *out);

/* Lists the orders of lists of sessions: X(key, column or expression, type). Ties by id. */
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
    const char *app, *host, *engine, *state, *account; /* exact values; NULL: all */
    const char *gpu;                                   /* UUID, or product name; NULL: all */
    const char *label, *label_value; /* a label's key, and its value (NULL: any); NULL: all */
    const char *text;                /* words that id, app, host, user, GPUs or labels contain,
                                           A to Z as a to z; NULL: all */
    int64_t from, to;                /* from <= started < to; 0: no limit */
    enum meta_session_sort sort;
    bool ascending;
};

int meta_session_list(const struct meta_ask *ask, const struct meta_session_query *q,
                      struct meta_page *page, struct meta_session **rows, size_t *count);
int meta_session_count(struct meta *m, const char *workspace, const struct meta_session_query *q,
                       int64_t *count, struct err *e);

/* Lists values of sessions, those of most sessions first. DAY is for meta_usage_days only. */
enum meta_by { META_BY_APP, META_BY_HOST, META_BY_GPU, META_BY_ENGINE, META_BY_COUNT, META_BY_DAY };

int meta_session_names(const struct meta_ask *ask, enum meta_by by, unsigned limit,
                       struct meta_name_count **rows, size_t *count);

/* Lists live sessions that sent nothing after that time: the caller ends them as aborted. */
int meta_session_silent(const struct meta_ask *ask, int64_t since, struct meta_session **rows,
                        size_t *count);

/* Lists sessions that ended (or sent last) before that time, oldest first; and the bytes of all
 * sessions. For retention. */
int meta_session_oldest(const struct meta_ask *ask, int64_t before, unsigned limit,
                        struct meta_session **rows, size_t *count);
int meta_session_bytes(struct meta *m, const char *workspace, int64_t *bytes, struct err *e);

/* Deletes a session with its findings, documents and links, and keeps its id as dropped: the server
 * frees the columns of dropped sessions later, and late data does not create them again (STATE). */
int meta_session_drop(struct meta *m, const char *workspace, const char *session, int64_t now,
                      struct err *e);
int meta_session_is_dropped(struct meta *m, const char *workspace, const char *session,
                            bool *dropped, struct err *e);

/* ---- browser uploads ------------------------------------------------------------------------ */

int meta_upload_add(struct meta *m, const char *workspace, const struct meta_upload *u,
                    struct err *e); /* for tests */
int meta_upload_get(const struct meta_ask *ask, const char *upload,
                    struct meta_upload *out); /* for tests */
int meta_upload_list(const struct meta_ask *ask, struct meta_upload **rows,
                     size_t *count); /* newest first; for tests */

struct meta_advance {
    int64_t from, to;    /* bytes received, before and after */
    const char *session; /* to which the bytes belong; NULL: not known yet */
    int64_t now;
};

/* Advances an upload. One of several concurrent calls succeeds. STATE: the upload is not at
 * from. */
int meta_upload_advance(struct meta *m, const char *workspace, const char *upload,
                        const struct meta_advance *to, struct err *e); /* for tests */
int meta_upload_remove(struct meta *m, const char *workspace, const char *upload,
                       struct err *e); /* for tests */

/* ---- analysis ------------------------------------------------------------------------------- */

/* Replaces the session's document of that kind and, unless findings is NULL, its findings. NOENT:
 * no such session. STATE: the session has ended, and the document is not final. */
int meta_analysis_put(struct meta *m, const char *workspace, const struct meta_analysis *a,
                      const struct meta_finding *findings, size_t count, struct err *e);
int meta_analysis_get(const struct meta_ask *ask, const char *session, const char *kind,
                      struct meta_analysis *out);
int meta_analysis_head(const struct meta_ask *ask, const char *session, const char *kind,
                       struct meta_analysis_head *out);

/* Lists ended sessions without a finished analysis by these rules, oldest first. kind: the
 * document's. */
int meta_analysis_missing(const struct meta_ask *ask, const char *kind, const char *rules,
                          unsigned limit, struct meta_session **rows, size_t *count);

int meta_finding_list(const struct meta_ask *ask, const char *session, struct meta_finding **rows,
                      size_t *count); /* by number */

struct meta_finding_query {
    const char *rule, *app, *host, *file; /* exact values; NULL: all */
    const char *kernel;                   /* part of the mangled name; NULL: all */
    int64_t severity;                     /* at least */
    int64_t from, to;                     /* from <= start of the session < to; 0: no limit */
};

/* Lists findings of all sessions of the workspace: HIGH before MEDIUM before LOW, and within each
 * those that could save most time first. */
int meta_finding_search(const struct meta_ask *ask, const struct meta_finding_query *q,
                        struct meta_page *page, struct meta_found **rows, size_t *count);

/* ---- fleet --------------------------------------------------------------------------------- */

/* Writes the newest state of a host or GPU; an older one changes only `created`, the earliest of
 * all. Empty texts, unknown numbers and an empty state do not replace known values. */
int meta_host_put(struct meta *m, const char *workspace, const struct meta_host *h,
                  struct err *e); /* for tests */
int meta_gpu_put(struct meta *m, const char *workspace, const struct meta_gpu *g,
                 struct err *e); /* for tests */

struct meta_fleet_state {
    const struct meta_host *hosts;
    const struct meta_gpu *gpus;
    size_t host_count, gpu_count;
    /* Called with what is stored of hosts[i] or gpus[i], in the transaction, before that row is
     * written, and again if the transaction runs again. It may change the row. NULL: not
     * called. */
    void (*stored)(void *arg, bool gpu, size_t i, const char *state, int64_t seen, int64_t created);
    void *arg;
};

/* Writes many hosts and GPUs in one transaction. */
int meta_fleet_put(struct meta *m, const char *workspace, const struct meta_fleet_state *state,
                   struct err *e);
int meta_host_list(const struct meta_ask *ask, struct meta_page *page, struct meta_host_now **rows,
                   size_t *count); /* by name */
int meta_host_get(const struct meta_ask *ask, const char *host, struct meta_host_now *out);
int meta_host_remove(struct meta *m, const char *workspace, const char *host,
                     struct err *e);                            /* with its GPUs */
int meta_gpu_list(const struct meta_ask *ask, const char *host, /* NULL: all */
                  struct meta_page *page, struct meta_gpu_now **rows,
                  size_t *count); /* by host and number */
int meta_gpu_get(const struct meta_ask *ask, const char *gpu, struct meta_gpu_now *out);

/* Lists a row for each live session and each of its GPUs, by host and start. NULL: all. */
int meta_running_list(const struct meta_ask *ask, const char *host, const char *app,
                      const char *gpu, struct meta_running **rows, size_t *count);

/* Forgets hosts and GPUs last seen before that time, and usage and sums of days before it. */
int meta_fleet_forget(struct meta *m, const char *workspace, int64_t before, struct err *e);

/* Replaces the usage of a session. INVAL: the days with an application, host or GPU have a gap, or
 * the days on which the number of its kernels is known have one. */
int meta_usage_put(struct meta *m, const char *workspace, const char *session,
                   const struct meta_usage *rows, size_t count, struct err *e);

struct meta_days {
    enum meta_by by;  /* host, application or GPU; of usage also DAY: sums of each day */
    int64_t from, to; /* from <= day < to */
    const char *name; /* of usage, not by DAY: only this name; NULL: all */
};

/* These list sums by name and day; and of all days, those that used GPUs longest first. */
int meta_usage_days(const struct meta_ask *ask, const struct meta_days *days,
                    struct meta_page *page, struct meta_usage_sum **rows, size_t *count);
int meta_fleet_sums(const struct meta_ask *ask, const struct meta_days *days,
                    struct meta_page *page, struct meta_fleet_sum **rows, size_t *count);

/* ---- sums that outlive their sessions ------------------------------------------------------- */

/* Replaces what a session adds to the sums of kernels, scopes and lines: however often this is
 * called, a session counts once. A dropped session stays in the sums. The keys of rows are computed
 * here. NOENT: there is no such session. */
int meta_rollup_put(struct meta *m, const char *workspace, const char *session,
                    const struct meta_rollup_part *rows, size_t count, struct err *e);

enum { META_ROLLUPS_MAX = 256 /* rows of a session */ };
enum meta_rollup_by { META_ROLLUP_DAY, META_ROLLUP_APP, META_ROLLUP_HOST };

struct meta_rollup_query {
    const char *kind;       /* kernel, scope, line */
    const char *name;       /* of meta_rollup_days */
    enum meta_rollup_by by; /* of meta_rollup_days */
    int64_t from, to;       /* from <= day < to */
    const char *app, *host; /* NULL: all */
};

/* Sums over all days, those with most time first; and the sums of one name, by name and day. */
int meta_rollup_sums(const struct meta_ask *ask, const struct meta_rollup_query *q,
                     struct meta_page *page, struct meta_rollup_sum **rows, size_t *count);
int meta_rollup_days(const struct meta_ask *ask, const struct meta_rollup_query *q,
                     struct meta_page *page, struct meta_rollup_day **rows, size_t *count);

/* ---- alerts --------------------------------------------------------------------------------- */

int meta_alert_put(struct meta *m, const char *workspace, const struct meta_alert *a,
                   struct err *e); /* adds or replaces; creator and created stay */
int meta_alert_get(const struct meta_ask *ask, const char *alert, struct meta_alert *out);
int meta_alert_list(const struct meta_ask *ask, struct meta_alert **rows,
                    size_t *count); /* by name */

/* Removes a rule. Its open firings end now; its waiting deliveries fail. */
int meta_alert_remove(struct meta *m, const char *workspace, const char *alert, int64_t now,
                      struct err *e);

/* Opens a firing, or changes the open firing of that rule and subject: fired, ended, value and
 * text; *out is the result. id and started stay those of the first call. A firing that ends without
 * having fired is forgotten. delivery: one that is written together with the firing, unless its
 * id exists; NULL: none. */
int meta_firing_put(const struct meta_ask *ask, const struct meta_firing *f,
                    const struct meta_delivery *delivery, struct meta_firing *out);
int meta_firing_open(const struct meta_ask *ask, const char *alert, struct meta_firing **rows,
                     size_t *count);
int meta_firing_now(const struct meta_ask *ask, struct meta_firing_now **rows,
                    size_t *count); /* open firings, newest first */
int meta_firing_list(const struct meta_ask *ask, struct meta_page *page,
                     struct meta_firing_now **rows,
                     size_t *count); /* firings that fired, newest first */

struct meta_above {
    const char *rule, *app, *host; /* NULL: every one */
    double share;                  /* least part of the run that a finding could save */
    int64_t since;                 /* the session sent data at this time or later */
};

/* Lists findings that could save the share or more (0: all), of sessions that are live or sent data
 * after `since`; of each session the worst first. */
int meta_finding_above(const struct meta_ask *ask, const struct meta_above *q,
                       struct meta_found **rows, size_t *count);

int meta_delivery_add(struct meta *m, const char *workspace, const struct meta_delivery *d,
                      struct err *e);

/* This is the outcome of an attempt to deliver. */
struct meta_attempt {
    const char *state; /* "sent", "failed", or "waiting" */
    int64_t next;      /* when a waiting delivery is tried again */
    int64_t status;    /* of the HTTP response; 0: there was none */
    const char *error; /* NULL: none */
    int64_t now;
};

int meta_delivery_done(struct meta *m, const char *workspace, const char *delivery,
                       const struct meta_attempt *attempt, struct err *e);
int meta_delivery_list(const struct meta_ask *ask, struct meta_page *page,
                       struct meta_delivery **rows, size_t *count); /* newest first */

/* ---- operations ------------------------------------------------------------------------------ */

/* These write and read the audit log, which only grows. workspace "" is the server's own log. */
int meta_audit_add(struct meta *m, const char *workspace, const struct meta_audit *a,
                   struct err *e);
int meta_audit_list(const struct meta_ask *ask, struct meta_page *page, struct meta_audited **rows,
                    size_t *count); /* newest first */

int meta_retention_get(struct meta *m, const char *workspace, struct meta_retention *out,
                       struct err *e); /* zeros if nothing was set */
int meta_retention_put(struct meta *m, const char *workspace, const struct meta_retention *r,
                       struct err *e);

/* This is the right to write a session's columns (store.h), which one server has. */
struct meta_turn {
    const char *session, *holder;
    int64_t now, until; /* ns since the Unix epoch */
    int64_t ask;        /* a holder that waits asks again before this */
    bool mine;          /* out: the holder has (give: had) the turn */
    bool seized;        /* out: a holder before, or this one, did not give the turn back */
};

/* Takes the turn until t->until, or waits as the next holder. */
int meta_turn_take(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e);
int meta_turn_keep(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e);
int meta_turn_give(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e);

/* Forgets turns that nobody gave back and that ended before that time. */
int meta_turn_expire(struct meta *m, int64_t before, struct err *e);

int meta_setting_get(const struct meta_ask *ask, const char *name,
                     struct meta_setting *out); /* for tests */
int meta_setting_put(struct meta *m, const struct meta_setting *s, struct err *e);
int meta_setting_list(const struct meta_ask *ask, struct meta_setting **rows,
                      size_t *count); /* by name */

/* ---- across workspaces: for the server itself, never with input of a client ------------------ */

/* This is a task that one of several servers does at a time. */
struct meta_lease {
    const char *name, *holder;
    int64_t now, until; /* ns since the Unix epoch */
};

/* *mine: the holder does the task until l->until, or longer if it calls this again before then. */
int meta_lease(struct meta *m, const struct meta_lease *l, bool *mine, struct err *e);

/* Lists sessions whose columns have to be freed, oldest first; the next function notes that the
 * columns of one are freed. Their ids stay known as dropped. */
int meta_dropped_list(const struct meta_ask *ask, unsigned limit, struct meta_dropped **rows,
                      size_t *count);
int meta_dropped_freed(struct meta *m, const char *workspace, const char *session, struct err *e);

/* Forgets firings that ended, and deliveries that were sent or failed, before that time. */
int meta_alerts_expire(struct meta *m, int64_t before, struct err *e);

/* Takes deliveries that are due, those with the fewest attempts first. They are due again at the
 * time `again`, unless their outcome is noted before. */
int meta_delivery_due(const struct meta_ask *ask, int64_t now, int64_t again, unsigned limit,
                      struct meta_due **rows, size_t *count);

#endif

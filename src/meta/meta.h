/* meta.h - the small tables: people and rights, the registry of sessions, findings, the fleet,
 * and the audit log.
 *
 * One set of statements (sql.def) runs on two engines: SQLite for one server, PostgreSQL
 * for several concurrent ones. Nobody but the two folders knows which; both pass one conformance
 * suite (tests/store).
 *
 * Tenants: what belongs to a workspace is reached only by functions that name the workspace, in
 * their ask or as their second argument, and each of their statements is bound to it; a test
 * walks the statements. The few functions that look across workspaces have a section of their
 * own. They find out whose a secret is, or serve the server itself, and no handler passes a
 * client's words to them.
 *
 * Rows are the structs of schema/meta.def. What is read lies in the caller's region; NULL texts
 * that are written count as "". Times are ns since the Unix epoch and come from the caller. Only
 * hashes of keys, cookies and links get here.
 *
 * Every function is one transaction, durable when it returns. Any thread; calls run
 * concurrently, writers of SQLite one after the other. A connection that broke is made again; a
 * transaction that lost against another one is tried again.
 *
 * 0, or: NOENT no such row (or not in this workspace: the caller cannot know which); STATE it is
 * there already, or the state does not allow it; INVAL a text that is too long, not UTF-8, or a
 * malformed id or name; TIMEOUT others were in the way for too long; IO the database cannot be
 * reached or failed; FULL the region or the disk has no room. Where e is given, it gets a sentence.
  */
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
 * unknown values, absent times and empty JSON; secrets and bodies left out. [any] */
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
bool meta_one_writer(const struct meta *m);    /* calls that write follow each other, never meet */
int meta_version(void);                        /* of the schema that this program writes */
int meta_ping(struct meta *m, struct err *e);  /* for /readyz: a connection, and an answer */
int meta_check(struct meta *m, struct err *e); /* CORRUPT: what is wrong, thoroughly */

/* Copies to path while others go on. UNAVAILABLE with PostgreSQL: it has pg_dump. */
int meta_backup(struct meta *m, const char *path, struct err *e);

/* Names who asks and where the answer goes: the first argument of every function that reads
 * rows. */
struct meta_ask {
    struct meta *m;
    const char *workspace; /* NULL where the rows belong to no workspace */
    struct region *mem;    /* rows and their texts lie there */
    struct err *e;         /* NULL: nobody wants the sentence */
};

/* The place where a list goes on. after is NULL, or the `next` of the page before. */
struct meta_page {
    unsigned limit;
    const char *after;
    const char *next; /* out: in the region; NULL: that was the last one */
};

/* ---- workspaces, users, members ------------------------------------------------------------ */

int meta_workspace_add(struct meta *m, const struct meta_workspace *w, struct err *e);
int meta_workspace_get(const struct meta_ask *ask, struct meta_workspace *out); /* for tests */
int meta_workspace_rename(struct meta *m, const char *workspace, const char *name,
                          struct err *e); /* for tests */

/* Everything of it but its audit log; its sessions are left as dropped (see below). */
int meta_workspace_remove(struct meta *m, const char *workspace, int64_t now, struct err *e);
int meta_workspace_list(const struct meta_ask *ask, struct meta_workspace **rows,
                        size_t *count); /* by name */

int meta_user_add(struct meta *m, const struct meta_user *u, struct err *e); /* for tests */
int meta_user_get(const struct meta_ask *ask, const char *user, struct meta_user *out);
int meta_user_by_email(const struct meta_ask *ask, const char *email, struct meta_user *out);
int meta_user_list(const struct meta_ask *ask, struct meta_user **rows,
                   size_t *count); /* by email */

/* Changes name, admin and disabled. STATE: it is the last admin that can log in. A disabled user is
 * logged out. */
int meta_user_change(struct meta *m, const struct meta_user *u, struct err *e); /* for tests */

/* Ends the user's logins as well, except the one with the hash `but` (NULL: all of them). */
int meta_user_password(struct meta *m, const char *user, const char *password, const char *but,
                       struct err *e);

/* Stores another hash of the same password, if `old` is the present one. */
int meta_user_rehash(struct meta *m, const char *user, const char *old, const char *hash,
                     struct err *e);
int meta_user_memberships(const struct meta_ask *ask, const char *user,
                          struct meta_membership **rows, size_t *count);
int meta_user_count(struct meta *m, int64_t *count, struct err *e);

/* Adds the first user, who is admin, and owner of the first workspace. STATE: there is a user
 * already, however many ask at once. */
int meta_first_user(struct meta *m, const struct meta_user *u, const struct meta_workspace *w,
                    struct err *e);

int meta_member_list(const struct meta_ask *ask, struct meta_member **rows,
                     size_t *count); /* by email */
int meta_member_get(const struct meta_ask *ask, const char *user, struct meta_member *out);

/* Adds a user, or gives another role. STATE: a workspace keeps an owner. */
int meta_member_put(struct meta *m, const char *workspace, const char *user, const char *role,
                    int64_t now, struct err *e);
int meta_member_remove(struct meta *m, const char *workspace, const char *user, struct err *e);

/* ---- secrets, by their hashes -------------------------------------------------------------- */

int meta_login_add(struct meta *m, const struct meta_login *l, struct err *e);

/* The login and its user, if it has not expired at now, was last used less than idle ns ago, and
 * the user is not disabled; its last use becomes now, unless that is less than a minute later. */
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
                       struct err *e); /* changes the note of the one with its session and id */
int meta_bookmark_remove(struct meta *m, const char *workspace, const char *session, const char *id,
                         struct err *e);

int meta_ticket_add(struct meta *m, const struct meta_ticket *t, struct err *e);

/* Looks, or takes: a ticket is taken once, however many try. NOENT: unknown, expired or taken. */
int meta_ticket_get(const struct meta_ask *ask, const char *hash, int64_t now,
                    struct meta_ticket *out);
int meta_ticket_take(const struct meta_ask *ask, const char *hash, int64_t now,
                     struct meta_ticket *out);

/* Takes an invitation and makes u a member of its workspace with its role; adds u where there is no
 * user with that id. NOENT: the ticket, as above. STATE: a member already, and the ticket stays. */
int meta_accept(struct meta *m, const char *hash, int64_t now, const struct meta_user *u,
                struct err *e);

/* Finds the workspace that a key or link opens. NOENT: unknown, expired or revoked. meta_key_use
 * writes the last use as meta_login_use does. */
int meta_key_use(const struct meta_ask *ask, const char *hash, int64_t now, const char **workspace,
                 struct meta_key *out);
int meta_share_use(const struct meta_ask *ask, const char *hash, int64_t now,
                   const char **workspace, struct meta_share *out);

/* Forgets logins, tickets and links that expired before. */
int meta_expire(struct meta *m, int64_t before, struct err *e);

/* ---- the registry of sessions ------------------------------------------------------------- */

/* Writes what a session's header says; meta_session_grow writes what the session grows to. *s's
 * counts, gpus and labels are not read: they come from the lists (NULL: none). A second call for
 * the same session fills in what is new, and the session is live again. STATE: the id belongs to
 * another session (of another host or process), or the session was deleted. */
int meta_session_put(struct meta *m, const char *workspace, const struct meta_session *s,
                     const struct meta_session_gpus *gpus, const struct meta_pairs *labels,
                     struct err *e);

/* Sets a label of a session, or (value NULL) takes it away. NOENT: no such session, or no such
 * label to take away. STATE: it has META_LABELS_MAX others. INVAL: an empty name. */
int meta_session_label(struct meta *m, const char *workspace, const char *session, const char *name,
                       const char *value, struct err *e);

/* A session's totals so far. */
struct meta_growth {
    int64_t records;
    int64_t kernels; /* META_NONE: as before, at first unknown */
    int64_t bytes;
    double busy;      /* NAN: as before, at first unknown */
    int64_t received; /* when data came last; 0: the totals are the analysis's own */
};

/* Totals never become smaller than they were, so that a replay does no harm. */
int meta_session_grow(struct meta *m, const char *workspace, const char *session,
                      const struct meta_growth *g, struct err *e);

/* "ended" or "aborted", and when (0: unknown). An end stays; a new state takes "analyzed" back. */
int meta_session_end(struct meta *m, const char *workspace, const char *session, const char *state,
                     int64_t ended, struct err *e);
int meta_session_get(const struct meta_ask *ask, const char *session, struct meta_session *out);

/* The orders of lists of sessions: X(key, column or expression, type). Ties by id. */
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

int meta_session_list(const struct meta_ask *ask, const struct meta_session_query *q,
                      struct meta_page *page, struct meta_session **rows, size_t *count);
int meta_session_count(struct meta *m, const char *workspace, const struct meta_session_query *q,
                       int64_t *count, struct err *e);

/* Values that sessions have, those of most sessions first. DAY is for meta_usage_days alone. */
enum meta_by { META_BY_APP, META_BY_HOST, META_BY_GPU, META_BY_ENGINE, META_BY_COUNT, META_BY_DAY };

int meta_session_names(const struct meta_ask *ask, enum meta_by by, unsigned limit,
                       struct meta_name_count **rows, size_t *count);

/* Live sessions of which nothing came since: to be ended as aborted. */
int meta_session_silent(const struct meta_ask *ask, int64_t since, struct meta_session **rows,
                        size_t *count);

/* Sessions that ended (or sent last) before that time, oldest first; and the bytes of all sessions.
 * For retention. */
int meta_session_oldest(const struct meta_ask *ask, int64_t before, unsigned limit,
                        struct meta_session **rows, size_t *count);
int meta_session_bytes(struct meta *m, const char *workspace, int64_t *bytes, struct err *e);

/* Deletes a session with its findings, documents and links, and keeps its id as dropped: who frees
 * the columns looks there, and data that comes late does not bring it back (STATE). */
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
    const char *session; /* that the bytes turned out to be; NULL: not known yet */
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

/* Ended sessions that no analysis by these rules has finished, oldest first; kind: a document. */
int meta_analysis_missing(const struct meta_ask *ask, const char *kind, const char *rules,
                          unsigned limit, struct meta_session **rows, size_t *count);

int meta_finding_list(const struct meta_ask *ask, const char *session, struct meta_finding **rows,
                      size_t *count); /* by number */

struct meta_finding_query {
    const char *rule, *app, *host, *file; /* equal; NULL: all */
    const char *kernel;                   /* part of the mangled name; NULL: all */
    int64_t severity;                     /* at least */
    int64_t from, to;                     /* from <= start of the session < to; 0: open */
};

/* Findings of all of the workspace's sessions: HIGH before MEDIUM before LOW, and of each those
 * that give back most first. */
int meta_finding_search(const struct meta_ask *ask, const struct meta_finding_query *q,
                        struct meta_page *page, struct meta_found **rows, size_t *count);

/* ---- fleet --------------------------------------------------------------------------------- */

/* Writes the newest state of a host or GPU; an older one changes nothing. Empty texts, unknown
 * numbers and an empty state leave what was known. */
int meta_host_put(struct meta *m, const char *workspace, const struct meta_host *h,
                  struct err *e); /* for tests */
int meta_gpu_put(struct meta *m, const char *workspace, const struct meta_gpu *g,
                 struct err *e); /* for tests */

struct meta_fleet_state {
    const struct meta_host *hosts;
    const struct meta_gpu *gpus;
    size_t host_count, gpu_count;
    /* Gets the state and the time that are stored of hosts[i] or gpus[i], in the transaction,
     * before that row is written, and again if the transaction runs again. It may change the row.
     * NULL: nobody asks. */
    void (*stored)(void *arg, bool gpu, size_t i, const char *state, int64_t seen);
    void *arg;
};

/* Many hosts and GPUs in one transaction: the states of a moment. */
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

/* A row for each live session and GPU of it, by host and start: what runs where now. NULL: all. */
int meta_running_list(const struct meta_ask *ask, const char *host, const char *app,
                      const char *gpu, struct meta_running **rows, size_t *count);

/* Forgets hosts and GPUs last seen before that time, and usage and sums of days before it. */
int meta_fleet_forget(struct meta *m, const char *workspace, int64_t before, struct err *e);

/* Replaces what a session contributes to the days. INVAL: the days of an application, host or GPU
 * have a gap, or those on which its kernels are known. */
int meta_usage_put(struct meta *m, const char *workspace, const char *session,
                   const struct meta_usage *rows, size_t count, struct err *e);

struct meta_days {
    enum meta_by by;  /* host, application or GPU; of usage DAY as well: all of a day */
    int64_t from, to; /* from <= day < to */
    const char *name; /* of usage, not by DAY: only this one; NULL: all */
};

/* Sums by name and day; and of all days together, those that held GPUs longest first. */
int meta_usage_days(const struct meta_ask *ask, const struct meta_days *days,
                    struct meta_page *page, struct meta_usage_sum **rows, size_t *count);
int meta_fleet_sums(const struct meta_ask *ask, const struct meta_days *days,
                    struct meta_page *page, struct meta_fleet_sum **rows, size_t *count);

/* ---- sums that outlive their sessions ------------------------------------------------------- */

/* Replaces what a session adds to the sums of kernels, scopes and lines: however often a session is
 * summed, it counts once. A session that is dropped stays in the sums. The keys of rows are made
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

/* Sums over days, those with most time first; and of one name, by row name and day. */
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

/* Removes a rule. Its open firings end now; deliveries that wait for it are given up. */
int meta_alert_remove(struct meta *m, const char *workspace, const char *alert, int64_t now,
                      struct err *e);

/* Opens a firing, or changes the one that is open for that rule and subject: fired, ended, value
 * and text; *out is the result. id and started are those of the first call. A firing that ends
 * without having fired is forgotten. tell: a delivery that is written with it, unless its id
 * exists; NULL: none. */
int meta_firing_put(const struct meta_ask *ask, const struct meta_firing *f,
                    const struct meta_delivery *tell, struct meta_firing *out);
int meta_firing_open(const struct meta_ask *ask, const char *alert, struct meta_firing **rows,
                     size_t *count);
int meta_firing_now(const struct meta_ask *ask, struct meta_firing_now **rows,
                    size_t *count); /* open firings, newest first */
int meta_firing_list(const struct meta_ask *ask, struct meta_page *page,
                     struct meta_firing_now **rows,
                     size_t *count); /* firings that fired, newest first */

struct meta_above {
    const char *rule, *app, *host; /* NULL: every one */
    double share;                  /* part of the run that a finding gives back, at least */
    int64_t since;                 /* the session sent something at this time or later */
};

/* Findings that give back the share or more, 0: all, of sessions that are live or sent something
 * since; of each session the worst first. */
int meta_finding_above(const struct meta_ask *ask, const struct meta_above *q,
                       struct meta_found **rows, size_t *count);

int meta_delivery_add(struct meta *m, const char *workspace, const struct meta_delivery *d,
                      struct err *e);

/* The outcome of an attempt to deliver. */
struct meta_attempt {
    const char *state; /* "sent", "failed", or "waiting" */
    int64_t next;      /* when a waiting one is tried again */
    int64_t status;    /* of the HTTP answer; 0: none came */
    const char *error; /* NULL: none */
    int64_t now;
};

int meta_delivery_done(struct meta *m, const char *workspace, const char *delivery,
                       const struct meta_attempt *attempt, struct err *e);
int meta_delivery_list(const struct meta_ask *ask, struct meta_page *page,
                       struct meta_delivery **rows, size_t *count); /* newest first */

/* ---- operations ------------------------------------------------------------------------------ */

/* The audit log: only ever appended to. workspace "" is the server's own log. */
int meta_audit_add(struct meta *m, const char *workspace, const struct meta_audit *a,
                   struct err *e);
int meta_audit_list(const struct meta_ask *ask, struct meta_page *page, struct meta_audited **rows,
                    size_t *count); /* newest first */

int meta_retention_get(struct meta *m, const char *workspace, struct meta_retention *out,
                       struct err *e); /* zeros where nothing was set */
int meta_retention_put(struct meta *m, const char *workspace, const struct meta_retention *r,
                       struct err *e);

/* The right to write a session's columns (store.h), which one of several servers holds. */
struct meta_turn {
    const char *session, *holder;
    int64_t now, until; /* ns since the Unix epoch */
    int64_t ask;        /* a holder that waits asks again before this */
    bool mine;          /* out: the turn is (give: was) the holder's */
    bool seized;        /* out: it was another's, or the holder's own, and was not given back */
};

/* Takes the turn until t->until, or asks to be next. */
int meta_turn_take(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e);
int meta_turn_keep(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e);
int meta_turn_give(struct meta *m, const char *workspace, struct meta_turn *t, struct err *e);

/* Forgets turns that nobody gave back, and that were over before. */
int meta_turn_expire(struct meta *m, int64_t before, struct err *e);

int meta_setting_get(const struct meta_ask *ask, const char *name,
                     struct meta_setting *out); /* for tests */
int meta_setting_put(struct meta *m, const struct meta_setting *s, struct err *e);
int meta_setting_list(const struct meta_ask *ask, struct meta_setting **rows,
                      size_t *count); /* by name */

/* ---- across workspaces: for the server itself, never for a client's words -------------------- */

/* A task that one of several servers does at a time. */
struct meta_lease {
    const char *name, *holder;
    int64_t now, until; /* ns since the Unix epoch */
};

/* *mine: the holder does the task until l->until, or longer if it asks again before. */
int meta_lease(struct meta *m, const struct meta_lease *l, bool *mine, struct err *e);

/* Sessions whose columns are to be freed, oldest first; and that they have been. Their ids stay
 * known as dropped. */
int meta_dropped_list(const struct meta_ask *ask, unsigned limit, struct meta_dropped **rows,
                      size_t *count);
int meta_dropped_freed(struct meta *m, const char *workspace, const char *session, struct err *e);

/* Forgets firings that ended, and deliveries that were made or given up, before. */
int meta_alerts_expire(struct meta *m, int64_t before, struct err *e);

/* Takes deliveries whose time has come, those first that were tried least; they come again at
 * `again`, if nobody says how it went. */
int meta_delivery_due(const struct meta_ask *ask, int64_t now, int64_t again, unsigned limit,
                      struct meta_due **rows, size_t *count);

#endif

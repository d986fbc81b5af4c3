/* select.h - runs one SELECT of a client as the workspace's user.
 *
 * Two barriers confine the statement. First, ClickHouse lets that user read only the workspace's
 * databases, in a profile with `readonly`, which excludes table functions, settings and everything
 * that writes; select_user.c checks this before a statement runs. Second, a statement is sent only
 * if each of its tables is one of docs/server-sql.md (select_words.c); these tables are replaced by
 * sub-selects over rows that count (select_tables.c). */
#ifndef GPUFL_STORE_CLICKHOUSE_SELECT_H
#define GPUFL_STORE_CLICKHOUSE_SELECT_H

#include "store/clickhouse/engine.h"

int click_select_ask(struct store *s, const char *workspace, const struct store_select *q,
                     struct buf *answer, struct err *e);

/* ---- select_words.c -------------------------------------------------------------------------- */

enum { SELECT_WORDS_MAX = 4000, SELECT_DEPTH_MAX = 100, SELECT_TEXT_MAX = 16 << 20 };

/* Appends the statement without comments; put appends the replacement of each table, and returns
 * false if there is no such table. GPUFL_E_INVAL: the text is not a single SELECT, or names
 * something forbidden. No state. */
int select_words(struct buf *out, struct store_text sql,
                 bool (*put)(void *arg, struct buf *out, struct store_text table), void *arg,
                 struct err *e);

/* ---- select_tables.c ------------------------------------------------------------------------- */

/* Holds the sources of a statement's tables. */
struct select_tables {
    struct store *store;
    const char *workspace;
    const struct store_select *q;
    struct state *states; /* owned: the last commit of each session */
    bool all;             /* several servers have the sessions: use the Distributed tables */
    unsigned host;        /* the server that runs the statement */
};

int select_tables_open(struct select_tables *t, struct store *s, const char *workspace,
                       const struct store_select *q, struct err *e);
void select_tables_close(struct select_tables *t);

/* Appends "(SELECT …)", for select_words; arg: struct select_tables. */
bool select_tables_put(void *arg, struct buf *out, struct store_text table);

/* ---- select_user.c --------------------------------------------------------------------------- */

/* Returns the login of the workspace's user, who runs its statements. */
struct link_login select_login(const struct store *s, const char *workspace,
                               char name[2 * STORE_ID_MAX + 2]);

/* Returns 0 if that user has exactly the rights that are needed; GPUFL_E_UNAVAILABLE with a
 * sentence about what is wrong. *rows: the approximate number of rows at which the server cuts
 * answers without an error. */
int select_user_check(struct store *s, const char *workspace, unsigned host, int64_t *rows,
                      struct err *e);

#endif

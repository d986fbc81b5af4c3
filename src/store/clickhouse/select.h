/* select.h - one SELECT that a client wrote, run as the workspace's user.
 *
 * What confines it, from the outside in: ClickHouse lets that user read the workspace's
 * databases alone, in a profile with `readonly`, so that there are no table functions, no
 * settings, nothing that writes (select_user.c checks this before a statement is run); and of
 * the words only those go out in which each table is one of docs/server-sql.md (select_words.c),
 * which are put in as sub-selects over rows that count (select_tables.c). */
#ifndef GPUFL_STORE_CLICKHOUSE_SELECT_H
#define GPUFL_STORE_CLICKHOUSE_SELECT_H

#include "store/clickhouse/engine.h"

int click_select_ask(struct store *s, const char *workspace, const struct store_select *q,
                     struct buf *answer, struct err *e);

/* ---- select_words.c -------------------------------------------------------------------------- */

enum { SELECT_WORDS_MAX = 4000, SELECT_DEPTH_MAX = 100, SELECT_TEXT_MAX = 16 << 20 };

/* Appends the statement without remarks, with what put appends for each table it names. put: false:
 * there is no table of that name. INVAL: it is no single SELECT, or names what it may not. Pure. */
int select_words(struct buf *out, struct store_text sql,
                 bool (*put)(void *arg, struct buf *out, struct store_text table), void *arg,
                 struct err *e);

/* ---- select_tables.c ------------------------------------------------------------------------- */

/* The sources of a statement's tables. */
struct select_tables {
    struct store *store;
    const char *workspace;
    const struct store_select *q;
    struct state *states; /* owned: a session's last commit each */
    bool all;             /* several servers have the sessions: the Distributed tables are asked */
    unsigned host;        /* which is asked */
};

int select_tables_open(struct select_tables *t, struct store *s, const char *workspace,
                       const struct store_select *q, struct err *e);
void select_tables_close(struct select_tables *t);

/* Appends "(SELECT …)", for select_words; arg: struct select_tables. */
bool select_tables_put(void *arg, struct buf *out, struct store_text table);

/* ---- select_user.c --------------------------------------------------------------------------- */

/* Whom the workspace's statements are asked as. */
struct link_login select_login(const struct store *s, const char *workspace,
                               char name[2 * STORE_ID_MAX + 2]);

/* 0 where that user may do what it should and nothing else; UNAVAILABLE says what is missing.
 * *rows: at about how many the server cuts its answers without a word. */
int select_user_check(struct store *s, const char *workspace, unsigned host, int64_t *rows,
                      struct err *e);

#endif

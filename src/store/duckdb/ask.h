/* ask.h - a question being answered: its statement made from a template, its rows
 * taken into the answer.
 *
 * A template is SQL in which
 *   {kernel}       stands for a table of the session; {tile} and {span} for that of the
 *                  parameter `level`
 *   $from          for a parameter of the question, or for a value named by ask_name
 *   [from? …]      for what is there only where that parameter is not null
 * so that nothing but names from tables gets into a statement. All statements of a
 * question run in one transaction and see the same commit. Owner's thread. */
#ifndef GPUFL_STORE_DUCKDB_ASK_H
#define GPUFL_STORE_DUCKDB_ASK_H

#include "store/answer.h"
#include "store/duckdb/engine.h"

enum { ASK_NAMED_MAX = 12, ASK_BOUND_MAX = 24 };

struct ask {
    struct store *store;
    struct store_session *session;
    struct connection *connection;
    const struct store_query_def *def;
    const struct store_value *args;
    struct answer answer;
    struct watched watched;
    struct err *e;
    struct {
        const char *name;
        struct sql_arg arg;
    } named[ASK_NAMED_MAX];
    size_t named_count;
    struct buf text; /* of the statement */
    struct {
        const char *name; /* not NUL-terminated */
        size_t len;
    } bound_names[ASK_BOUND_MAX];
    struct sql_arg bound[ASK_BOUND_MAX]; /* its values, each once */
    size_t bound_count;
};

/* One question of a session. */
int ask_question(struct store *s, const char *workspace, struct store_session *ss,
                 enum store_query q, const struct store_value *args, const struct store_visitor *v,
                 struct err *e);

/* The value of a parameter; of a null one `other`. */
int64_t ask_int(const struct ask *a, const char *name, int64_t other);
const struct store_value *ask_value(const struct ask *a, const char *name);

/* Gives a value a name for templates; again: another one. */
void ask_name(struct ask *a, const char *name, struct sql_arg arg);
void ask_name_null(struct ask *a, const char *name);

/* Makes the statement of a template; ask_more goes on behind it. Errors show when it is run. */
void ask_text(struct ask *a, const char *template);
void ask_more(struct ask *a, const char *template);

/* Runs it: into the answer column by column, or chunk by chunk to the caller. */
int ask_rows(struct ask *a);
int ask_chunks(struct ask *a, int (*take)(void *arg, const struct sql *q), void *arg);

/* Replaces, in a column of the answer, minus a configuration's id by the id of its name. */
int ask_config_names(struct ask *a, unsigned column);

/* Questions that are more than a template; each adds its rows to the answer. */
int ask_tiles(struct ask *a);
int ask_spans(struct ask *a);
int ask_events(struct ask *a);
int ask_search(struct ask *a);
int ask_kernels(struct ask *a);
int ask_kernel_configs(struct ask *a);
int ask_kernel_histogram(struct ask *a);
int ask_launches(struct ask *a);
int ask_series(struct ask *a);
int ask_counts(struct ask *a);

/* Names among ids whose text has the pattern in it, case of A to Z ignored; fills ids (owned by the
 * caller: mem_free). */
int ask_matching(struct ask *a, const char *ids_of, struct store_text pattern, int64_t **ids,
                 size_t *n);

#endif

/* ask.h - answers a question: makes statements from templates that all engines share, and puts the
 * rows that they give into the answer.
 *
 * A template is SQL with these replacements:
 *
 *   {kernel} … WHERE   a table of the session; {tile} is that of the parameter `level`. A WHERE
 *                      follows each table before the next one, since an engine may add to it.
 *   $from              a parameter of the question, or a value named by ask_name
 *   #limit             an integer parameter, where the dialects take only a plain number
 *   [from? …]          text that is there only if the parameter is not null
 *   total(…)           what the dialects write differently: a word of the engine
 *
 * Nothing but names from tables therefore gets into a statement. The words of all engines:
 *
 *   total(v)           sum, 64 bits, which saturates
 *   known(c)           a cell, NULL if it is unknown
 *   event(s, d)        true for an event (wire/limits.h)
 *   ends(s, d)         where the event ends
 *   lane(k, d, r)      like lane_make of wire/tile.h
 *   unless0(v)         v, unknown where it is 0
 *   below(v, step)     greatest multiple of step that is not above v
 *   octave(v)          floor(log2(v)); -1 for v < 1
 *   holds(t, part)     t contains part, without regard to the case of A to Z
 *   among(v, $list)    v is in a short list; within(v, $list): in a long one
 *   leading(n, busy)   of n > 0 the one with the greatest busy, then the least; unknown: none
 *   rows(a, b)         rows of an event's table by their number, from a to b
 *   some(v)            any of the values
 *   octets(t)          bytes of a text
 *   join_all()         a join in which each match is a row; left_join_all() likewise
 *
 * Aliases differ from the columns around them, and sub-selects replace WITH, so that both dialects
 * agree on the meaning of a name. Called by the owner's thread only. */
#ifndef GPUFL_STORE_ASK_H
#define GPUFL_STORE_ASK_H

#include "store/answer.h"
#include "store/kernel_sums.h"
#include "store/page.h"
#include "store/tables.h"

enum { ASK_NAMED_MAX = 16, ASK_TEXT_MAX = 64 << 10, ASK_READABLE_MAX = 8 << 20 };

/* This is a value for a statement. */
struct sql_arg {
    enum store_type type;
    struct store_value value;
};

#define SQL_INT(v)     ((struct sql_arg){STORE_INT, {.i = (v)}})
#define SQL_REAL(v)    ((struct sql_arg){STORE_REAL, {.r = (v)}})
#define SQL_TEXT(s, n) ((struct sql_arg){STORE_TEXT, {.text = {(s), (n)}}})
#define SQL_LIST(p, n) ((struct sql_arg){STORE_LIST, {.list = (p), .list_count = (n)}})

struct ask;
/* A non-zero result stops and is returned. */
typedef int (*ask_take)(void *arg, const struct page *p);

/* This is the engine's part of a question. */
struct ask_engine {
    const struct ask_word {
        const char *name, *text;  /* %1, %2, … are its arguments */
    } * words;                    /* ends with a NULL name */
    void (*clear)(struct ask *a); /* called when a statement begins */
    /* Append to a->text: what follows FROM for a table; conditions after its WHERE; a value. */
    void (*table)(struct ask *a, unsigned table);
    void (*where)(struct ask *a, unsigned table);
    void (*value)(struct ask *a, const char *name, const struct sql_arg *arg);
    /* Runs a->text. For GPUFL_E_FULL and GPUFL_E_TIMEOUT the caller makes the sentence. */
    int (*run)(struct ask *a, ask_take take, void *arg);
    int (*counts)(struct ask *a); /* answers question `counts` */
    /* Appends what follows FROM for {history_sums}: rows with kind, app, name, sessions, calls and
     * total, which add up to the sums of a workspace's history by kind, application and name. */
    void (*history_sums)(struct ask *a);
};

struct ask {
    const struct ask_engine *engine;
    const struct store_query_def *def;
    const struct store_value *args;
    struct answer answer;
    struct err *e;
    struct {
        const char *name;
        struct sql_arg arg;
    } named[ASK_NAMED_MAX];
    size_t named_count;
    struct buf text;                                     /* of the statement */
    void (*readable)(struct buf *out, const char *name); /* see struct store_visitor */
    int where_of; /* table whose WHERE is still to come; -1: none */
};

void ask_init(struct ask *a, const struct ask_engine *engine, enum store_query q,
              const struct store_value *args, struct err *e);
void ask_fini(struct ask *a);

/* Checks the parameters. GPUFL_E_INVAL: a value is not possible. */
int ask_check(const struct ask *a);

/* Answers the question to the visitor. */
int ask_answer(struct ask *a, const struct store_visitor *v);

/* Returns the value of a parameter, or `other` if it is null. */
int64_t ask_int(const struct ask *a, const char *name, int64_t other);
const struct store_value *ask_value(const struct ask *a, const char *name);

/* Gives a value a name for templates. A later call with the name replaces the value. */
void ask_name(struct ask *a, const char *name, struct sql_arg arg);
void ask_name_null(struct ask *a, const char *name);

/* Makes the statement of a template; ask_more appends to it. ask_rows and ask_pages return
 * errors. */
void ask_text(struct ask *a, const char *template);
void ask_more(struct ask *a, const char *template);

/* The functions run the statement. ask_rows puts its columns into the answer; ask_pages gives its
 * pages to take. */
int ask_rows(struct ask *a);
int ask_pages(struct ask *a, ask_take take, void *arg);
/* Gives the pages to the visitor as they come: nothing is kept, so that a long answer takes the
 * memory of one page. The visitor may see some rows of an answer that then fails. */
int ask_pass(struct ask *a, const struct store_visitor *v);

/* In a column of the answer, replaces each negated id of a configuration by the id of its name. */
int ask_config_names(struct ask *a, unsigned column);

/* Finds the names among ids whose text contains the pattern, without regard to the case of A to Z.
 * The caller frees *ids with mem_free. ask_matching_kernels: the text that people read counts,
 * too. */
int ask_matching(struct ask *a, const char *ids_of, struct store_text pattern, int64_t **ids,
                 size_t *n);
int ask_matching_kernels(struct ask *a, struct store_text pattern, int64_t **ids, size_t *n);

/* The functions answer questions that need more than a template; each adds its rows to the
 * answer. */
int ask_tiles(struct ask *a);
int ask_spans(struct ask *a);
int ask_events(struct ask *a);
int ask_search(struct ask *a);
int ask_kernels(struct ask *a);
int ask_kernel_configs(struct ask *a);
int ask_kernel_histogram(struct ask *a);
int ask_launches(struct ask *a);
int ask_series(struct ask *a);
int ask_allocations(struct ask *a);

/* Adds the kernels of a page with the columns start, duration, config, stream. */
int ask_add_kernels(struct kernel_sums *k, const struct page *p);

#endif

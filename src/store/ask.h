/* ask.h - answers a question: makes statements from templates that all engines share, and takes
 * their rows into the answer.
 *
 * A template is SQL in which {kernel} … WHERE is replaced by a table of the session; {tile} by
 * that of the parameter `level`. A
 *                      WHERE follows each table before the next one: an engine may add to it.
 *   $from              for a parameter of the question, or for a value named by ask_name
 *   #limit             for such an integer where only a plain number will do
 *   [from? …]          for what is there only where that parameter is not null
 *   total(…)           for what dialects say differently: the engine's words
 * so that nothing but names from tables gets into a statement. Words of all engines: total(v)
 * sum, as 64 bits that saturate known(c) a cell, NULL where unknown
 *   event(s, d)        true for an event (wire/limits.h)    ends(s, d)     where it ends
 *   lane(k, d, r)      as lane_make of wire/tile.h          unless0(v)     unknown where 0
 * below(v, step) greatest multiple not above v octave(v) floor(log2(v)); -1: v < 1
 *   holds(t, part)     part stands in t, case of A to Z ignored
 *   among(v, $list)    v is in a list of some; within(v, $list): of many
 *   leading(n, busy)   n > 0 with the greatest busy, least n; unknown: none
 *   rows(a, b)         rows of an event's table by their place, from a to b
 *   some(v)            any of the values                    octets(t)      bytes of a text
 *   join_all()         a join, each match a row             left_join_all()
 * Aliases differ from the columns around them, sub-selects replace WITH: both dialects then agree
 * on what a name means. Owner's thread. */
#ifndef GPUFL_STORE_ASK_H
#define GPUFL_STORE_ASK_H

#include "store/answer.h"
#include "store/kernel_sums.h"
#include "store/page.h"
#include "store/tables.h"

enum { ASK_NAMED_MAX = 16, ASK_TEXT_MAX = 64 << 10, ASK_READABLE_MAX = 8 << 20 };

/* A value for a statement. */
struct sql_arg {
    enum store_type type;
    struct store_value value;
};

#define SQL_INT(v)     ((struct sql_arg){STORE_INT, {.i = (v)}})
#define SQL_REAL(v)    ((struct sql_arg){STORE_REAL, {.r = (v)}})
#define SQL_TEXT(s, n) ((struct sql_arg){STORE_TEXT, {.text = {(s), (n)}}})
#define SQL_LIST(p, n) ((struct sql_arg){STORE_LIST, {.list = (p), .list_count = (n)}})

struct ask;
typedef int (*ask_take)(void *arg, const struct page *p); /* non-zero stops and is returned */

/* The engine's part of a question. */
struct ask_engine {
    const struct ask_word {
        const char *name, *text;  /* %1, %2, … are its arguments */
    } * words;                    /* ends with a NULL name */
    void (*clear)(struct ask *a); /* a statement begins */
    /* Append to a->text: the text after FROM; conditions after its WHERE; a value. */
    void (*table)(struct ask *a, unsigned table);
    void (*where)(struct ask *a, unsigned table);
    void (*value)(struct ask *a, const char *name, const struct sql_arg *arg);
    /* Runs a->text. FULL and TIMEOUT come without a sentence. */
    int (*run)(struct ask *a, ask_take take, void *arg);
    int (*counts)(struct ask *a); /* answers question `counts` */
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
    int behind; /* table whose WHERE is to come; -1: none */
};

void ask_init(struct ask *a, const struct ask_engine *engine, enum store_query q,
              const struct store_value *args, struct err *e);
void ask_fini(struct ask *a);

/* Checks the parameters: INVAL for what makes no sense. */
int ask_check(const struct ask *a);

/* Answers the question to the visitor. */
int ask_answer(struct ask *a, const struct store_visitor *v);

/* The value of a parameter; of a null one `other`. */
int64_t ask_int(const struct ask *a, const char *name, int64_t other);
const struct store_value *ask_value(const struct ask *a, const char *name);

/* Gives a value a name for templates; again: another one. */
void ask_name(struct ask *a, const char *name, struct sql_arg arg);
void ask_name_null(struct ask *a, const char *name);

/* Makes the statement of a template; ask_more appends to it. Errors show when it is run. */
void ask_text(struct ask *a, const char *template);
void ask_more(struct ask *a, const char *template);

/* Runs it: into the answer column by column, or page by page to the caller. */
int ask_rows(struct ask *a);
int ask_pages(struct ask *a, ask_take take, void *arg);

/* Replaces, in a column of the answer, minus a configuration's id by the id of its name. */
int ask_config_names(struct ask *a, unsigned column);

/* Names among ids whose text has the pattern in it, case of A to Z ignored; fills ids (owned by the
 * caller: mem_free). For names of kernels the text that people read counts, too. */
int ask_matching(struct ask *a, const char *ids_of, struct store_text pattern, int64_t **ids,
                 size_t *n);
int ask_matching_kernels(struct ask *a, struct store_text pattern, int64_t **ids, size_t *n);

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
int ask_allocations(struct ask *a);

/* Adds kernels: start, duration, config, stream. */
int ask_add_kernels(struct kernel_sums *k, const struct page *p);

#endif

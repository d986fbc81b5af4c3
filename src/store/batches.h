/* batches.h - gathers pages of rows into batches for a visitor, and its texts. [the caller's
 * thread] */
#ifndef GPUFL_STORE_BATCHES_H
#define GPUFL_STORE_BATCHES_H

#include "store/page.h"

enum { BATCHES_ROWS = 65536 /* of a batch at most */ };

struct batches {
    struct wire_batch batch;
    int64_t *cells; /* owned */
    size_t room;    /* rows */
    const struct wire_visitor *visitor;
};

/* room: of rows, where the caller knows that there are no more than that; BATCHES_ROWS else. 0 or
 * GPUFL_E_NOMEM. */
int batches_open(struct batches *b, enum record_type type, size_t room,
                 const struct wire_visitor *v);
void batches_close(struct batches *b);

/* Takes a page of the record's columns (an ask_take; arg: struct batches); hands over what is left.
 * What the visitor returned. */
int batches_take(void *arg, const struct page *p);
int batches_end(struct batches *b);

/* Pages of names (id, text), arg: struct wire_visitor; and of lines that are not known (channel,
 * line), arg: struct store_visitor. */
int batches_names(void *arg, const struct page *p);
int batches_unknown(void *arg, const struct page *p);

/* Column of the record's time; -1: it has none. */
int batches_time(enum record_type type);

/* The first table that struct store_walk wants after this one (-1: of all); -1: no more. */
int batches_next(const struct store_walk *w, int table);

/* A page of one table of a walk (an ask_take; arg: struct batches_walk). */
struct batches_walk {
    const struct store_walk *walk;
    unsigned table;
};

int batches_walk(void *arg, const struct page *p);

#endif

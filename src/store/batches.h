/* batches.h - collects pages of rows into batches for a visitor. [the caller's thread] */
#ifndef GPUFL_STORE_BATCHES_H
#define GPUFL_STORE_BATCHES_H

#include "store/page.h"

enum { BATCHES_ROWS = 65536 /* in a batch, at most */ };

struct batches {
    struct wire_batch batch;
    int64_t *cells; /* owned */
    size_t room;    /* rows */
    const struct wire_visitor *visitor;
};

/* Opens batches. room: the number of rows if the caller knows that there are not more; else
 * BATCHES_ROWS. 0 or GPUFL_E_NOMEM. */
int batches_open(struct batches *b, enum record_type type, size_t room,
                 const struct wire_visitor *v);
void batches_close(struct batches *b);

/* batches_take takes a page of the record's columns (an ask_take; arg: struct batches); batches_end
 * gives the remaining rows to the visitor. Both return what the visitor returned. */
int batches_take(void *arg, const struct page *p);
int batches_end(struct batches *b);

/* The functions take pages of names (id, text), arg: struct wire_visitor; and of unknown lines
 * (channel, line), arg: struct store_visitor. */
int batches_names(void *arg, const struct page *p);
int batches_unknown(void *arg, const struct page *p);

/* Returns the column of the record's time; -1: it has none. */
int batches_time(enum record_type type);

/* Returns the next table that struct store_walk wants, after `table` (-1: the first one); -1: no
 * more. */
int batches_next(const struct store_walk *w, int table);

/* This is for batches_walk, which gives a page of one table to a walk (an ask_take). */
struct batches_walk {
    const struct store_walk *walk;
    unsigned table;
};

int batches_walk(void *arg, const struct page *p);

#endif

/* shown.h - makes rows of small sessions readable for statements.
 *
 * An image (image.h) is shown while a question or an export runs. Meanwhile, statements read its
 * tables with the table function small_rows(number, table), which has the columns of the table and
 * rowid, the index of a row from 0. So the library gets only the columns that a statement reads,
 * and no table, file or transaction is made for a small session. */
#ifndef GPUFL_STORE_DUCKDB_SHOWN_H
#define GPUFL_STORE_DUCKDB_SHOWN_H

#include "base/buf.h"
#include "store/duckdb/duck.h"
#include "store/duckdb/pack/image.h"

#include <pthread.h>

struct shown {
    const struct image *image; /* the caller's; it does not change while it is shown */
    int64_t number;            /* names the image in statements */
    struct shown *next;        /* guarded by shown_list.lock */
};

struct shown_list {
    const struct duck *duck;
    pthread_mutex_t lock;
    struct shown *first; /* guarded by lock */
    int64_t numbers;     /* last one given out; guarded by lock */
};

void shown_init(struct shown_list *l, const struct duck *d);
void shown_fini(struct shown_list *l);

/* Registers the function in the instance of a connection. The list must outlive the instance. */
int shown_register(struct shown_list *l, struct duck_connection *c, struct err *e);

/* Shows an image until shown_remove; no statement that reads the image may run at that time.
 * [any] */
void shown_add(struct shown_list *l, struct shown *s, const struct image *image);
void shown_remove(struct shown_list *l, struct shown *s);

/* Puts the text after FROM for a table of the image. */
void shown_table(struct buf *b, const struct shown *s, unsigned table);

#endif

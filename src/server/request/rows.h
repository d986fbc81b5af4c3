/* rows.h - writes rows of the small tables as answers: {"rows":[…],"next":…}, or one object. */
#ifndef GPUFL_SERVER_REQUEST_ROWS_H
#define GPUFL_SERVER_REQUEST_ROWS_H

#include "meta/meta.h"
#include "server/request/call.h"

enum { ROWS_MEMORY = 64 << 20 /* bytes of the rows of one answer */ };

/* Sends rows. rows: an array of the row's structs. next: NULL on the last page. */
void rows_send(struct call *c, enum meta_row_id row, const void *rows, size_t count,
               const char *next);
void rows_send_one(struct call *c, enum meta_row_id row, const void *from);

/* Initializes a struct meta_page with the page that a request asks for. */
#define ROWS_PAGE(c, route)                                                                        \
    {                                                                                              \
        .limit = (unsigned)ARG(c, route, limit)->i, .after = ARG(c, route, after)->text            \
    }

/* This is a list of rows for an answer: call rows_list_begin, read the rows with `ask`, call
 * rows_list_end. */
struct rows_list {
    struct call *c;
    struct region mem; /* of the rows */
    struct err e;
    struct meta_ask ask; /* writes to mem and e */
    size_t count;        /* of rows; the list function sets it */
};

void rows_list_begin(struct rows_list *l, struct call *c);

/* Sends the rows, or the problem for rc. */
void rows_list_end(struct rows_list *l, int rc, enum meta_row_id row, const void *rows,
                   const char *next);

#endif

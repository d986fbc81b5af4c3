/* rows.h - rows of the small tables as answers: {"rows":[…],"next":…}, or one object. */
#ifndef GPUFL_SERVER_API_ROWS_H
#define GPUFL_SERVER_API_ROWS_H

#include "meta/meta.h"
#include "server/api/call.h"

enum { ROWS_MEMORY = 64 << 20 /* bytes of the rows of one answer */ };

/* Rows lie one behind the other, each as large as its struct. next: NULL at the last page. */
void rows_send(struct call *c, enum meta_row_id row, const void *rows, size_t count,
               const char *next);
void rows_send_one(struct call *c, enum meta_row_id row, const void *from);

/* Answers call c with a page of meta rows: FILL, which returns 0 or a code, sets `rows` and `count`
 * from the region `mem`, and a sentence in `e`. next as above. */
#define ROWS_LIST(c, row, next, FILL)                                                              \
    do {                                                                                           \
        struct meta_##row *rows;                                                                   \
        size_t count = 0;                                                                          \
        struct region mem;                                                                         \
        struct err e = {0};                                                                        \
        region_init(&mem, ROWS_MEMORY);                                                            \
        int rc = (FILL);                                                                           \
        if (rc)                                                                                    \
            call_fail(c, rc, "list", &e);                                                          \
        else                                                                                       \
            rows_send(c, META_ROW_##row, rows, count, next);                                       \
        region_fini(&mem);                                                                         \
    } while (0)

#endif

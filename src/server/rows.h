/* rows.h - rows of the small tables as answers: {"rows":[…],"next":…}, or one object. */
#ifndef GPUFL_SERVER_ROWS_H
#define GPUFL_SERVER_ROWS_H

#include "server/call.h"
#include "store/meta.h"

enum { ROWS_MEMORY = 64 << 20 /* bytes of the rows of one answer */ };

/* Rows lie one behind the other, each as large as its struct. next: NULL at the last page. */
void rows_send(struct call *c, enum meta_row_id row, const void *rows, size_t count,
               const char *next);
void rows_send_one(struct call *c, enum meta_row_id row, const void *from);

#endif

/* table.h - idle time by line, for readers: the rows of lines.h by cause and place.
 *
 * Rows with a line come first, those with most time first of all; then come those without one, by
 * reason. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_TABLE_H
#define GPUFL_ANALYZE_MODEL_IDLE_TABLE_H

#include "analyze/model/idle/cause.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

struct idle_row {
    uint32_t place; /* in model.stacks; 0: no line, for `reason` */
    uint32_t cause, reason;
    bool ended_by;      /* the line launched what ended the time, and need not have taken it */
    bool inherited;     /* most of it is by looks at another thread than the launching one */
    uint32_t node;      /* the stack with most of it */
    uint32_t doing;     /* IDLE_DOING of more than half of the looks; 0: various, or unknown */
    uint32_t scope;     /* name of a path that begins with that of the innermost scope with half */
    size_t scope_bytes; /* of it, the part that is this scope; 0: there is none */
    int64_t ns, exact, estimated;
    int64_t half_width; /* ns of the estimate at 95 %; CELL_NULL: unknown */
    uint64_t looks;
    struct idle_longest longest; /* the gap with the longest part of it */
};

struct idle_table {
    struct idle_row *rows; /* owned */
    size_t count;
    size_t lines; /* of them, rows with a line */
    int64_t all;  /* ns of all rows in the share base (sum_idle_counts) */
};

/* Makes the table of a finished or settled model. The caller calls idle_table_fini always. 0 or
 * GPUFL_E_NOMEM. */
int idle_table_make(const struct model *m, struct idle_table *t);
void idle_table_fini(struct idle_table *t);

/* The reason is that nobody knows the line; false where there is none to know. */
bool idle_reason_is_unknown(enum idle_reason r);
const char *idle_reason_key(enum idle_reason r);  /* "no_samples", …; "" for IDLE_KNOWN */
const char *idle_reason_text(enum idle_reason r); /* for people, after a time */

/* The system call of IDLE_DOING in words: "futex", "read", …; "" where it has no name here. */
const char *idle_doing_call(uint32_t doing);
/* The state of IDLE_DOING for programs: "running", "blocked", …; "" where it is unknown. */
const char *idle_doing_key(uint32_t doing);

#endif

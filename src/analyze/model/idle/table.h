/* table.h - makes idle time by line, for readers: the rows of lines.h by cause and place.
 *
 * Rows with a line come first, the longest time first; then come rows without a line, by reason.
 * Called by the owner's thread only. */
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
    bool ended_by;  /* the line launched what ended the time, and need not have taken it */
    bool inherited; /* most of it comes from looks at another thread than the launching one */
    uint32_t node;  /* the stack with most of it */
    uint32_t doing; /* IDLE_DOING of more than half of the looks; 0: various, or unknown */
    uint32_t scope; /* name of a path; its beginning is the innermost scope with half of the time */
    size_t scope_bytes; /* length of that beginning; 0: there is no such scope */
    uint32_t ops;       /* like scope, of the launches' operators (operators.h) */
    size_t ops_bytes;
    int64_t ns, exact, estimated;
    int64_t half_width; /* ns of the estimate at 95 %; CELL_NULL: unknown */
    uint64_t looks;
    struct idle_longest longest;  /* the gap with the longest part of it */
    uint32_t launcher, looked_at; /* inherited: as in struct idle_line */
};

struct idle_table {
    struct idle_row *rows; /* owned */
    size_t count;
    size_t lines; /* of them, rows with a line */
    int64_t all;  /* ns of all rows in the share base (sum_idle_counts) */
};

/* Makes the table of a finished or settled model. The caller calls idle_table_fini in each case. 0
 * or GPUFL_E_NOMEM. */
int idle_table_make(const struct model *m, struct idle_table *t);
void idle_table_fini(struct idle_table *t);

/* Returns true if the reason means that the line is unknown; false if the time has no line. */
bool idle_reason_is_unknown(enum idle_reason r);
const char *idle_reason_key(enum idle_reason r);  /* "no_samples", …; "" for IDLE_KNOWN */
const char *idle_reason_text(enum idle_reason r); /* for people, after a time */

/* Returns the name of the system call in an IDLE_DOING: "futex", "read", …; "" for one without a
 * name here. */
const char *idle_doing_call(uint32_t doing);
/* Returns the state in an IDLE_DOING, for programs: "running", "blocked", …; "" if it is
 * unknown. */
const char *idle_doing_key(uint32_t doing);

#endif

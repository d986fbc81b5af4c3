/* ledger.h - the capture's own ledger, and whether its figures agree with the rows.
 *
 * The last ledger row counts. Its figures are compared with the rows that were really read, and
 * every difference gets a sentence: what is missing and why. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_LEDGER_H
#define GPUFL_ANALYZE_MODEL_LEDGER_H

#include "base/buf.h"
#include "wire/record.h"

#include <stdbool.h>

struct model;
struct wire_batch;

#define SUM_LEDGER_TAKES MODEL_TAKES(ledger)

struct sum_ledger {
    bool any;              /* a row was seen */
    bool final;            /* written after the last record; merged: in all sessions */
    struct ledger_row row; /* cells may be CELL_NULL; merged: sums of the known cells */
    unsigned without;      /* merged sessions that have no row */
};

enum ledger_verdict {
    LEDGER_ABSENT,     /* no row: nothing to compare */
    LEDGER_COMPLETE,   /* every launch has its record */
    LEDGER_UNCOUNTED,  /* nothing is known to be missing, but launches were not all counted */
    LEDGER_INCOMPLETE, /* something is missing: the sentences say what */
};

void sum_ledger_init(struct model *m);
void sum_ledger_fini(struct model *m);
int sum_ledger_batch(struct model *m, const struct wire_batch *b);
int sum_ledger_merge(struct model *into, const struct model *from, int64_t shift);
int sum_ledger_finish(struct model *m);

/* Returns the number of kernels launched, as far as they were counted: single ones and those of
 * graphs; CELL_NULL: not counted. */
int64_t sum_ledger_launched(const struct sum_ledger *l);

/* Returns the number of scopes that were opened and have no end in the log, although no record of
 * scopes was lost. */
int64_t sum_ledger_open_scopes(const struct sum_ledger *l);

/* Compares the ledger with the rows, and appends to out a sentence for each thing that is missing,
 * a line (LF) each. */
enum ledger_verdict sum_ledger_judge(const struct model *m, struct buf *out);

/* Returns a verdict as the JSON report has it: "absent", "complete", "uncounted" or
 * "incomplete". */
const char *sum_ledger_verdict_key(enum ledger_verdict v);

#endif

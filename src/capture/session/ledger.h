/* ledger.h - keeps counts of what was launched, recorded, written and lost, as one row.
 *
 * The row is written again whenever a count has changed, so that the log shows after a SIGKILL how
 * many launches there were. [collector] */
#ifndef GPUFL_CAPTURE_SESSION_LEDGER_H
#define GPUFL_CAPTURE_SESSION_LEDGER_H

#include "backend/backend.h"
#include "base/tick.h"
#include "capture/log/writer.h"
#include "capture/records/sink.h"

#include <stdbool.h>

struct ledger {
    struct ledger_row row;       /* the last one */
    const struct trace_ops *ops; /* NULL: nothing is traced */
    struct trace *trace;
    int64_t past_callbacks;           /* ns, of traces that ended before the session */
    bool past_counted;                /* one of these traces counted launches */
    const struct tick_curve *curve;   /* of counters in ticks */
    bool activity;                    /* kernels and copies have records */
    bool samples;                     /* PC samples are taken */
    bool counters;                    /* hardware counters are sampled */
    bool captures;                    /* some launches are captured with their stack */
    bool profile;                     /* metrics of instructions or counters are taken */
    uint64_t scopes_lost, joins_lost; /* lost by the collector itself */
    uint64_t launches_shared;         /* see inherit.several */
    int64_t cost_start;               /* ns in init */
    int64_t cost_sampler;             /* ns */
    int64_t stop_asked;               /* steady ns at which the end was asked for; 0: not yet */
};

/* Reads all counters into l->row. */
void ledger_read(struct ledger *l, struct capture_sink *s);

/* Reads the counters and writes a row if one has changed; a final row is always written. */
void ledger_write(struct ledger *l, struct capture_sink *s, bool final);

/* Writes one sentence about what was lost; "" if nothing was lost. */
void ledger_losses(const struct ledger_row *row, char *out, size_t size);

/* Writes debug lines: one for each loss, or that there is none. */
void ledger_debug(const struct ledger_row *r);

#endif

/* fleet_days.h - the sums of usage by day and by span, which change together with the rows of
 * sessions. All functions run inside the transaction that changes these rows. */
#ifndef GPUFL_META_FLEET_DAYS_H
#define GPUFL_META_FLEET_DAYS_H

#include "meta/inside.h"

/* These are the numbers of days of a span, and of spans of a block. The statements contain the
 * number 32 as well, and stored tables depend on it: it must never change. */
enum { META_SPAN = 32, META_FLEET_MEMORY = 64 << 20 };

/* Returns a text of a row; NULL is stored as an empty text. */
static inline const char *meta_fleet_text(const char *text)
{
    return text ? text : "";
}

/* Holds a session's usage before and after a change. */
struct meta_fleet_change {
    const char *session;
    const struct meta_usage *had, *has;
    size_t had_count, has_count;
};

/* Reads the rows of a session that are stored; in mem. */
int meta_fleet_usage(struct meta_tx *tx, const char *session, struct region *mem,
                     struct meta_usage **rows, size_t *count, struct err *e);

/* Replaces the session's old part of the sums with its new part. The session's rows have been
 * replaced already. INVAL: its days have a gap. */
int meta_fleet_change(struct meta_tx *tx, const struct meta_fleet_change *c, struct region *mem,
                      struct err *e);

/* Updates the sums after the session's findings were replaced, or before they are deleted with the
 * session. */
int meta_fleet_findings(struct meta_tx *tx, const char *session, struct err *e);
int meta_fleet_findings_gone(struct meta_tx *tx, const char *session, struct err *e);

/* Forgets usage and its sums before a day. */
int meta_fleet_days_forget(struct meta_tx *tx, int64_t day, struct err *e);

/* Holds the spans that lie wholly within some days, from `first` to before `last`, if there are
 * any: the days before these spans end with `before`, the days after them begin with `after`. */
struct meta_spans {
    int64_t first, last, before, after;
};

struct meta_spans meta_spans_in(int64_t from, int64_t to);

/* Adds the 8 parameters of a query for the distinct GPUs of some days. */
void meta_arg_gpu_spans(struct meta_args *a, int64_t from, int64_t to);

#endif

/* host_lines.h - makes findings about idle time in which the host ran its own code, by line, and
 * what the host did there.
 *
 * A line is listed where its time is worth a finding; what the host did at all other lines is
 * summed by activity. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_HOST_LINES_H
#define GPUFL_ANALYZE_INSIGHT_HOST_LINES_H

#include "analyze/insight/insight.h"
#include "analyze/model/idle/table.h"

/* Holds the time of an activity (activity.h). */
struct host_did {
    int64_t ns, by_cause[IDLE_CAUSES];
    uint64_t looks;
    double variance; /* ns² at 95 % */
    int64_t calls;   /* ns of idle time in calls for the activity; not part of `ns` */
    int64_t copies;  /* ns of copies on the GPU, of the session */
    struct idle_longest longest;
};

/* Holds the host's own time at a line, and in launches there. */
struct host_line {
    uint32_t place;
    int64_t ns, by_cause[IDLE_CAUSES];
    uint64_t looks;
    double variance; /* ns² at 95 % */
    struct idle_longest longest;
    int64_t most;   /* ns of the row that has most of the time */
    uint32_t doing; /* of that row, like main and inherited */
    enum idle_cause main;
    bool inherited;
    uint32_t launcher, looked_at; /* inherited: as in struct idle_line */
    struct host_did did[ACTIVITIES];
    enum idle_activity activity; /* the activity with at least half of the time */
    struct host_did stuck;       /* the part of the time in which the thread could not run */
};

/* Holds the time of an activity at all lines that have no finding about that activity. */
struct host_spread {
    struct host_did did, most; /* most: at the line with most of it */
    uint32_t place;            /* that line */
    uint64_t lines;
};

struct host_lines {
    struct host_line *items; /* owned: those that are worth a finding */
    size_t count;
    uint32_t *at; /* owned: by place, the item + 1 */
    int64_t none[IDLE_CAUSES][IDLE_REASONS];
    struct insight_heaviest ended[IDLE_CAUSES]; /* the line whose launches ended most time */
    struct insight_heaviest code; /* the line whose loads of code have most of that time */
    struct host_spread spread[ACTIVITIES];
    struct idle_longest ended_longest[IDLE_CAUSES], rest_longest[IDLE_CAUSES];
};

/* Finds the lines. Time that findings in `to` have already, such as a storm of launches, is not
 * counted again. 0 or GPUFL_E_NOMEM. The caller drops the lines in each case. */
int host_lines_find(const struct model *m, const struct insights *to, struct host_lines *l);
void host_lines_drop(struct host_lines *l);

#endif

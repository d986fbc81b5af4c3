/* storm.h - finds the lines of a storm of launches: where the host spent the time before slow
 * launches. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_STORM_H
#define GPUFL_ANALYZE_INSIGHT_STORM_H

#include "analyze/insight/insight.h"

enum { STORM_LINES = 3 };

/* Describes a line's part of that time. */
struct storm_line {
    uint32_t place;
    int64_t ns;
    int64_t ended;   /* ns of it for which only the launch that ended them is known */
    double variance; /* ns² at 95 % of the rest */
    uint64_t looks;
};

struct storm_lines {
    struct storm_line most[STORM_LINES]; /* those with most of the time, the largest first */
    size_t count;
    int64_t all; /* ns before slow launches */
};

/* Finds the lines. 0 or GPUFL_E_NOMEM. */
int storm_lines_find(const struct model *m, struct storm_lines *out);

/* Finds the gap with the longest time before a slow launch at the place; without one *longest does
 * not change. 0 or GPUFL_E_NOMEM. */
int storm_lines_longest(const struct model *m, uint32_t place, struct idle_longest *longest);

/* Returns the half width of the line's part at 95 %, ns; CELL_NULL: unknown, because most of the
 * part has no looks. */
int64_t storm_line_half_width(const struct storm_line *l);

/* Appends "; of the time before slow launches the host spent 42 % (± 7 points) at a.py:21 in f()
 * and 41 % (± 10 points) at a.py:23 in f(), by 18 samples"; nothing if no line has a tenth. */
void storm_lines_put(const struct model *m, const struct storm_lines *s, struct buf *out);

/* Appends the line with most of the time, "42 % ± 7 at a.py:21", for the first screen; nothing
 * if no line has a tenth. */
void storm_lines_put_first(const struct model *m, const struct storm_lines *s, struct buf *out);

#endif

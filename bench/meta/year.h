/* year.h - a year of finished sessions in the small tables, for benchmarks.
 *
 * Sessions start evenly over 365 days. Each has a host, an application, two GPUs with usage of one
 * day, a report, three findings, and in the sums 20 kernels, all other
 * kernels as one row, 10 scopes and 10 lines. Half of the
 * sessions can be dropped afterwards, as retention does: their sums stay. A failure ends the
 * program. Owner's thread. */
#ifndef GPUFL_BENCH_META_YEAR_H
#define GPUFL_BENCH_META_YEAR_H

#include "meta/meta.h"

enum {
    YEAR_DAYS = 365,
    YEAR_FIRST = 20001, /* day since the Unix epoch; no span begins with it */
    YEAR_PARTS = 41,    /* rows of sums of a session */
    YEAR_NAME = 64,     /* bytes of a name */
};

struct year {
    struct meta *m;
    const char *workspace;
    const char *rules; /* version of the rules that the reports are said to be made by */
    int sessions, apps, hosts;
};

struct year_names {
    char session[YEAR_NAME], app[YEAR_NAME], host[YEAR_NAME];
    char gpus[2][YEAR_NAME];
    int number; /* of the application */
    int64_t day;
};

/* Makes the names and the day of session i. */
void year_names(const struct year *y, int i, struct year_names *out);

/* Stores session i. Returns the seconds that its sums took. */
double year_put(const struct year *y, int i);

/* Drops session i. */
void year_drop(const struct year *y, int i);

#endif

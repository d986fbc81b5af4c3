/* columns_report.h - makes analyze's report from a session's columns, as `gpufl report` makes it
 * from files.
 *
 * The columns hold every row, header and count that the files hold, so that the reports are
 * equal, except for what depends on the place: the parts of the log, and symbols looked up on
 * the host. Any thread; others may write to the session concurrently, and then the report shows
 * some state in between. */
#ifndef GPUFL_SERVER_ANALYSIS_COLUMNS_REPORT_H
#define GPUFL_SERVER_ANALYSIS_COLUMNS_REPORT_H

#include "analyze/report/report.h"
#include "store/store.h"

/* The store that has the other sessions which took samples for this one. */
struct columns_place {
    struct store *store;
    const char *workspace;
};

/* A session's columns, and what the report takes from elsewhere. */
struct columns_source {
    const struct store_ops *ops;
    struct store_session *session;
    const struct columns_place *place; /* NULL: no other session can be asked */
    const char *dir;                   /* what the report has as the session's directory */
    const _Atomic bool *stop;          /* NULL: nobody stops the report */
};

/* NOENT: the columns have nothing to report. STATE: *stop became true meanwhile. */
int columns_report(struct report *r, const struct columns_source *from,
                   const struct gpufl_report_options *o, struct err *e);

/* The report's document: JSON as `gpufl report --json` writes it, collapsed stacks (NOENT: it
 * has none), or the digest for comparisons (analyze/compare/digest.h). malloc'ed by stdio:
 * free(). */
int columns_report_json(const struct report *r, char **text, size_t *len);
int columns_report_timeline(const struct report *r, char **text, size_t *len);
int columns_report_flame(const struct report *r, char **text, size_t *len);
int columns_report_digest(const struct report *r, char **text, size_t *len);

#endif

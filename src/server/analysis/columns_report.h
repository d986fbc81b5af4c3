/* columns_report.h - makes a report from a session's columns, like `gpufl report` from files.
 *
 * The columns have every row, header and count of the files, so the reports are equal, except for
 * the parts of the log, and for symbols that are looked up on the host. Called by any thread; if
 * others write to the session concurrently, the report shows some state in between. */
#ifndef GPUFL_SERVER_ANALYSIS_COLUMNS_REPORT_H
#define GPUFL_SERVER_ANALYSIS_COLUMNS_REPORT_H

#include "analyze/report/report.h"
#include "store/store.h"

/* This is the store that has the other sessions which took samples for this one. */
struct columns_place {
    struct store *store;
    const char *workspace;
};

/* Holds a session's columns, and what else the report needs. */
struct columns_source {
    const struct store_ops *ops;
    struct store_session *session;
    const struct columns_place *place; /* NULL: other sessions cannot be read */
    const char *dir;                   /* the report's text for the session's directory */
    const _Atomic bool *stop;          /* NULL: the report is not stopped */
};

/* Makes a report from columns. GPUFL_E_NOENT: the columns have nothing to report. GPUFL_E_STATE:
 * *stop became true. */
int columns_report(struct report *r, const struct columns_source *from,
                   const struct gpufl_report_options *o, struct err *e);

/* The functions make a document of the report: JSON as from `gpufl report --json`, the timeline's
 * JSON, collapsed stacks (GPUFL_E_NOENT: there are none), or the digest for comparisons
 * (analyze/compare/digest.h). stdio allocates the text; release it with free(). */
int columns_report_json(const struct report *r, char **text, size_t *len);
int columns_report_timeline(const struct report *r, char **text, size_t *len);
int columns_report_flame(const struct report *r, char **text, size_t *len);
int columns_report_digest(const struct report *r, char **text, size_t *len);

#endif

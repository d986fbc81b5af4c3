/* report.h - sessions read into models, for the text report and the JSON report.
 *
 * One session is read into the model. Several are read one after the other, each into a separate
 * model that is then merged, so that memory does not grow with their number. Called by the owner's
 * thread only. */
#ifndef GPUFL_ANALYZE_REPORT_REPORT_H
#define GPUFL_ANALYZE_REPORT_REPORT_H

#include "analyze/insight/insight.h"
#include "analyze/model/load.h"
#include "analyze/model/model.h"
#include "analyze/report/passes.h"

#include <gpufl/analysis.h>

/* Describes one line of the list of sessions. Names are ids of report.names. */
struct report_session {
    char *dir; /* owned */
    uint32_t session, app, host, run, engine, backend;
    struct facts_stand_in stand_in;
    uint32_t ending; /* how its program ended, if the session has no end; 0: unknown */
    int64_t pid;
    int64_t pass;     /* of `gpufl trace --passes`, from 1; 0: none */
    int64_t start;    /* ns since the epoch; 0: unknown */
    int64_t duration; /* ns */
    int64_t recorded; /* ns of duration in windows of capture; all of it if there are none */
    uint64_t kernels;
    int64_t kernel_time; /* ns, summed */
    int64_t busy;        /* ns, union */
    bool unread;         /* only its failure is known */
    bool simulated, unclean, end_unknown, cut_short;
    bool unknown;  /* its kernels are unknown: not recorded, or damaged */
    bool idle;     /* it did no work on a GPU */
    char *failure; /* owned: why it is left out; NULL: it is not */
};

/* Holds further bounds of the JSON report, for a writer that has to keep every report small. 0: no
 * bound but options.top. */
struct report_bounds {
    size_t configs;       /* of a kernel, those with most time */
    size_t scope_kernels; /* of a scope, those with most time */
};

struct report {
    struct intern *names;
    struct model model;              /* the session, or all of them merged */
    struct insights insights;        /* findings in model */
    struct load_stats stats;         /* summed */
    struct report_session *sessions; /* owned; by start */
    size_t count;                    /* number of sessions, those left out included */
    size_t failed;                   /* sessions that are left out */
    struct pass_group *groups;       /* owned: merged passes, by run */
    size_t group_count, group_cap;
    bool none_worked; /* no session worked on a GPU: then none is apart */
    unsigned runs;    /* number of different run ids; sessions without one count as one run */
    uint64_t foreign; /* files that are no part of a session */
    uint64_t losses;  /* the public client's marks for data it lost */
    struct gpufl_report_options options;
    struct report_bounds bounds; /* set after report_open */
};

int report_open(struct report *r, const char *path, const struct gpufl_report_options *o,
                struct err *e);
void report_close(struct report *r);

/* Describes one session that is not in files. */
struct report_source {
    void *arg;
    const char *dir; /* shown as its directory */
    /* Gives all rows of the session to the model; the stats are zeroed before. A failure comes with
     * a sentence. */
    int (*read)(void *arg, struct model *m, struct load_stats *stats, struct err *e);
    /* Gives the samples of the session with that id to a model with a filter. 0, GPUFL_E_NOMEM, or
     * GPUFL_E_NOENT: there is no such session. May be NULL. */
    int (*samples)(void *arg, const char *session, struct model *m);
};

/* Adds the samples that other sessions took for those of the report (shared.h). source: NULL if the
 * sessions are in files. 0 or GPUFL_E_NOMEM. */
int report_shared(struct report *r, const struct report_source *source);

int report_open_source(struct report *r, const struct report_source *s,
                       const struct gpufl_report_options *o, struct err *e);

/* Returns 0, GPUFL_E_NOMEM or GPUFL_E_IO. */
int report_text(const struct report *r, FILE *out);
int report_json(const struct report *r, FILE *out);

/* The functions return the names of the sections of the text report and of the JSON report, in
 * order; NULL after the last. */
const char *report_text_section(size_t i);
const char *report_json_section(size_t i);

/* Checks the names in options.sections. 0, or GPUFL_E_INVAL and a sentence. */
int report_check_sections(const struct gpufl_report_options *o, struct err *e);

/* report_has_sections returns true if options.sections has names, report_has_section if this name
 * is one of them. */
bool report_has_sections(const struct report *r);
bool report_has_section(const struct report *r, const char *name);

/* Returns true if the session did no work on a GPU while others did, so that no sum includes it. */
static inline bool report_is_without_work(const struct report *r, const struct report_session *s)
{
    return r->count > 1 && s->idle && !s->failure && !r->none_worked;
}

/* Returns the most rows of a table that may be cut; SIZE_MAX: all. */
static inline size_t report_top(const struct report *r)
{
    return r->options.top > 0 ? (size_t)r->options.top : SIZE_MAX;
}

/* Returns the smaller of the two numbers of rows; bound 0: none. */
static inline size_t report_bounded(size_t rows, size_t bound)
{
    return bound && bound < rows ? bound : rows;
}

/* Returns why instructions have no text, as the end of a sentence; the first reason of all
 * sessions. */
static inline const char *report_no_text(const struct report *r)
{
    const char *note = r->stats.symbols.code_note;
    return *note ? note : "the session does not hold them";
}

/* Writes SASS next to source for the functions that options.kernel names, and the hardware counters
 * of those kernels. GPUFL_E_NOENT if there is neither. */
int report_kernel(const struct report *r, FILE *out);
/* Writes collapsed stacks, one a line followed by a number: for flamegraph.pl and speedscope.
 * GPUFL_E_NOENT if there are none. */
int report_flame(const struct report *r, FILE *out);
/* Finds the lines of the session's stacks. Call before report_timeline, which writes them. 0 or
 * GPUFL_E_NOMEM. */
int report_timeline_places(struct report *r);
/* Writes, as JSON, what the timeline of one session shows besides its rows (docs/timeline.md): idle
 * gaps with cause and line, and the frames of stacks. 0, GPUFL_E_NOMEM or GPUFL_E_IO. */
int report_timeline(const struct report *r, FILE *out);

/* Returns the group that all sessions belong to; NULL: there is none. */
const struct pass_group *report_group(const struct report *r);

#endif

/* report.h - sessions read into models: what the text and the JSON report share.
 *
 * One session is read into the model. Several are read one after the other, each into a model of
 * its own that is then merged, so that memory does not grow with their number. One owner. */
#ifndef GPUFL_ANALYZE_REPORT_REPORT_H
#define GPUFL_ANALYZE_REPORT_REPORT_H

#include "analyze/insight/insight.h"
#include "analyze/model/load.h"
#include "analyze/model/model.h"
#include "analyze/report/passes.h"

#include <gpufl/analysis.h>

/* One line of the list of sessions. Names are ids of report.names. */
struct report_session {
    char *dir; /* owned */
    uint32_t session, app, host, run, engine, backend;
    struct facts_stand_in stand_in;
    uint32_t ending; /* how its program ended, where it left no end; 0: unknown */
    int64_t pid;
    int64_t pass;     /* of `gpufl trace --passes`, from 1; 0: none */
    int64_t start;    /* ns since the epoch; 0: unknown */
    int64_t duration; /* ns */
    int64_t recorded; /* ns of it in windows of capture; all of it where there are none */
    uint64_t kernels;
    int64_t kernel_time; /* ns, summed */
    int64_t busy;        /* ns, union */
    bool unread;         /* nothing of it is known but its failure */
    bool simulated, unclean, end_unknown, cut_short;
    bool unknown;  /* nobody knows what kernels it ran: not recorded, or damaged */
    bool idle;     /* it did no work on a GPU */
    char *failure; /* owned: why it is left out; NULL: it is in */
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
    bool none_worked; /* no session did: then none is apart */
    unsigned runs;    /* different run ids among them; sessions without one count as one */
    uint64_t foreign; /* files that are no part of a session */
    uint64_t losses;  /* the public client's marks for data it lost */
    struct gpufl_report_options options;
};

int report_open(struct report *r, const char *path, const struct gpufl_report_options *o,
                struct err *e);
void report_close(struct report *r);

/* One session that does not lie in files. */
struct report_source {
    void *arg;
    const char *dir; /* shown as its directory */
    /* Feeds the model with all of the session; the stats are zeroed. A sentence where it fails. */
    int (*read)(void *arg, struct model *m, struct load_stats *stats, struct err *e);
    /* Feeds another model, which has a filter, with the samples of the session of that id. 0,
     * NOMEM, or NOENT: that session is not here. May be NULL. */
    int (*samples)(void *arg, const char *session, struct model *m);
};

/* Adds the samples that sessions beyond these took for them (shared.h). source: NULL where they lie
 * in files. 0 or GPUFL_E_NOMEM. */
int report_shared(struct report *r, const struct report_source *source);

int report_open_source(struct report *r, const struct report_source *s,
                       const struct gpufl_report_options *o, struct err *e);

/* 0, GPUFL_E_NOMEM or GPUFL_E_IO. */
int report_text(const struct report *r, FILE *out);
int report_json(const struct report *r, FILE *out);

/* The names of sections, in their order; NULL at the end: those that text has, and those that JSON
 * has. */
const char *report_text_section(size_t i);
const char *report_json_section(size_t i);

/* Checks the names in options.sections. 0, or GPUFL_E_INVAL and a sentence. */
int report_check_sections(const struct gpufl_report_options *o, struct err *e);

/* True where options.sections has names; and where this name is one of them. */
bool report_has_sections(const struct report *r);
bool report_has_section(const struct report *r, const char *name);

/* The session is one of several, did no work on a GPU while others did, and is in no sum. */
static inline bool report_is_apart(const struct report *r, const struct report_session *s)
{
    return r->count > 1 && s->idle && !s->failure && !r->none_worked;
}

/* Rows of a table that may be cut; SIZE_MAX: all. */
static inline size_t report_top(const struct report *r)
{
    return r->options.top > 0 ? (size_t)r->options.top : SIZE_MAX;
}

/* Why instructions have no text, as the end of a sentence; the first reason of all sessions. */
static inline const char *report_no_text(const struct report *r)
{
    const char *note = r->stats.symbols.code_note;
    return *note ? note : "the session does not hold them";
}

/* Writes SASS next to source for the functions that options.kernel names, and the hardware
 * counters of those kernels. GPUFL_E_NOENT where there are neither. */
int report_kernel(const struct report *r, FILE *out);
/* Writes collapsed stacks, one a line followed by a number: for flamegraph.pl and speedscope.
 * GPUFL_E_NOENT where there are none. */
int report_flame(const struct report *r, FILE *out);
/* Finds the lines of the session's stacks, which report_timeline writes. 0 or GPUFL_E_NOMEM. */
int report_timeline_places(struct report *r);
/* Writes, as JSON, what a timeline of one session shows beyond its rows (docs/timeline.md): idle
 * gaps with cause and line, and what stacks are. 0, GPUFL_E_NOMEM or GPUFL_E_IO. */
int report_timeline(const struct report *r, FILE *out);

/* The one group that all sessions are of; NULL: there is none. */
const struct pass_group *report_group(const struct report *r);

#endif

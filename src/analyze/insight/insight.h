/* insight.h - what slows a program down, as findings with evidence.
 *
 * Rules are rows of one table (insight.def) and functions over a finished model, whose parts have
 * summed up all rows already: their cost does not grow with the session, and they give equal
 * answers for one session and for many merged. A finding says which line or kernel, how much of
 * the run it could give back at most by its rule's bound, from which numbers, and what to do.
 *
 * Findings are in the order of what fixing each alone would give back: by bands (more than 25 %,
 * more than 5 %, 1 % of the run or more, less, nothing), in a band those with a measured bound
 * before those with an estimated one, then by ns. A finding whose time another one at its line has
 * already is no card of its own (part_of). Owner's thread. */
#ifndef GPUFL_ANALYZE_INSIGHT_INSIGHT_H
#define GPUFL_ANALYZE_INSIGHT_INSIGHT_H

#include "analyze/model/model.h"
#include "base/buf.h"

#include <stdbool.h>

enum insight_category {
#define CATEGORY(name, text) INSIGHT_##name,
#include "analyze/insight/insight.def"
};

enum insight_severity {
#define SEVERITY(name, text) INSIGHT_##name,
#include "analyze/insight/insight.def"
};

enum insight_bound { INSIGHT_MEASURED, INSIGHT_ESTIMATED };

/* Parts of the GPUs' time that a finding is about: idle time by enum idle_cause, and these. */
enum {
    INSIGHT_OF_KERNELS = IDLE_CAUSES,
    INSIGHT_OF_COPIES,
    INSIGHT_OF_RANKS, /* kernels that only waited for another rank */
    INSIGHT_PARTS
};

enum { INSIGHT_EVIDENCE = 12, INSIGHT_RULE_MOST = 64 /* findings of one rule */ };

enum {
#define LIMIT(name, value, unit, reason) INSIGHT_##name = value,
#include "analyze/insight/insight.def"
};

struct insights;

struct insight_rule {
    const char *id;
    enum insight_category category;
    enum insight_bound bound;
    const char *fires, *severity, *gives_back, *next;        /* sentences */
    int (*find)(const struct model *m, struct insights *to); /* 0 or GPUFL_E_NOMEM */
};

struct insight_limit {
    const char *name;
    int64_t value;
    const char *unit, *reason;
};

/* A number that a finding rests on. */
struct insight_fact {
    const char *key; /* for programs; a literal */
    int64_t value;
};

struct insight {
    const struct insight_rule *rule;
    enum insight_severity severity;
    char *title, *text; /* owned: a few words, and a sentence or two */
    char *inside;       /* owned: "45 % of it in f()", what most of it is below the line, or, of a
                           finding without a line, at which most of it is; or NULL */
    const char *next;   /* one step; a literal */
    uint32_t place;     /* in model.stacks; 0: no line */
    uint32_t file;      /* name: the line is one of device code; 0: none */
    int64_t line;
    uint32_t kernel;    /* name, mangled; 0: none */
    uint32_t scope;     /* name of its path: the finding is about what ran there; 0: none */
    uint32_t device;    /* index in model.devices; 0: none */
    int64_t gives_back; /* ns of the run, at most; by the rule's bound */
    int64_t least;      /* ns, at least if the step can be taken; CELL_NULL: unknown */
    int64_t half_width; /* ns of it at 95 %; 0: all of it was measured; CELL_NULL: unknown */
    int64_t calls;      /* ns of it that are idle time in calls at its line */
    bool ended_by;      /* the line launched what ended the time, and need not have taken it */
    bool of_rule;       /* it has the time of all findings of its rule */
    bool once;          /* its time is of the start, which a program pays once (start.h) */
    bool of_host;       /* it has the host's own time at its line */
    uint32_t state;     /* IDLE_DOING_STATE: the time in which a thread was in it; 0: none */
    int64_t of[INSIGHT_PARTS]; /* ns of each part of the time that it is about, of all devices */
    unsigned band;             /* of gives_back: 0 is nothing */
    size_t part_of;            /* index + 1 of the finding that has its time; 0: none */
    struct insight_fact facts[INSIGHT_EVIDENCE];
    unsigned fact_count;
};

struct insights {
    struct insight *items; /* owned; in order */
    size_t count, cap;
    uint64_t left_out; /* findings beyond INSIGHT_RULE_MOST per rule: those that give least */
};

extern const struct insight_rule insight_rules[];
extern const size_t insight_rule_count;
extern const struct insight_limit insight_limits[];
extern const size_t insight_limit_count;

/* Bands of what a finding gives back. The first screen has those from INSIGHT_BAND_WORTH on. */
enum {
    INSIGHT_BAND_NONE,
    INSIGHT_BAND_LITTLE,
    INSIGHT_BAND_WORTH,
    INSIGHT_BAND_MORE,
    INSIGHT_BAND_MOST
};

/* Runs every rule over a finished (or settled) model. 0 or GPUFL_E_NOMEM. */
int insights_find(const struct model *m, struct insights *out);
void insights_fini(struct insights *in);

const char *insight_category_name(enum insight_category c); /* "SYNCHRONIZATION", … */
const char *insight_severity_name(enum insight_severity s); /* "HIGH", … */

/* ---- for rules --------------------------------------------------------------------------- */

/* Adds a finding; *at is filled in by the caller afterwards, before the next. Title and text are
 * formatted by insight_say. */
int insight_add(struct insights *to, const char *id, struct insight **at);

/* The rule with that id, which exists. */
const struct insight_rule *insight_rule_of(const char *id);

/* True where many kernels are launched one by one between launches of CUDA or HIP graphs, again and
 * again, and the graphs are the program's or its compiler's (not XLA's, which chooses what is in
 * them). */
bool insight_graphs_break(const struct model *m);
int insight_say(char **to, struct buf *text); /* takes the text and empties it; frees *to */
void insight_fact(struct insight *i, const char *key, int64_t value);

/* Adds ns of a part of the time (an enum idle_cause, INSIGHT_OF_KERNELS, …) that it is about. */
void insight_of(struct insight *i, int part, int64_t ns);
/* … of idle time by cause. */
void insight_of_causes(struct insight *i, const int64_t ns[IDLE_CAUSES]);

/* Appends what idle time of these causes (as in idle_fork_find) is below the finding's line, and
 * takes the largest part for the first screen where that is known well enough. Nothing where the
 * line itself has the time. 0 or GPUFL_E_NOMEM. */
int insight_inside(const struct model *m, struct insight *i, uint32_t causes, struct buf *text);

/* Adds where and how long the longest one of a finding's events is: ns of the session's clock. With
 * end == start there is none, and no fact. */
void insight_fact_longest(const struct model *m, struct insight *i, int64_t start, int64_t end);

/* Severity by the share of the run that could be given back. */
enum insight_severity insight_by_share(const struct model *m, int64_t ns);

/* ns are at least `limit` in `of` (100 or 1000) of the run. */
bool insight_is_share(const struct model *m, int64_t ns, int64_t limit, int64_t of);

/* The part of the run that a sum of kernel times is. Where kernels overlap or run on several
 * devices, the whole sum cannot be given back. */
int64_t insight_of_run(const struct model *m, int64_t kernel_ns);
/* The part of one kernel's time that lies in the share base; and the part of a sum of times. */
int64_t insight_of_kernel(const struct model *m, const struct kernel_name *k, int64_t kernel_ns);
int64_t insight_of_steady(const struct model *m, double kernel_ns);

/* The place with most of a sum, where it is a line that a person can go to; 0: none. */
struct insight_heaviest {
    uint32_t place;
    int64_t part, all;
    int64_t half_width; /* of the part at 95 %; CELL_NULL: unknown */
};

/* Gives a finding about a whole time the line that has at least half of it, and only that line's
 * part of the time; without such a line the finding stays whole and has none. */
void insight_own(struct insight *i, const struct insight_heaviest *h);

/* The length of a title without the place and the figures that titles of waits end with, for where
 * both stand beside it. */
size_t insight_title_words(const struct insight *i);

/* A line that a person can go to, where the host waited. */
bool insight_line_is_known(const struct model *m, const struct wait_line *l);
/* True where sync_loop reports the line. */
bool insight_line_loops(const struct model *m, const struct wait_line *l);

/* ns of the share base in which small copies to the host ran that the line's waits read, as far
 * as no kernel ran beside them; 0 where they are few. */
int64_t insight_reads(const struct model *m, const struct wait_line *l);

/* sums: by place. all: their total, unknown places included. */
struct insight_heaviest insight_heaviest(const struct model *m, const int64_t *sums, int64_t all);

/* "; 83 % of it at train.py:90 in train_step()"; nothing for place 0. */
void insight_put_heaviest(const struct model *m, const struct insight_heaviest *h, const char *of,
                          struct buf *out);

/* ns of the share base in which copies ran and no kernel. */
int64_t insight_copies_alone(const struct model *m);

/* Findings about what kept the thread that launches from running, at whatever line (states.c), and
 * their steps. */
int insight_states(const struct model *m, struct insights *to);
/* The title of such a finding for an IDLE_DOING; "" where the thread could run. */
const char *insight_state_title(uint32_t doing);
extern const char insight_more_cores[], insight_less_gil[];

/* Idle time of one cause, and its gaps; none where it exceeds the run: the clock jumped. */
struct insight_idle {
    unsigned devices;
    int64_t time; /* ns of the run: of a device on average */
    int64_t all;  /* ns, of all devices */
    uint64_t gaps;
    struct idle_longest longest;
};

struct insight_idle insight_idle_of(const struct model *m, enum idle_cause c);

/* A kernel's demangled name, shortened; for 0 that it is not known. */
void insight_put_kernel(const struct model *m, uint32_t name, struct buf *out);

/* " at train.py:90 in train_step()", " in a library, at …", or whatever is known of the place;
 * nothing for place 0. */
void insight_put_where(const struct model *m, uint32_t place, struct buf *out);

#define INSIGHT(id, category, bound, fires, severity, gives_back, next)                            \
    int insight_##id(const struct model *m, struct insights *to);
#include "analyze/insight/insight.def"

#endif

/* insight.h - says what slows a program down, as findings with evidence.
 *
 * A rule is a row of insight.def and a function over a finished model. The model has summed up all
 * rows, so the cost of a rule does not grow with the session, and a rule treats merged sessions
 * like one. A finding names the line or kernel, what of the run it could give back at most by its
 * rule's bound, the numbers that it rests on, and what to do.
 *
 * Findings are sorted by what fixing each of them alone would give back: by bands (more than 25 %,
 * more than 5 %, 1 % of the run or more, less, nothing); in a band those with a measured bound come
 * before those with an estimated one, then by ns. A finding whose time belongs to another finding
 * at its line is shown as a part of that one (part_of). Called by the owner's thread only. */
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

/* Lists the parts of the GPUs' time that a finding can be about: idle time by enum idle_cause, and
 * these. */
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

/* This is a number that is evidence of a finding. */
struct insight_fact {
    const char *key; /* for programs; a literal */
    int64_t value;
};

struct insight {
    const struct insight_rule *rule;
    enum insight_severity severity;
    char *title, *text; /* owned: a few words, and a sentence or two */
    /* owned: "45 % of it in f()": what has most of the time below the line, or for a finding
     * without a line the line with most of it; or NULL */
    char *inside;
    const char *next; /* one step; a literal */
    uint32_t place;   /* in model.stacks; 0: no line */
    uint32_t file;    /* name: the line is one of device code; 0: none */
    int64_t line;
    uint32_t kernel;    /* name, mangled; 0: none */
    uint32_t scope;     /* name of its path: the finding is about what ran there; 0: none */
    uint32_t device;    /* index in model.devices; 0: none */
    int64_t gives_back; /* ns of the run, at most; by the rule's bound */
    int64_t least;      /* ns given back at least if the step is possible; CELL_NULL: unknown */
    int64_t half_width; /* ns of gives_back at 95 %; 0: all was measured; CELL_NULL: unknown */
    int64_t calls;      /* ns of gives_back that are idle time in calls at the line */
    bool ended_by;      /* the line launched what ended the time, and need not have taken it */
    bool of_rule;       /* it has the time of all findings of its rule */
    bool once;          /* its time is in the program's start, which happens once (start.h) */
    bool of_host;       /* it has the host's own time at its line */
    uint32_t state;     /* IDLE_DOING_STATE of the thread in that time; 0: none */
    int64_t of[INSIGHT_PARTS]; /* ns of each part of the time, of all devices */
    unsigned band;             /* of gives_back: 0 is nothing */
    size_t part_of;            /* index + 1 of the finding whose time includes its own; 0: none */
    struct insight_fact facts[INSIGHT_EVIDENCE];
    unsigned fact_count;
};

struct insights {
    struct insight *items; /* owned; in order */
    size_t count, cap;
    uint64_t left_out; /* findings beyond INSIGHT_RULE_MOST of a rule, which give back least */
};

extern const struct insight_rule insight_rules[];
extern const size_t insight_rule_count;
extern const struct insight_limit insight_limits[];
extern const size_t insight_limit_count;

/* Names the bands of what a finding gives back. The first screen shows bands from
 * INSIGHT_BAND_WORTH on. */
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

/* Adds a finding. The caller fills in *at before it adds the next one; insight_say sets title and
 * text. */
int insight_add(struct insights *to, const char *id, struct insight **at);

/* Returns the rule with that id, which exists. */
const struct insight_rule *insight_rule_of(const char *id);

/* Returns true if many kernels are launched one by one between launches of CUDA or HIP graphs,
 * again and again, and the graphs are the program's or its compiler's (not XLA's, which chooses
 * what is in them). */
bool insight_graphs_break(const struct model *m);
int insight_say(char **to, struct buf *text); /* takes the text and empties it; frees *to */
void insight_fact(struct insight *i, const char *key, int64_t value);

/* Adds ns of a part of the time that the finding is about: an enum idle_cause, INSIGHT_OF_KERNELS,
 * …. */
void insight_of(struct insight *i, int part, int64_t ns);
/* Adds idle time by cause. */
void insight_of_causes(struct insight *i, const int64_t ns[IDLE_CAUSES]);

/* Appends how idle time of these causes (see idle_fork_find) is divided below the finding's line.
 * Sets i->inside to the largest part where that is known well enough. Appends nothing if the
 * line itself has the time. 0 or GPUFL_E_NOMEM. */
int insight_inside(const struct model *m, struct insight *i, uint32_t causes, struct buf *text);
/* Does so for the time in the calls of a line that waits. */
int insight_inside_waits(const struct model *m, struct insight *i, const struct wait_line *l,
                         struct buf *text);

/* Adds facts about the longest of a finding's events: when it was and how long, ns of the session's
 * clock. end == start: there is no event, and no fact is added. */
void insight_fact_longest(const struct model *m, struct insight *i, int64_t start, int64_t end);

/* Returns the severity by the share of the run that could be given back. */
enum insight_severity insight_by_share(const struct model *m, int64_t ns);

/* Returns true if ns are at least `limit` parts in `of` (100 or 1000) of the run. */
bool insight_is_share(const struct model *m, int64_t ns, int64_t limit, int64_t of);

/* Returns the part of the run that a sum of kernel times can give back. It is less than the sum
 * where kernels overlap or run on several devices. */
int64_t insight_of_run(const struct model *m, int64_t kernel_ns);
/* insight_of_kernel returns the part of a time of one kernel that lies in the share base.
 * insight_of_steady returns that part of a sum of kernel times. */
int64_t insight_of_kernel(const struct model *m, const struct kernel_name *k, int64_t kernel_ns);
int64_t insight_of_steady(const struct model *m, double kernel_ns);

/* This is the place with the largest part of a sum. Only a line that a person can open counts; 0:
 * none. */
struct insight_heaviest {
    uint32_t place;
    int64_t part, all;
    int64_t half_width; /* of the part at 95 %; CELL_NULL: unknown */
};

/* Reduces a finding to the line that has at least half of its time: the finding gets this line, and
 * only its part of the time. Without such a line nothing changes. */
void insight_own(struct insight *i, const struct insight_heaviest *h);

/* Returns the length of a title without its end: titles of waits end with the place and figures,
 * which some tables show in columns of their own. */
size_t insight_title_words(const struct insight *i);

/* Returns true if the host waited at a line that a person can open. */
bool insight_line_is_known(const struct model *m, const struct wait_line *l);
/* Returns true if sync_loop reports the line. */
bool insight_line_loops(const struct model *m, const struct wait_line *l);

/* Returns the ns of the share base that small copies to the host took whose values the line's waits
 * wait for; at most the time in which copies ran without a kernel. 0 if such copies are few. */
int64_t insight_reads(const struct model *m, const struct wait_line *l);

/* Finds the place with the largest sum. sums: by place. all: their total with unknown places. */
struct insight_heaviest insight_heaviest(const struct model *m, const int64_t *sums, int64_t all);

/* Appends "; 83 % of it at train.py:90 in train_step()"; nothing for place 0. */
void insight_put_heaviest(const struct model *m, const struct insight_heaviest *h, const char *of,
                          struct buf *out);

/* Returns the ns of the share base in which copies ran and no kernel. */
int64_t insight_copies_alone(const struct model *m);

/* Adds findings about states in which the launching thread could not run, whatever the line
 * (states.c). */
int insight_states(const struct model *m, struct insights *to);
/* Returns the title of such a finding, for an IDLE_DOING; "" if the thread could run. */
const char *insight_state_title(uint32_t doing);
extern const char insight_more_cores[], insight_less_gil[];

/* Holds the idle time of one cause, and its gaps. All 0 if the time exceeds the run, which means
 * that the clock jumped. */
struct insight_idle {
    unsigned devices;
    int64_t time; /* ns of the run: of a device on average */
    int64_t all;  /* ns, of all devices */
    uint64_t gaps;
    struct idle_longest longest;
};

struct insight_idle insight_idle_of(const struct model *m, enum idle_cause c);

/* Appends a kernel's demangled name, shortened; for 0 that the kernel is unknown. */
void insight_put_kernel(const struct model *m, uint32_t name, struct buf *out);

/* Appends " at train.py:90 in train_step()", " in a library, at …", or what else is known of the
 * place; nothing for place 0. */
void insight_put_where(const struct model *m, uint32_t place, struct buf *out);
/* Puts the name of a cause of idle time as a title: "Late launches". */
void insight_put_cause(enum idle_cause c, struct buf *out);

#define INSIGHT(id, category, bound, fires, severity, gives_back, next)                            \
    int insight_##id(const struct model *m, struct insights *to);
#include "analyze/insight/insight.def"

#endif

/* lines.h - sums up waits by line: which lines of the program waited for the GPU, and how long.
 * kinds.h sums this time by kind of synchronization; list.h has the single waits.
 *
 * Calls that can wait come from `wait` rows, or from `sync` rows if a session has no `wait` rows.
 * Each call is added to the line that its stack names. Blocked time is a union, for a line and for
 * the session, so that no share is above 100 % however many threads wait concurrently. A stream
 * that waits for an event does not block the host and is listed apart.
 *
 * The launches between two consecutive calls of one line and thread are counted: the different
 * correlation ids of kernel rows, or the thread's own launches if these are more. This number
 * distinguishes a wait in a loop with work in between from a wait that is merely frequent. Called
 * by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_WAITS_LINES_H
#define GPUFL_ANALYZE_MODEL_WAITS_LINES_H

#include "analyze/common/busy.h"
#include "analyze/common/histogram.h"
#include "analyze/model/waits/list.h"
#include "base/keyed.h"
#include "wire/wait_call.h"

#include <stdbool.h>

struct model;
struct wire_batch;

#define SUM_WAIT_LINES_TAKES                                                                       \
    (MODEL_TAKES(wait) | MODEL_TAKES(sync) | MODEL_TAKES(kernel) | MODEL_TAKES(thread))

/* Lists the classes of calls, whose loops are judged separately. */
enum wait_class { WAIT_EXPLICIT, WAIT_COPIES, WAIT_MEMORY, WAIT_CLASSES };

/* Counts calls that seldom wait (asynchronous forms and rare calls) and are in the log because they
 * took long. They waited for the GPU, or the host's scheduler delayed them. */
struct wait_slow {
    uint64_t calls;
    int64_t time, longest; /* ns */
};

struct wait_line {
    uint32_t place; /* in model.stacks; 0: no stack */
    uint32_t apart; /* 1: streams wait for events */
    /* not of the key: */
    uint32_t node;                          /* one of its stacks; 0: none */
    uint32_t threads;                       /* threads that called it, summed over sessions */
    uint64_t calls[WAIT_CALLS];             /* by wait.call */
    int64_t time[WAIT_CALLS];               /* ns, summed */
    struct wait_slow slow[WAIT_CALLS];      /* of these, calls that need not have waited */
    uint64_t count;                         /* all calls */
    struct busy blocked;                    /* ns in which a thread was in one of these calls */
    struct histogram wait;                  /* ns a call */
    struct histogram between[WAIT_CLASSES]; /* launches between consecutive calls of a thread */
    uint64_t small;                         /* copies of at most WAIT_SMALL bytes */
    int64_t small_time;                     /* ns, of these */
    int64_t small_start, small_end;         /* ns, the longest of these */
    int64_t rest;                           /* ns of calls that were only counted, in no union */
    int64_t idle;                /* ns of GPU idle time blamed on it, all devices (sum_idle) */
    int64_t idle_in[WAIT_CALLS]; /* `idle` by the call that caused it */
    int64_t lead;             /* ns of idle time that the waits cause, all devices (idle/lead.h) */
    int64_t lead_least;       /* lower bound of lead, if replayed */
    bool replayed;            /* all sessions of the line were replayed */
    int64_t first;            /* ns, start of the first call */
    struct wait_item longest; /* its stack is an id of the log, meaningless after finish */
    uint32_t thread;          /* name of the thread of `longest`; 0: unknown */
};

struct wait_stack {
    uint32_t line, node; /* index in lines; node in model.stacks */
    /* not of the key: */
    uint64_t calls;
    int64_t time; /* ns, summed */
};

enum { WAIT_SMALL = 16 << 10 }; /* bytes of a copy that costs its call, not its data */

struct sum_wait_lines {
    struct wait_list waits, syncs; /* rows of `wait` and of `sync`; empty after model_finish */
    struct corr_set kernels;       /* correlation ids of kernels; empty after model_finish */
    struct keyed threads;          /* names by the log's id; empty after model_finish */
    struct keyed rest;             /* calls without room in the list, by stack and call */
    struct keyed lines;            /* struct wait_line; item 0: lines without room */
    struct keyed stacks;           /* struct wait_stack */
    struct busy blocked;           /* a thread was in a call that waits */
    int64_t memory_lead;           /* ns of idle time that calls for memory cause (idle/lead.h) */
    uint64_t calls;                /* calls that can block the host */
    uint64_t beyond;               /* calls that were only counted */
    uint64_t invalid;              /* rows without a usable interval, in no sum */
    uint64_t unstacked;            /* calls whose stack is not known */
};

/* Returns the name of a thread with its id, "python (4711)", or the id alone, as a name of the
 * model; 0: unknown, or no room for the name. */
uint32_t sum_wait_lines_thread(struct model *m, uint32_t id);

void sum_wait_lines_init(struct model *m);
void sum_wait_lines_fini(struct model *m);
int sum_wait_lines_batch(struct model *m, const struct wire_batch *b);
int sum_wait_lines_merge(struct model *into, const struct model *from, int64_t shift);
int sum_wait_lines_finish(struct model *m);

/* Returns the waits of a session that is being read, sorted; NULL: out of memory. */
const struct wait_list *sum_wait_lines_waits(struct model *m);

/* Frees the waits, at the end of model_finish. */
void sum_wait_lines_drop_waits(struct sum_wait_lines *s);

/* Adds ns of GPU idle time to the line of a stack of the log. Call between sum_wait_lines_finish
 * and the end of model_finish. */
int sum_wait_lines_blame(struct model *m, uint32_t stack, int call, int64_t ns);

/* Finds the line of a wait, an index in lines. May be called as long as sum_wait_lines_blame. 0 or
 * GPUFL_E_NOMEM. */
int sum_wait_lines_find(struct model *m, const struct wait_item *w, uint32_t *line);

bool sum_wait_lines_blocks(int call); /* true if the call blocks the host */
struct words;
const char *sum_wait_lines_call(int call); /* "stream", "copy", …, for programs; never NULL */
/* Does what sum_wait_lines_call does, in the vendor's words; and in the plural, "stream
 * synchronizations", … */
const char *sum_wait_lines_word(int call, const struct words *w);
const char *sum_wait_lines_calls(int call, const struct words *w);

static inline const struct wait_line *sum_wait_lines_at(const struct sum_wait_lines *s, size_t i)
{
    return (const struct wait_line *)keyed_at(&s->lines, i);
}

/* Returns the indexes of *count lines, the longest blocked time first, lines that do not block
 * last. The caller frees the list; NULL: out of memory. */
uint32_t *sum_wait_lines_sorted(const struct model *m, size_t *count);

/* Returns *count stacks by line, those of one line by time, the longest first. The caller frees the
 * list; NULL: out of memory. */
const struct wait_stack **sum_wait_lines_stacks(const struct model *m, size_t *count);
/* Returns the index in that list of a line's first stack, or where it would be. */
size_t sum_wait_lines_first_stack(const struct wait_stack *const *list, size_t count,
                                  uint32_t line);

/* Returns the ns in which a thread was in one of the line's calls; at most the length of the
 * run. */
int64_t sum_wait_lines_blocked(const struct model *m, const struct wait_line *l);
/* Does what sum_wait_lines_blocked does, for all lines together. */
int64_t sum_wait_lines_blocked_all(const struct model *m);
/* Sums up the number of calls of all lines that only wait (for events, streams, contexts), and
 * their time, ns, summed. */
void sum_wait_lines_explicit(const struct model *m, uint64_t *count, int64_t *total);
/* Returns the ns from the session's start to the first of the line's calls in the list of waits;
 * CELL_NULL: there is none. */
int64_t sum_wait_lines_first(const struct model *m, const struct wait_line *l);
/* Does what sum_wait_lines_first does, for the line's longest call. */
int64_t sum_wait_lines_longest(const struct model *m, const struct wait_line *l);

/* Returns the kind of call that has most of the line's time. */
enum wait_call sum_wait_lines_main_call(const struct wait_line *l);

#endif

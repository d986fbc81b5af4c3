/* parts.h - keeps the parts of gaps by what is known of their line, while causes are found.
 *
 * A part either has the stack of what delayed the GPU (a call that waited, a launch that had
 * begun), or it is the host's own time before a launch. The latter has a class, and the looks at
 * the thread in that time. A class is a thread, the stack of the launch that ends the time, and a
 * cause, since long and short pauses before one launch come from different lines. At the end
 * lines.h makes rows from the parts. Stacks are ids of the log. A part without room counts as lost:
 * the parts of all causes always sum up to the idle time. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_PARTS_H
#define GPUFL_ANALYZE_MODEL_IDLE_PARTS_H

#include "analyze/model/idle/cause.h"
#include "base/keyed.h"

struct idle_look;

/* Holds the time, ns, with a stack. */
struct idle_part {
    uint32_t stack, cause, scope; /* scope: a handle; 0: none */
    uint32_t flags;               /* enum idle_flag */
    /* not of the key: */
    int64_t time;
    struct idle_longest longest;
};

/* Holds the host's own time of a class. */
struct idle_own {
    uint32_t thread, stack, cause, scope;
    /* not of the key: */
    int64_t time;
    struct idle_longest longest;
};

/* Says at which thread a look was. */
enum idle_seen_how {
    IDLE_SEEN_OWN,       /* at the thread itself */
    IDLE_SEEN_INHERITED, /* at the only other thread that ran Python */
    IDLE_SEEN_SEVERAL,   /* at one of several such threads */
    IDLE_SEEN_NATIVE,    /* at the thread itself, which runs no Python and did not run */
    IDLE_SEEN_RUNNING,   /* so, but it ran: only the launch that ended the time is known */
};

/* Looks with equal stacks in the own time of a class. */
struct idle_seen {
    uint32_t own; /* index in own */
    uint32_t stack;
    uint32_t doing; /* IDLE_DOING(state, syscall + 1) */
    uint32_t how;   /* enum idle_seen_how */
    uint32_t torn;  /* the stack could not be read */
    /* not of the key: */
    uint64_t count;
    struct idle_longest longest; /* the gap with most own time in which such a look lies */
    uint32_t thread;             /* of the looks; 0: unknown; IDLE_SEVERAL_THREADS */
};

struct idle_parts {
    struct keyed known;                      /* struct idle_part */
    struct keyed own;                        /* struct idle_own */
    struct keyed seen;                       /* struct idle_seen */
    int64_t none[IDLE_CAUSES][IDLE_REASONS]; /* ns without a line */
};

void idle_parts_init(struct idle_parts *p); /* allocates nothing */
void idle_parts_fini(struct idle_parts *p);

/* Adds ns of a cause for which no line is known. */
void idle_parts_none(struct idle_parts *p, enum idle_cause c, enum idle_reason r, int64_t ns);

/* Adds ns of a stack, in the gap part->longest; for stack 0 the reason is IDLE_NO_STACK. 0 or
 * GPUFL_E_NOMEM. */
int idle_parts_known(struct idle_parts *p, const struct idle_part *part, int64_t ns);

/* Adds ns of a class, in the gap own->longest. *at gets the index for idle_parts_look; 0: there is
 * no room. 0 or GPUFL_E_NOMEM. */
int idle_parts_own(struct idle_parts *p, const struct idle_own *own, int64_t ns, uint32_t *at);

/* Adds one look in the own time of a gap. 0 or GPUFL_E_NOMEM. */
int idle_parts_look(struct idle_parts *p, uint32_t own, const struct idle_look *look,
                    enum idle_seen_how how, const struct idle_longest *gap);

#endif

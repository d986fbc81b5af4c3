/* marks.h - keeps instances of scopes, each of which may be a step.
 *
 * Every scope that ended is kept with its thread, 24 bytes each, until there are STEP_MARKS. Then
 * the most frequent names are dropped, since these are names of operations. Names that differ only
 * in a number ("ProfilerStep#12", "step 12") are one group if the name says that it is a step.
 * Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_STEPS_MARKS_H
#define GPUFL_ANALYZE_MODEL_STEPS_MARKS_H

#include "base/keyed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern;

enum { STEP_MARKS = 1 << 20 };

/* Says what a scope's name says about steps, the surest first. */
enum step_word {
    STEP_WORD_PROFILER, /* ProfilerStep#12: PyTorch's own mark of a step */
    STEP_WORD_STEP,     /* ends with step, iteration, iter or batch */
    STEP_WORD_ANY,      /* something else */
    STEP_WORD_NEVER,    /* an epoch, a validation, a part of a step … */
};

struct step_mark {
    int64_t start, end; /* ns */
    uint32_t group;     /* index in groups */
};

struct step_group {
    uint32_t name, thread; /* id of intern; id in the log */
    /* not of the key: */
    uint32_t count;
    uint32_t dropped; /* 1: the group had too many instances */
    uint32_t word;    /* enum step_word */
};

/* Holds a name as it is in the log, and its group and word. */
struct step_said {
    uint32_t name;
    uint32_t group, word; /* not of the key: name of its group, enum step_word */
};

struct step_marks {
    struct step_mark *items; /* owned */
    size_t count, cap;
    struct keyed groups; /* struct step_group */
    struct keyed said;   /* struct step_said */
};

void step_marks_init(struct step_marks *s);
void step_marks_fini(struct step_marks *s);
/* Returns 0 or GPUFL_E_NOMEM. */
int step_marks_add(struct step_marks *s, struct intern *names, uint32_t name, uint32_t thread,
                   const int64_t span[2]);
/* Sorts by group, then by start. */
void step_marks_sort(struct step_marks *s);

/* Returns what a name says about steps. */
enum step_word step_word(const char *name);

#endif

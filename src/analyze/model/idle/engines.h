/* engines.h - says when engines of the profiler kept threads of the program: `overhead` rows of the
 * kind "engine". The program did not cause such idle time. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_ENGINES_H
#define GPUFL_ANALYZE_MODEL_IDLE_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDLE_ENGINES_MAX = 1 << 20 }; /* stretches; more are left out */

struct idle_engines {
    struct idle_stretch {
        int64_t start, end;
        int64_t until;   /* the latest end of this one and all before it, once sorted */
        uint32_t thread; /* the log's id; 0: unknown */
    } * stretches;       /* owned */
    size_t count, cap;
    bool sorted;
};

/* Adds a stretch. 0 or GPUFL_E_NOMEM. */
int idle_engines_add(struct idle_engines *e, int64_t start, int64_t end, uint32_t thread);
void idle_engines_fini(struct idle_engines *e); /* leaves it empty */

/* Returns the ns from start to end in which engines kept the thread (0: the thread is unknown, so
 * any thread). */
int64_t idle_engines_within(struct idle_engines *e, uint32_t thread, int64_t start, int64_t end);

#endif

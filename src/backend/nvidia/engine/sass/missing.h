/* missing.h - finds counts of instructions that are missing: each loss goes to the ledger, each
 * kind is explained once a session. Guarded by the engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_MISSING_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_MISSING_H

#include "backend/backend.h"

struct sass_missing {
    /* Since the last report to the session. */
    uint64_t lost;       /* counts that the driver dropped, or that found no room */
    uint64_t concurrent; /* how often counts were taken while other threads launched */
    uint64_t crowd;      /* contexts for which there was no room */
    uint64_t late;       /* contexts in which counting begins late, or never */

    bool ended; /* counting ended before the session, because the program unloads code */

    bool lost_said, concurrent_said, crowd_said, late_said, ended_said;
};

/* [collector] */
void sass_missing_say(struct sass_missing *m, struct sink *s);

#endif

/* ready.h - says, for /readyz, whether data that is sent now would be loaded soon. Functions
 * without state. */
#ifndef GPUFL_SERVER_API_READY_H
#define GPUFL_SERVER_API_READY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ready_state {
    bool journal_failed; /* the journal could not be synced */
    int64_t free, needs; /* bytes of the journal's disk; free -1: unknown */
    /* ns since the oldest frame that is not committed came, without sessions that fail alone: they
     * hold nobody else up. */
    int64_t stuck_age;
    uint64_t backlog_sessions;
};

/* The server is not ready if a frame has waited for so many ns. */
#define READY_STUCK_NS INT64_C(120000000000)

/* Returns true if data that is sent now would not be loaded soon; why gets a sentence. */
bool ready_is_stuck(const struct ready_state *r, char *why, size_t size);

#endif

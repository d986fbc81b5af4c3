/* ready.h - says why what is sent now would not be loaded soon, for /readyz. Pure. */
#ifndef GPUFL_SERVER_API_READY_H
#define GPUFL_SERVER_API_READY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ready_state {
    bool journal_failed; /* it could not be synced */
    int64_t free, needs; /* bytes of the journal's disk; free -1: unknown */
    int64_t backlog_age; /* ns since the oldest frame came that is not committed */
    uint64_t backlog_sessions;
};

/* ns that acknowledged data may wait before somebody should look. */
#define READY_STUCK_NS INT64_C(120000000000)

/* True: it is stuck, and why has a sentence. */
bool ready_is_stuck(const struct ready_state *r, char *why, size_t size);

#endif

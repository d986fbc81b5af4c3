/* ready.c - see ready.h. */
#include "server/api/ready.h"

#include <stdio.h>

bool ready_is_stuck(const struct ready_state *r, char *why, size_t size)
{
    if (r->journal_failed)
        snprintf(why, size, "The journal could not be synced to the disk; start the server again.");
    else if (r->free >= 0 && r->free < r->needs)
        snprintf(why, size, "The disk of the data folder is full: %lld MiB are free, %lld needed.",
                 (long long)(r->free >> 20), (long long)(r->needs >> 20));
    else if (r->stuck_age > READY_STUCK_NS)
        snprintf(why, size,
                 "What was acknowledged waits to be loaded for %lld s, of %llu sessions; the log "
                 "says why.",
                 (long long)(r->stuck_age / 1000000000), (unsigned long long)r->backlog_sessions);
    else
        return false;
    return true;
}

/* burst.c - see burst.h. */
#include "server/analysis/burst.h"

void burst_note(struct burst *b, int64_t now)
{
    b->last = now;
}

int64_t burst_rest(struct burst *b, unsigned waiting, int64_t now)
{
    if (waiting < BURST_SESSIONS) {
        b->since = 0;
        return 0;
    }
    if (!b->since)
        b->since = now;
    int64_t quiet = b->last + BURST_QUIET_NS, most = b->since + BURST_MOST_NS;
    int64_t until = quiet < most ? quiet : most;
    return b->last && now < until ? until : 0;
}

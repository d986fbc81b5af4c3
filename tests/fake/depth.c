/* depth.c - how much work the fake GPU's queue holds.
 *
 * FAKE_CUDA_QUEUE=41: a call that queues work while 41 operations are queued or run waits, inside
 * of the call, until the oldest of them has ended, as calls wait on a real driver whose queue is
 * full. Not set: the queue has no limit. Threads: any. */
#include "driver.h"

#include <stdlib.h>

enum { DEPTH_MOST = 4096 };

static _Atomic int64_t ends[DEPTH_MOST]; /* ns, by place: the end of its last operation */
static _Atomic uint64_t taken;           /* places so far */
static _Atomic int depth = -1;           /* 0: no limit; -1: not read yet */

int depth_take(void)
{
    int most = depth;
    if (most < 0) {
        const char *text = getenv("FAKE_CUDA_QUEUE");
        most = text ? atoi(text) % DEPTH_MOST : 0;
        depth = most; /* all threads read the same value */
    }
    if (most == 0)
        return -1;
    int place = (int)(taken++ % (uint64_t)most);
    wait_until(ends[place]);
    return place;
}

void depth_ends(int place, int64_t ns)
{
    if (place >= 0)
        ends[place] = ns;
}

/* engine_lock.c - see engine_lock.h. */
#include "backend/common/engine_lock.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool inside;

bool engine_enter(int64_t patience)
{
    struct timespec until;
    if (inside)
        return false;
    if (!patience) {
        if (pthread_mutex_trylock(&lock) != 0)
            return false;
    } else {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += patience;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_mutex_timedlock(&lock, &until) != 0)
            return false;
    }
    inside = true;
    return true;
}

void engine_leave(void)
{
    inside = false;
    pthread_mutex_unlock(&lock);
}

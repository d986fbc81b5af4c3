/* waits.c - is a library whose constructor waits for a while for the program that loads it. */
#include <semaphore.h>
#include <time.h>

extern sem_t waits_begun, waits_may_end; /* defined by the program */
extern int waits_timed_out;

static __attribute__((constructor)) void wait_in_constructor(void)
{
    struct timespec until;
    sem_post(&waits_begun);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    waits_timed_out = sem_timedwait(&waits_may_end, &until) != 0;
}

/* The test looks this function up. */
__attribute__((visibility("default"))) int waits_defined(void);
int waits_defined(void)
{
    return 1;
}

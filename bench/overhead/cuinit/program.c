/* program.c - calls cuInit and says how long that took; see run.py. It needs libcupti and calls
 * none of its functions. */
#include <stdio.h>
#include <time.h>

int cuInit(unsigned flags);

int main(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    int rc = cuInit(0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("cuInit %d %.1f\n", rc,
           (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6);
    return rc;
}

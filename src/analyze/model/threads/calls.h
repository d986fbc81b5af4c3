/* calls.h - keeps each thread's calls that wait, in order of time.
 *
 * The list of waits belongs to sum_wait_lines; the lists here are made again when more waits have
 * come. Threads beyond a ceiling have no calls here. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_THREADS_CALLS_H
#define GPUFL_ANALYZE_MODEL_THREADS_CALLS_H

#include <stddef.h>
#include <stdint.h>

struct model;
struct sum_idle;
struct wait_list;

struct idle_thread {
    uint32_t id;
    uint32_t *calls; /* owned: places in the list of waits */
    size_t count;
    size_t cursor; /* where the last search ended: most gaps come in order */
};

/* Lists the present calls; *list gets the waits of sum_wait_lines. 0 or GPUFL_E_NOMEM. */
int idle_calls_prepare(struct model *m, const struct wait_list **list);

/* Frees the lists. */
void idle_calls_drop(struct sum_idle *s);

/* Returns the calls of a thread of the log; NULL if it made none. */
struct idle_thread *idle_calls_thread(struct sum_idle *s, uint32_t id);

/* Returns how many calls of the thread begin before t (ns). */
size_t idle_calls_before(struct idle_thread *h, const struct wait_list *l, int64_t t);

#endif

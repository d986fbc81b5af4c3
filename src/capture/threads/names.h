/* names.h - holds the process's one table of strings: kernel names, scopes, messages.
 *
 * The table lives as long as the process, not the session, because threads keep pointers
 * into it in their caches. */
#ifndef GPUFL_CAPTURE_THREADS_NAMES_H
#define GPUFL_CAPTURE_THREADS_NAMES_H

#include "base/intern.h"

#include <stdatomic.h>

extern _Atomic(struct intern *) names_only __attribute__((visibility("hidden")));

/* Returns the table; NULL before the first session. [hot] */
static inline struct intern *names_table(void)
{
    return atomic_load_explicit(&names_only, memory_order_acquire);
}

/* Makes the table if there is none. 0 or GPUFL_E_NOMEM. [owner] */
int names_open(void);

/* Forgets the table in a forked child: a thread of the parent may have held the table's lock, so
 * the next session makes a new table. */
void names_forget(void);

#endif

/* names.c - see names.h. */
#include "capture/threads/names.h"

enum { NAMES_ENTRIES = 1 << 20, NAMES_BYTES = 128 << 20 };

_Atomic(struct intern *) names_only;

int names_open(void)
{
    struct intern *t = NULL;
    if (names_table())
        return 0;
    int rc = intern_open(&t, NAMES_ENTRIES, NAMES_BYTES);
    if (rc == 0)
        atomic_store_explicit(&names_only, t, memory_order_release);
    return rc;
}

void names_forget(void)
{
    atomic_store_explicit(&names_only, NULL, memory_order_release);
}

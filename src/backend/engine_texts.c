/* engine_texts.c - see engine_texts.h. */
#include "backend/engine_texts.h"

#include <stddef.h>

const struct engine_pair *engine_conflict(const struct engine_pair *pairs, unsigned asks)
{
    for (const struct engine_pair *p = pairs; p->why; p++)
        if (p->rule == ENGINES_NEVER && (asks & p->a) && (asks & p->b))
            return p;
    return NULL;
}

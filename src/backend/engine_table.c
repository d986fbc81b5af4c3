/* engine_table.c - schema/engines.def as data, and what follows from it. */
#include "backend/backend.h"

#include <stddef.h>

const struct engine_row engine_table[] = {
#define ENGINE(id, engine, ...) [GPUFL_ENGINE_##id] = {.name = engine, __VA_ARGS__},
#include "schema/engines.def"
    {0},
};

const struct engine_pair engine_pairs[] = {
#define PAIR(a, b, rule, why) {why, a, b, ENGINES_##rule},
#include "schema/engines.def"
    {0},
};

const struct engine_pair *engine_conflict(unsigned asks)
{
    for (const struct engine_pair *p = engine_pairs; p->why; p++)
        if (p->rule == ENGINES_NEVER && (asks & p->a) && (asks & p->b))
            return p;
    return NULL;
}

/* engine_table.c - schema/engines.def as data, and functions on it. */
#include "backend/engine_texts.h"

#include <stddef.h>

const struct engine_row engine_table[] = {
#define ENGINE(id, engine, ...) [GPUFL_ENGINE_##id] = {.name = engine, __VA_ARGS__},
#include "schema/engines.def"
    {0},
};

const struct engine_pair *engine_conflict(const struct engine_pair *pairs, unsigned asks)
{
    for (const struct engine_pair *p = pairs; p->why; p++)
        if (p->rule == ENGINES_NEVER && (asks & p->a) && (asks & p->b))
            return p;
    return NULL;
}

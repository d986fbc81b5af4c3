/* engine.c - see engine.h. */
#include "wire/engine.h"

#include <string.h>

const struct engine_row engine_table[] = {
#define ENGINE(id, engine, ...) [GPUFL_ENGINE_##id] = {.name = engine, __VA_ARGS__},
#include "schema/engines.def"
    {0},
};

const struct engine_row *engine_find(const char *name)
{
    for (const struct engine_row *r = engine_table; r->name; r++)
        if (strcmp(r->name, name) == 0)
            return r;
    return NULL;
}

unsigned engine_own_bit(const struct engine_row *r)
{
    return r->asks & 1u << (r - engine_table);
}

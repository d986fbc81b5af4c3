/* kinds.c - see kinds.h. */
#include "symbol/names/kinds.h"

#include "symbol/names/args.h"
#include "symbol/names/match.h"

enum { LIBRARY_SHIFT = 16 };

static const struct {
    const char *path, *within, *name;
} libraries[] = {
#define LIBRARY(path, within, name) {path, within, name},
#include "symbol/names/kinds.def"
};

enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static const struct {
    uint32_t kind;
    const char *path, *within, *without;
} kinds[] = {
#define KIND(kind, path, within, without, source) {KERNEL_##kind, path, within, without},
#include "symbol/names/kinds.def"
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static bool fits(const char *pattern, struct span path)
{
    struct match m = {.count = 0};
    return match_fits(pattern, path, 0, &m);
}

uint32_t kinds_of(const char *demangled)
{
    struct span core = args_core((struct span){demangled, strnlen(demangled, MATCH_NAME)});
    char text[MATCH_PATH];
    struct span path = {text, 0};
    uint32_t found = 0;
    if (!match_path(core, text, &path.len))
        return 0;
    for (uint32_t i = 0; i < LIBRARIES && !found; i++)
        if (fits(libraries[i].path, path) && match_holds_all(core, libraries[i].within))
            found = (i + 1) << LIBRARY_SHIFT;
    for (uint32_t i = 0; i < KINDS; i++)
        if (match_holds_all(core, kinds[i].within) && fits(kinds[i].path, path) &&
            !match_holds_any(core, kinds[i].without))
            found |= kinds[i].kind;
    return found;
}

const char *kinds_library(uint32_t found)
{
    uint32_t at = found >> LIBRARY_SHIFT;
    return at && at <= LIBRARIES ? libraries[at - 1].name : NULL;
}

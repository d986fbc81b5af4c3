/* demangle.c - __cxa_demangle with bounds. */
#include "symbol/names/demangle.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The length that a name may grow to, far above that of real names. */
static const double EXPANDED_MAX = 1e10;

/* A function of the C++ runtime; its result comes from the C library's malloc. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static bool mangled(const char *name)
{
    size_t len = strlen(name);
    return len <= DEMANGLE_MAX && len > 2 && name[0] == '_' && name[1] == 'Z';
}

/* The C++ runtime writes every reference to an earlier part of the name (S_, S0_, T_ …)
 * out in full, and references may nest: a name of 300 bytes can be made that needs
 * gigabytes. The product of the references bounds how often any part is written. */
static bool may_explode(const char *name)
{
    enum { KINDS = 2, INDICES = 64 };
    uint32_t seen[KINDS][INDICES] = {{0}};
    double bound = (double)strlen(name);
    for (const char *c = name; *c; c++) {
        if (*c != 'S' && *c != 'T')
            continue;
        size_t digits = strspn(c + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (c[1 + digits] != '_' || digits > 3)
            continue;
        unsigned index = digits ? (unsigned)strtoul(c + 1, NULL, 36) + 1 : 0;
        seen[*c == 'T'][index % INDICES]++;
    }
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < INDICES; i++)
            bound *= seen[k][i] + 1;
    return bound > EXPANDED_MAX;
}

void demangle_put(struct buf *out, const char *name)
{
    int status = -1;
    char *text =
        mangled(name) && !may_explode(name) ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    bool fits = text && status == 0 && strnlen(text, DEMANGLED_MAX) < DEMANGLED_MAX;
    buf_str(out, fits ? text : name);
    free(text);
}

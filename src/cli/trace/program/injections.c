/* injections.c - see injections.h. */
#include "cli/trace/program/injections.h"

#include "backend/vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes the list of tool libraries: the vendor's library of ours, from the capture library's
 * folder, then the user's: "ours:theirs:". The last ':' is needed, since rocprofiler-sdk ignores
 * what follows the last ':'. False: nothing is injected. */
static bool make_list(const struct vendor *v, const char *library, char *out, size_t size)
{
    const char *slash = strrchr(library, '/'), *old = getenv(v->injection);
    int folder = slash ? (int)(slash - library) + 1 : 0;
    int n = snprintf(out, size, "%.*s%s", folder, library, v->injection_library);
    if (n >= (int)size || access(out, R_OK) != 0)
        return false;
    if (!old || !*old || strstr(old, out))
        return true;
    const char *end = old[strlen(old) - 1] == ':' ? "" : ":";
    return snprintf(out + n, size - (size_t)n, ":%s%s", old, end) < (int)size - n;
}

/* Sets two variables, if the vendor's library is found. Without that library the first variable
 * would end the program. */
static size_t put_tool(struct injections *in, size_t i, const struct vendor *v, const char *library,
                       struct run_variable *env)
{
    if (!v->injection_find(in->host[i], sizeof in->host[i]) ||
        !make_list(v, library, in->library[i], sizeof in->library[i]))
        return 0;
    env[0] = (struct run_variable){v->injection, in->library[i]};
    env[1] = (struct run_variable){v->injection_host, in->host[i]};
    return 2;
}

static size_t put_driver(const struct vendor *v, const char *library, struct run_variable *env)
{
    const char *ranges = v->injection_ranges, *old = ranges ? getenv(ranges) : NULL;
    size_t n = 0;
    if (v->injection)
        env[n++] = (struct run_variable){v->injection, library};
    if (ranges && (!old || !*old))
        env[n++] = (struct run_variable){ranges, library};
    return n;
}

/* A value that the user has set is kept. */
static size_t put_switch(const struct vendor *v, struct run_variable *env)
{
    if (!v->sampling_switch || getenv(v->sampling_switch))
        return 0;
    env[0] = (struct run_variable){v->sampling_switch, "1"};
    return 1;
}

size_t injections_put(struct injections *in, const char *library, bool samples,
                      struct run_variable *env)
{
    size_t n = 0;
    for (size_t i = 0; samples && vendors[i] && i < INJECTIONS_VENDORS; i++)
        n += put_switch(vendors[i], env + n);
    for (size_t i = 0; vendors[i] && i < INJECTIONS_VENDORS; i++)
        n += vendors[i]->injection_library ? put_tool(in, i, vendors[i], library, env + n)
                                           : put_driver(vendors[i], library, env + n);
    return n;
}

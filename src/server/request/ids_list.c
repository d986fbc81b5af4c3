/* ids_list.c - see ids_list.h. */
#include "server/request/ids_list.h"

#include <string.h>

static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";

bool ids_next(const char **list, char id[META_ID_MAX], bool *bad)
{
    const char *p = *list;
    *bad = false;
    if (!p || !*p)
        return false;
    size_t n = strcspn(p, ",");
    if (n == 0 || n >= META_ID_MAX || strspn(p, allowed) < n || (p[n] && !p[n + 1])) {
        *bad = true;
        return false;
    }
    memcpy(id, p, n);
    id[n] = '\0';
    *list = p + n + (p[n] == ',');
    return true;
}

void ids_bad(struct call *c, const char *parameter)
{
    http_problem_of(c->http, 400, parameter, "'%s' must be ids of sessions with commas between.",
                    parameter);
}

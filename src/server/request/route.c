/* route.c - has the table, and walks over it: next to a request's cost, a hundred comparisons of
 * short texts are nothing. */
#include "server/request/route.h"

#include "server/request/handlers.h"

#include <string.h>

const char NEEDED[] = "";

/* clang-format off */
#define ROUTE(id, method, path, rights, handler, answer, of, doc) \
    static const struct param id##_params[] = {
#define PARAM(route, name, type, standard, limits, doc) \
    {#name, PARAM_##type, PLACE_ADDRESS, NULL, standard, limits, doc},
#define BODY(route, name, type, standard, limits, doc) \
    {#name, PARAM_##type, PLACE_BODY, NULL, standard, limits, doc},
#define HEADER(route, name, field, type, standard, limits, doc) \
    {#name, PARAM_##type, PLACE_HEADER, field, standard, limits, doc},
#define ROUTE_END(route) {0}};
#include "schema/routes.def"
/* clang-format on */

/* The macros give the word of an answer's `of`: a name, or a media type in quotes. */
#define OF_QUERY(x)   #x
#define OF_OBJECT(x)  #x
#define OF_ROW(x)     #x
#define OF_PAGE(x)    #x
#define OF_SECTION(x) #x
#define OF_MEDIA(x)   x
#define OF_NOTHING(x) NULL

const struct route routes[ROUTE_COUNT] = {
#define ROUTE(id, method, path, rights, handler, answer, of, doc)                                  \
    [ROUTE_##id] = {#id,                                                                           \
                    HTTP_##method,                                                                 \
                    path,                                                                          \
                    RIGHTS_##rights,                                                               \
                    api_##handler,                                                                 \
                    ANSWER_##answer,                                                               \
                    OF_##answer(of),                                                               \
                    doc,                                                                           \
                    id##_params,                                                                   \
                    IN_##id##_COUNT},
#include "schema/routes.def"
};

/* Returns the length of the pattern's segment at p. */
static size_t segment(const char *p)
{
    return strcspn(p, "/");
}

bool route_matches(const struct route *r, const struct uri *u)
{
    const char *p = r->path + 1;
    for (unsigned i = 0; i < u->segment_count; i++) {
        size_t n = segment(p);
        if (n == 0)
            return false;
        if (*p != '{' && (strlen(u->segments[i]) != n || memcmp(u->segments[i], p, n) != 0))
            return false;
        p += n + (p[n] == '/');
    }
    return *p == '\0';
}

const struct route *route_find(enum http_method method, const struct uri *u, unsigned *allowed)
{
    *allowed = 0;
    for (unsigned i = 0; i < ROUTE_COUNT; i++) {
        if (!route_matches(&routes[i], u))
            continue;
        *allowed |= 1u << routes[i].method;
        if (routes[i].method == HTTP_GET)
            *allowed |= 1u << HTTP_HEAD;
        if (method == routes[i].method || (method == HTTP_HEAD && routes[i].method == HTTP_GET))
            return &routes[i];
    }
    return NULL;
}

int route_segment(const struct route *r, const char *name)
{
    size_t want = strlen(name);
    int at = 0;
    for (const char *p = r->path + 1; *p; at++) {
        size_t n = segment(p);
        if (n == want + 2 && *p == '{' && memcmp(p + 1, name, want) == 0)
            return at;
        p += n + (p[n] == '/');
    }
    return -1;
}

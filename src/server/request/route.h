/* route.h - has the table of the server's addresses, and finds a request's row.
 *
 * Rows come from schema/routes.def. Constant after route_check; any thread. */
#ifndef GPUFL_SERVER_REQUEST_ROUTE_H
#define GPUFL_SERVER_REQUEST_ROUTE_H

#include "net/server/http.h"
#include "server/auth/rights.h"

#include <stdbool.h>
#include <stdint.h>

enum answer {
    ANSWER_QUERY,
    ANSWER_OBJECT,
    ANSWER_ROW,
    ANSWER_PAGE,
    ANSWER_SECTION,
    ANSWER_MEDIA,
    ANSWER_NOTHING,
};

enum param_type {
    PARAM_INT,
    PARAM_TIME,
    PARAM_EPOCH,
    PARAM_REAL,
    PARAM_TEXT,
    PARAM_ID,
    PARAM_BOOL,
    PARAM_CHOICE,
    PARAM_LIST,
};

enum place {
    PLACE_ADDRESS, /* a part of the path, or of the query */
    PLACE_BODY,    /* a member of the JSON object */
    PLACE_HEADER,
};

struct param {
    const char *name;
    enum param_type type;
    enum place place;
    const char *field;    /* HEADER: name of the header field */
    const char *standard; /* default; NULL: none, may be left out; NEEDED: must be given */
    const char *limits;   /* as in routes.def */
    const char *doc;
};

extern const char NEEDED[]; /* recognised by its address */

enum { ROUTE_PARAMS_MAX = 24 };

/* Numbers a route's parameters, as IN_<route>_<name>. */
/* clang-format off */
#define ROUTE(id, method, path, rights, handler, answer, of, doc) \
    enum in_##id {
#define PARAM(route, name, type, standard, limits, doc)         IN_##route##_##name,
#define BODY(route, name, type, standard, limits, doc)          IN_##route##_##name,
#define HEADER(route, name, field, type, standard, limits, doc) IN_##route##_##name,
#define ROUTE_END(route)                                        IN_##route##_COUNT };
#include "schema/routes.def"
/* clang-format on */

enum route_id {
#define ROUTE(id, method, path, rights, handler, answer, of, doc) ROUTE_##id,
#include "schema/routes.def"
    ROUTE_COUNT
};

struct call;

struct route {
    const char *id;
    enum http_method method;
    const char *path;
    enum rights rights;
    void (*handler)(struct call *c);
    enum answer answer;
    const char *of;
    const char *doc;
    const struct param *params;
    unsigned param_count;
};

extern const struct route routes[ROUTE_COUNT];

/* Returns true if the path of a request matches the path of a route. */
bool route_matches(const struct route *r, const struct uri *u);

/* Finds the row for a method and path. NULL: none; *allowed then has a bit (1 << enum http_method)
 * for each method of the path; 0: the path is unknown. HEAD finds GET. */
const struct route *route_find(enum http_method method, const struct uri *u, unsigned *allowed);

/* Returns the index of a parameter's segment in the path; -1: it is not in the path. */
int route_segment(const struct route *r, const char *name);

#endif

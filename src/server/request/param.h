/* param.h - reads the parameters of a request, by the table of its route.
 *
 * A handler gets only values of a few types within stated limits. A wrong parameter is answered
 * with 400 and a sentence that names the parameter and says what it may be: unknown, given twice,
 * of another type, out of range, or missing. */
#ifndef GPUFL_SERVER_REQUEST_PARAM_H
#define GPUFL_SERVER_REQUEST_PARAM_H

#include "server/request/route.h"

struct value {
    bool given;       /* by the client, or there is a default */
    int64_t i;        /* INT, TIME, EPOCH, BOOL, CHOICE */
    double r;         /* REAL */
    const char *text; /* TEXT, ID, CHOICE: in the request's memory */
    const int64_t *list;
    size_t count; /* of the list */
};

/* Fills in values, param_count of them, from path and query. False: a problem was answered. */
bool params_read(struct http_request *r, const struct route *route, struct value *values);

/* Fills in values from the members of the body, if the route has any. False: a problem was
 * answered. */
bool params_body(struct http_request *r, const struct route *route, struct value *values);

/* Reads one text as a value. False: *why gets what the value must be, to follow "must be". */
bool param_parse(const struct param *p, const char *text, struct region *mem, struct value *out,
                 struct err *why);

/* Gets the bounds of an INT or REAL row, or the greatest length of TEXT and LIST. */
void param_range(const struct param *p, int64_t *least, int64_t *most);

/* Limits the parameter `workspace`, which every route with rights takes in addition to its own. */
enum { PARAM_WORKSPACE_MAX = 63 };

#endif

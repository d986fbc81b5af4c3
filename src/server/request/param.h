/* param.h - reads the parameters of a request, by the table of its route.
 *
 * Whatever a client sends is one of a few types within stated limits before a
 * handler sees it. What is wrong is answered with 400 and a sentence that names the
 * parameter and says what it may be: unknown ones, given twice, of another type,
 * out of range, missing. */
#ifndef GPUFL_SERVER_REQUEST_PARAM_H
#define GPUFL_SERVER_REQUEST_PARAM_H

#include "server/request/route.h"

struct value {
    bool given;       /* by the client, or it has a standard */
    int64_t i;        /* INT, TIME, EPOCH, BOOL, CHOICE */
    double r;         /* REAL */
    const char *text; /* TEXT, ID, CHOICE: in the request's memory */
    const int64_t *list;
    size_t count; /* of the list */
};

/* Fills values, param_count of them, from path and query. false: the problem is the answer. */
bool params_read(struct http_request *r, const struct route *route, struct value *values);

/* Fills values from the members of the body, where the route has any. false: the problem is the
 * answer. */
bool params_body(struct http_request *r, const struct route *route, struct value *values);

/* Reads one text as a value. false: *why gets what the value must be, as the end of "… must be". */
bool param_parse(const struct param *p, const char *text, struct region *mem, struct value *out,
                 struct err *why);

/* The bounds of an INT or REAL row, the ceiling of TEXT and LIST. */
void param_range(const struct param *p, int64_t *least, int64_t *most);

/* Parameters that every route with rights takes in addition to its own. */
enum { PARAM_WORKSPACE_MAX = 63 };

#endif

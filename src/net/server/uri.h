/* uri.h - splits the target of a request: segments of its path and pairs of its query.
 *
 * The path is split before it is decoded, so that an encoded slash stays inside its segment and
 * nothing can climb out of a folder: "." and "..", empty segments, control characters and invalid
 * UTF-8 are refused, however they are encoded. Functions without state; texts live in the
 * region. */
#ifndef GPUFL_NET_SERVER_URI_H
#define GPUFL_NET_SERVER_URI_H

#include "base/err.h"
#include "base/region.h"

enum { URI_SEGMENTS_MAX = 16, URI_PAIRS_MAX = 64 };

struct uri_pair {
    const char *name, *value; /* decoded; '+' is a space; value "" if there is no '=' */
};

struct uri {
    const char *path; /* as it came, without the query */
    const char *segments[URI_SEGMENTS_MAX];
    unsigned segment_count; /* of "/": 0 */
    struct uri_pair pairs[URI_PAIRS_MAX];
    unsigned pair_count;
};

/* Parses a target. target: "/path?query". GPUFL_E_INVAL with a sentence for the sender, or
 * GPUFL_E_NOMEM. */
int uri_parse(struct uri *u, const char *target, struct region *a, struct err *e);

/* Returns the value of the first pair of that name; NULL: none. */
const char *uri_query(const struct uri *u, const char *name);

#endif

/* pages.h - the dashboard's files, which are part of the binary.
 *
 * Where the web bundle was there when the server was built, its files are a table
 * in it, plain and compressed; else a plain page says so and what there is. Addresses of the
 * dashboard that are no files get its page, so that links into it work. */
#ifndef GPUFL_SERVER_COMMON_PAGES_H
#define GPUFL_SERVER_COMMON_PAGES_H

#include "net/server/http.h"

struct pages_bytes {
    const unsigned char *begin, *end; /* NULL: there are none */
};

struct pages_file {
    const char *path;                       /* "/index.html", "/assets/index-1a2b3c.js" */
    struct pages_bytes plain, brotli, gzip; /* compressed when the server was built */
};

/* Ended by a row without path; made at build time. */
extern const struct pages_file pages_files[];

/* Answers, if it is a page's address asked by GET or HEAD. */
bool pages_answer(struct http_request *r);

#endif

/* pages.h - has the dashboard's files, which are part of the server's binary.
 *
 * If the web bundle was there when the server was built, its files are in a table, plain and
 * compressed. Otherwise a simple page says that the server has no dashboard. Addresses of the
 * dashboard that are not files get its main page, so that links into the dashboard work. */
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

/* Lists the files, ended by a row without path; made at build time. */
extern const struct pages_file pages_files[];

/* Answers a GET or HEAD request for a page's address; false: another request. */
bool pages_answer(struct http_request *r);

#endif

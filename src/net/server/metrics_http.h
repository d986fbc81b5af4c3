/* metrics_http.h - what libgpufl-metrics.so gives to a daemon: the pages of metrics_page.h over
 * HTTP.
 *
 * Why a library: libmicrohttpd brings GnuTLS and what that needs, 3 MiB of resident memory that a
 * daemon which listens nowhere should not have. Such a daemon never opens it. */
#ifndef GPUFL_NET_SERVER_METRICS_HTTP_H
#define GPUFL_NET_SERVER_METRICS_HTTP_H

#include "net/server/metrics_page.h"

/* All functions as those of metrics_page.h; a page is a pointer of the library. */
struct metrics_http {
    char version[32]; /* GPUFL_VERSION; what follows is the same where the version is */
    int (*open)(void **page, const struct metrics_page_config *c, struct err *e);
    void (*url)(const void *page, char *out, size_t size);
    void (*close)(void *page);
};

#define METRICS_HTTP_LIBRARY "libgpufl-metrics.so"
#define METRICS_HTTP_SYMBOL  "gpufl_metrics_http"

extern const struct metrics_http gpufl_metrics_http; /* in that library */

#endif

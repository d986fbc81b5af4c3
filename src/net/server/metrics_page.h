/* metrics_page.h - serves /metrics and /healthz of a daemon, and writes the text form of
 * Prometheus.
 *
 * The page does not use http.h, since libmicrohttpd loads GnuTLS and its libraries: 2.5 MiB of
 * resident memory for two pages. This server answers only GET and HEAD, one request for each
 * connection. Only the head of a request is kept, which metrics_request.h reads. Connections,
 * pages and the time of each have limits.
 *
 * Threads: one thread of the page's own moves bytes and makes the pages on request. The functions
 * that fill a page must not block. */
#ifndef GPUFL_NET_SERVER_METRICS_PAGE_H
#define GPUFL_NET_SERVER_METRICS_PAGE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metrics_page_config {
    const char *listen; /* "ADDR:PORT", ":PORT" or "PORT"; without ADDR 127.0.0.1 */
    void *arg;
    /* Appends the samples to the page. [thread of the page] */
    void (*fill)(void *arg, struct buf *page);
    /* Appends the body of /healthz; true: status 200, false: 503. [thread of the page] */
    bool (*health)(void *arg, struct buf *page);
    const char *health_type; /* media type of /healthz */
    int64_t head_ns;         /* for the head of a request; 0: 10 s */
};

struct metrics_page;

/* Listens. GPUFL_E_INVAL: the address cannot be read; other codes, for example for a port in use.
 * All with a sentence. [owner] */
int metrics_page_open(struct metrics_page **out, const struct metrics_page_config *c,
                      struct err *e);
/* Writes an address like "http://127.0.0.1:9400": where it listens. [any] */
void metrics_page_url(const struct metrics_page *p, char *out, size_t size);
void metrics_page_close(struct metrics_page *p); /* NULL: nothing. [owner] */

/* ---- the text ------------------------------------------------------------------------------ */

/* Writes the lines HELP and TYPE ("gauge", "counter"), once before the samples of a metric. */
void metrics_head(struct buf *out, const char *name, const char *type, const char *help);

struct metrics_label {
    const char *name, *value; /* value NULL or "": the label is left out */
};

/* Writes a sample; values of labels are escaped. */
void metrics_sample(struct buf *out, const char *name, const struct metrics_label *labels,
                    size_t count, double value);

#endif

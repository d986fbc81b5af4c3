/* metrics_page.h - /metrics and /healthz of a daemon, and the text form of Prometheus.
 *
 * For programs that are no HTTP servers: one thread moves bytes, the pages are made when they are
 * asked for, nothing else is answered. Whoever fills a page must not block. */
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
    /* True: 200 "ok". False: 503 with the sentence in why. [thread of the page] */
    bool (*healthy)(void *arg, char *why, size_t size);
};

struct metrics_page;

/* Listens. INVAL: the address cannot be read; other codes with a sentence, as where the port is
 * taken. [owner] */
int metrics_page_open(struct metrics_page **out, const struct metrics_page_config *c,
                      struct err *e);
/* "http://127.0.0.1:9400": where it listens. [any] */
void metrics_page_url(const struct metrics_page *p, char *out, size_t size);
void metrics_page_close(struct metrics_page *p); /* NULL: nothing. [owner] */

/* ---- the text ------------------------------------------------------------------------------ */

/* Writes the lines HELP and TYPE ("gauge", "counter"), which stand once before the samples of a
 * metric. */
void metrics_head(struct buf *out, const char *name, const char *type, const char *help);

struct metrics_label {
    const char *name, *value; /* value NULL or "": the label is left out */
};

/* Writes a sample; values of labels are escaped. */
void metrics_sample(struct buf *out, const char *name, const struct metrics_label *labels,
                    size_t count, double value);

#endif

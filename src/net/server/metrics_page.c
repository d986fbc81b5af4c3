/* metrics_page.c - see metrics_page.h: opens the library that answers, where somebody listens. */
#include "net/server/metrics_page.h"

#include "base/alloc.h"
#include "base/process/dl.h"
#include "net/server/metrics_http.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct metrics_page {
    const struct metrics_http *http;
    void *page; /* of the library */
};

/* One of another version would have other structures. */
static int open_library(const struct metrics_http **out, struct err *e)
{
    char installed[PATH_MAX], built[PATH_MAX];
    dl_beside_program(GPUFL_LIB_FROM_BIN, METRICS_HTTP_LIBRARY, installed, sizeof installed);
    dl_beside_program("../lib", METRICS_HTTP_LIBRARY, built, sizeof built);
    const char *const candidates[] = {*installed ? installed : METRICS_HTTP_LIBRARY,
                                      *built ? built : METRICS_HTTP_LIBRARY, METRICS_HTTP_LIBRARY,
                                      NULL};
    static const struct dl_symbol symbols[] = {{METRICS_HTTP_SYMBOL, 0, true}};
    struct err why = {0};
    void *handle = dl_open_first(candidates, NULL, 0, &why);
    int rc = handle ? dl_fill(handle, symbols, 1, out, &why) : GPUFL_E_UNAVAILABLE;
    if (!rc && strcmp((*out)->version, GPUFL_VERSION) != 0) {
        err_set(&why, GPUFL_E_UNAVAILABLE, "it is of version %.30s, not %s", (*out)->version,
                GPUFL_VERSION);
        rc = GPUFL_E_UNAVAILABLE;
    }
    if (rc)
        err_set(e, GPUFL_E_UNAVAILABLE,
                "cannot listen without " METRICS_HTTP_LIBRARY ": %.250s; install it beside this "
                "program's libraries",
                why.text);
    return rc;
}

int metrics_page_open(struct metrics_page **out, const struct metrics_page_config *c, struct err *e)
{
    *out = NULL;
    struct metrics_page *p = mem_zalloc(sizeof *p);
    if (!p)
        return err_nomem(e);
    int rc = open_library(&p->http, e);
    if (!rc)
        rc = p->http->open(&p->page, c, e);
    if (rc) {
        mem_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

void metrics_page_url(const struct metrics_page *p, char *out, size_t size)
{
    p->http->url(p->page, out, size);
}

void metrics_page_close(struct metrics_page *p)
{
    if (!p)
        return;
    p->http->close(p->page);
    mem_free(p);
}

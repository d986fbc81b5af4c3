/* gzip_doc.h - reads documents of the small tables, which are stored as gzip. [any] */
#ifndef GPUFL_SERVER_ANALYSIS_GZIP_DOC_H
#define GPUFL_SERVER_ANALYSIS_GZIP_DOC_H

#include "base/buf.h"
#include "meta/meta.h"

/* Appends the inflated text, up to the buffer's limit. GPUFL_E_NOMEM, GPUFL_E_FULL or
 * GPUFL_E_CORRUPT. */
int gzip_doc_open(const struct meta_bytes *body, struct buf *out);

#endif

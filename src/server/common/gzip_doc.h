/* gzip_doc.h - reads documents of the small tables, which are stored as gzip. [any] */
#ifndef GPUFL_SERVER_COMMON_GZIP_DOC_H
#define GPUFL_SERVER_COMMON_GZIP_DOC_H

#include "base/buf.h"
#include "meta/meta.h"

/* Appends the plain text; the buffer's ceiling holds. NOMEM, FULL, or CORRUPT. */
int gzip_doc_open(const struct meta_bytes *body, struct buf *out);

#endif

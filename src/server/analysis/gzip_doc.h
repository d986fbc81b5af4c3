/* gzip_doc.h - packs documents for the small tables as gzip, and reads them. [any]
 *
 * A document is one stream that every reader of gzip can inflate. If the document is a JSON object,
 * its large members can also be read alone: the compressor forgets what came before each of them (a
 * full flush), and the extra field of gzip's header (RFC 1952, 2.3.1.1) lists the pieces. A page
 * that shows findings does not wait for a thousand steps to be inflated. */
#ifndef GPUFL_SERVER_ANALYSIS_GZIP_DOC_H
#define GPUFL_SERVER_ANALYSIS_GZIP_DOC_H

#include "base/buf.h"
#include "base/region.h"
#include "meta/meta.h"

#include <stdbool.h>
#include <zlib.h>

/* Starts a stream for gzip_doc_pack. Its tables cost as much as a short document, so several
 * documents share one stream. The caller ends it with deflateEnd. GPUFL_E_NOMEM. */
int gzip_doc_stream(z_stream *z);

/* Packs a text into `memory`. pieces: the text is a JSON object, whose large members are to be read
 * alone; a text that is no object, or nested too deeply for json.h, is read whole. GPUFL_E_NOMEM or
 * GPUFL_E_FULL. */
int gzip_doc_pack(z_stream *z, const char *text, size_t len, bool pieces, struct region *memory,
                  struct meta_bytes *out);

/* Appends the inflated text, up to the buffer's limit. GPUFL_E_NOMEM, GPUFL_E_FULL or
 * GPUFL_E_CORRUPT. */
int gzip_doc_open(const struct meta_bytes *body, struct buf *out);

/* Returns true if a member of the object is wanted. */
typedef bool gzip_doc_wants(const char *key, const void *arg);

/* Appends the object without some of the members that are not wanted: it omits the pieces of large
 * ones. A document without pieces is inflated whole. Codes as gzip_doc_open. */
int gzip_doc_open_members(const struct meta_bytes *body, gzip_doc_wants *wants, const void *arg,
                          struct buf *out);

#endif

/* schema_doc.h - writes the record tables as documentation: Markdown for people, JSON for programs.
 * docs/format.md holds the Markdown; a test compares the two. Called by any thread. */
#ifndef GPUFL_WIRE_SCHEMA_DOC_H
#define GPUFL_WIRE_SCHEMA_DOC_H

#include "base/buf.h"
#include "wire/record.h"

#include <stdio.h>

void schema_put_header_markdown(struct buf *b); /* the fields of a part's first line */
void schema_put_record_markdown(struct buf *b, const struct record *r);
void schema_put_header_json(struct buf *b); /* an array of fields */
void schema_put_record_json(struct buf *b, const struct record *r);

/* Writes the whole documentation. 0, GPUFL_E_NOMEM or GPUFL_E_IO. */
int schema_markdown(FILE *out); /* for tests */
int schema_json(FILE *out);     /* for tests */

#endif

/* header.h - has the fields of a part's header line as a table, which the encoder, the decoder and
 * the documentation share. Everything here is constant; any thread may read it. */
#ifndef GPUFL_WIRE_HEADER_H
#define GPUFL_WIRE_HEADER_H

#include "wire/encode.h"

enum header_kind { HEADER_TEXT, HEADER_INT, HEADER_BOOL };

struct header_field {
    const char *name; /* JSON key */
    enum header_kind kind;
    size_t offset; /* in struct wire_header */
    const char *doc;
};

#define HEADER_FIELD_COUNT 20

extern const struct header_field header_fields[HEADER_FIELD_COUNT];

/* Sets every text of h to "" and every number to 0. */
void header_clear(struct wire_header *h);

#endif

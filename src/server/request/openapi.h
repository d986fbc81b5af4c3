/* openapi.h - makes the description of the API (OpenAPI 3.1) from the tables.
 *
 * schema/routes.def, schema/queries.def and schema/meta.def have all facts; this function writes
 * them in the form that programs read. docs/openapi.json has this text, and a test compares the
 * two. Everything here is constant; any thread may read it. */
#ifndef GPUFL_SERVER_REQUEST_OPENAPI_H
#define GPUFL_SERVER_REQUEST_OPENAPI_H

#include "base/buf.h"

void openapi_put(struct buf *out);

#endif

/* sdk.h - opens the process's copy of rocprofiler-sdk, and finds its kinds and operations by name.
 *
 * Two copies in one process do not see each other, so the copy that called our tool, or that the
 * program has loaded, is used. The table is constant once it is open. Called by any thread. */
#ifndef GPUFL_BACKEND_AMD_TRACE_SDK_H
#define GPUFL_BACKEND_AMD_TRACE_SDK_H

#include "backend/amd/trace/abi.h"
#include "base/err.h"

#include <stdbool.h>

/* Lists the kinds that we read, by the library's names, which all versions share. */
#define ROCP_BUFFER_KINDS(K)   K(KERNEL_DISPATCH) K(MEMORY_COPY) K(MEMORY_ALLOCATION)
#define ROCP_CALLBACK_KINDS(K) K(CODE_OBJECT) K(HIP_RUNTIME_API) K(MARKER_CORE_API)

enum rocp_kind {
#define ROCP_KIND(name) ROCP_##name,
    ROCP_BUFFER_KINDS(ROCP_KIND) ROCP_BUFFER_KIND_COUNT,
    ROCP_CALLBACK_KIND_FIRST = ROCP_BUFFER_KIND_COUNT - 1,
    ROCP_CALLBACK_KINDS(ROCP_KIND) ROCP_KIND_COUNT
#undef ROCP_KIND
};

enum { ROCP_NO_KIND = -1 };

struct rocp { /* functions by name; those that are not required may be NULL */
#define ROCP_MEMBER(required, result, name, arguments) result(*name) arguments;
    ROCP_FUNCTIONS(ROCP_MEMBER)
#undef ROCP_MEMBER
    char path[256];
    uint32_t version;           /* 10000 x major + 100 x minor + patch */
    int kinds[ROCP_KIND_COUNT]; /* the library's number; ROCP_NO_KIND: this version lacks it */
};

/* Opens the copy that contains this address; NULL: a copy that is loaded already, else one that the
 * loader finds. Does not set version and kinds. GPUFL_E_UNAVAILABLE and what to install. */
int rocp_open(struct rocp *sdk, const void *code, struct err *e);

/* Asks the library for the numbers of kinds. Called inside rocprofiler_configure or later. */
void rocp_find_kinds(struct rocp *sdk);

/* Returns the kind of records that has this number in the library, for a reader of records;
 * ROCP_KIND_COUNT: none has. */
enum rocp_kind rocp_buffer_kind(const struct rocp *sdk, uint32_t number);

/* Says how many numbers of operations are distinguished; HIP has far fewer. */
enum { ROCP_OPERATIONS = 2048 };

/* Describes rows of a table that begin with the name of a HIP call. */
struct rocp_named {
    const void *rows;
    size_t stride, count; /* bytes from row to row; rows */
};

/* Finds the library's numbers of these calls. rows[number] becomes the row, from 1 on, unless
 * another row has the number already; operations gets the numbers. Returns how many. [owner] */
size_t rocp_find_calls(const struct rocp *sdk, const struct rocp_named *calls,
                       uint8_t rows[ROCP_OPERATIONS], uint32_t *operations);

/* Puts a status of the library into *e as a sentence. doing: "to create a context". Returns
 * GPUFL_E_VENDOR. */
int rocp_error(const struct rocp *sdk, int status, const char *doing, struct err *e);

static inline bool rocp_new_form(const struct rocp *sdk)
{
    return sdk->version >= ROCP_NEW_FORM;
}

#endif

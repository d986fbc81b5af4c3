/* document.h - reads a file of docs/, for tests that compare it with a table. Include cmocka.h
 * before this file. */
#ifndef GPUFL_TESTS_DOCUMENT_H
#define GPUFL_TESTS_DOCUMENT_H

#include "base/alloc.h"
#include "base/file/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char *document_path(const char *name)
{
    static char path[PATH_MAX];
    const char *root = getenv("GPUFL_SOURCE_DIR");
    assert_non_null(root);
    snprintf(path, sizeof path, "%s/docs/%s", root, name);
    return path;
}

/* Reads the document's text, which the caller frees with mem_free. */
static inline void document_read(const char *name, char **text)
{
    size_t len;
    struct err e = {0};
    if (file_read_all(document_path(name), 16 << 20, text, &len, &e))
        fail_msg("%s", e.text);
    assert_int_equal(strlen(*text), len);
}

/* Fails if the text, the document's or a piece of it, does not contain the line. */
static inline void document_has(const char *name, const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("docs/%s lacks: %s", name, line);
}

#endif

/* api_key.c - see api_key.h. */
#include "agent/api_key.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int read_file(const char *path, char out[API_KEY_MAX], bool *exposed, struct err *e)
{
    char *data = NULL;
    size_t len = 0;
    struct stat st;
    int rc = file_read_all(path, API_KEY_MAX - 1, &data, &len, e);
    if (rc)
        return rc;
    *exposed = stat(path, &st) == 0 && (st.st_mode & (S_IRGRP | S_IROTH));
    size_t line = strcspn(data, "\r\n");
    memcpy(out, data, line);
    out[line] = '\0';
    explicit_bzero(data, len);
    mem_free(data);
    return *out ? 0 : err_set(e, GPUFL_E_INVAL, "%s: its first line holds no key", path);
}

int api_key_find(const char *file, char out[API_KEY_MAX], bool *exposed, struct err *e)
{
    const char *key = getenv("GPUFL_API_KEY");
    *exposed = false;
    if (file)
        return read_file(file, out, exposed, e);
    if (key && strlen(key) >= API_KEY_MAX)
        return err_set(e, GPUFL_E_INVAL, "GPUFL_API_KEY is too long for a key");
    snprintf(out, API_KEY_MAX, "%s", key ? key : "");
    return 0;
}

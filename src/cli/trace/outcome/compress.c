/* compress.c - compresses finished parts of a log with gzip.
 *
 * The plain file is removed only when the compressed file is complete under its final name, so that
 * nothing is lost if this process is killed. A reader that finds both files sees one part number
 * twice. Level 1, because a user waits for the prompt: columns compress nearly as well as at level
 * 6, at five times the speed. */
#include "cli/trace/outcome/compress.h"

#include "base/file/file.h"
#include "cli/trace/outcome/session.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LEVEL = 1 };

/* "device.3.log" has a number, "device.log" none. len: without ".log". */
static bool is_numbered(const char *name, size_t len)
{
    size_t digits = 0;
    while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
        digits++;
    return digits > 0 && digits < len && name[len - 1 - digits] == '.';
}

static int compress_part(const char *dir, const char *name, struct err *e)
{
    char source[PATH_MAX], target[PATH_MAX], file[NAME_MAX + 32];
    size_t len = strlen(name) - strlen(".log");
    if (path_join(source, sizeof source, dir, name) || !file_is_regular(source))
        return GPUFL_OK;
    if (is_numbered(name, len)) {
        snprintf(file, sizeof file, "%s.gz", name);
    } else {
        int64_t part = session_part(source);
        if (part < 1 && file_size(source) == 0) /* the program was killed before it wrote */
            return unlink(source) ? err_set_vendor(e, GPUFL_E_IO, errno, "cannot remove %s", source)
                                  : GPUFL_OK;
        if (part < 1)
            return GPUFL_OK; /* without a header, no reader could use the file; it stays as it is */
        snprintf(file, sizeof file, "%.*s.%" PRId64 ".log.gz", (int)len, name, part);
    }
    if (path_join(target, sizeof target, dir, file) ||
        (!is_numbered(name, len) && file_exists(target)))
        return GPUFL_OK;
    int rc = file_gzip(source, target, LEVEL, e);
    if (rc == GPUFL_OK && unlink(source) != 0)
        rc = err_set_vendor(e, GPUFL_E_IO, errno, "cannot remove %s", source);
    return rc;
}

int compress_session(const char *dir, struct err *e)
{
    DIR *d = opendir(dir);
    int rc = GPUFL_OK;
    if (!d)
        return err_set_vendor(e, GPUFL_E_IO, errno, "cannot read %s", dir);
    for (struct dirent *f; rc == GPUFL_OK && (f = readdir(d));) {
        size_t n = strlen(f->d_name);
        if (n > 4 && strcmp(f->d_name + n - 4, ".log") == 0)
            rc = compress_part(dir, f->d_name, e);
    }
    closedir(d);
    return rc;
}

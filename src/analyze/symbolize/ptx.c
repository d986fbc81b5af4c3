/* ptx.c - keeps the PTX of the device code that was sampled, as sources are kept.
 *
 * A function's PTX has the path NAME.ptx, with its mangled name: a source whose text comes from a
 * cubin instead of a file. It comes after the sources that people wrote, since a session keeps a
 * bounded amount. */
#include "analyze/symbolize/inside.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "symbol/cubin/ptx.h"
#include "symbol/source_file.h"

#include <limits.h>
#include <stdio.h>

enum { NAME_MOST = 4096 };

/* Returns true for ASCII text, as PTX is. */
static bool is_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x7f ||
            ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t'))
            return false;
    return true;
}

static void keep_function(struct symbolize *z, const char *ptx, const char *name)
{
    char path[NAME_MOST];
    size_t at, len;
    int n = snprintf(path, sizeof path, "%s.ptx", name);
    if (n <= 4 || (size_t)n >= sizeof path || !ptx_find(ptx, name, &at, &len))
        return;
    struct source_file f = {.text = (char *)ptx + at, .len = len, .mtime = CELL_NULL};
    uint32_t number = symbolize_text_number(z, path, (size_t)n);
    if (!number || intern_overflows(z->texts) || z->text[number].kept || len > SOURCE_MAX ||
        z->source_bytes + len > SOURCE_SESSION_MAX || !is_text(f.text, len))
        return;
    f.hash = source_hash(f.text, len);
    z->source_bytes += len;
    symbolize_keep(z, number, &f);
    symbolize_end_batch(z, false);
}

void symbolize_ptx(struct symbolize *z)
{
    char path[PATH_MAX];
    size_t len;
    for (uint32_t i = 0; i < z->objects.row_count && !z->code; i++) {
        const int64_t *object = z->objects.rows + (size_t)i * z->objects.width;
        char *ptx = symbolize_kept_code(z, object, path, sizeof path) && file_exists(path)
                        ? ptx_read(path, &len)
                        : NULL;
        for (uint32_t k = 0; ptx && k < z->functions.row_count && !z->code; k++) {
            const int64_t *f = z->functions.rows + (size_t)k * z->functions.width;
            if (f[COL_function_object] == object[0])
                keep_function(z, ptx,
                              symbolize_text(z, symbolize_name_number(z, f[COL_function_name])));
        }
        mem_free(ptx);
    }
}

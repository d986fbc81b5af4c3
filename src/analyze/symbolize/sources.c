/* sources.c - keeps texts of the files that stacks go through, in pieces.
 *
 * The user's own files come first, since a session keeps a bounded amount; then library files that
 * a report points at, and files that torch.compile has made. Other files are available elsewhere,
 * and no report points at them. */
#include "analyze/symbolize/inside.h"

#include "base/file/spelling.h"
#include "symbol/source_file.h"

#include <string.h>

void symbolize_want(struct symbolize *z, uint32_t number, enum fold_language language)
{
    if (!number || z->text[number].wanted)
        return;
    struct fold_frame f = {.language = language, .file = symbolize_text(z, number), .line = 1};
    z->text[number].wanted = true;
    z->text[number].user = fold_classify(&f) == FOLD_USER;
}

static void want_python(struct symbolize *z)
{
    for (uint32_t i = 0; i < z->frames.row_count; i++) {
        const int64_t *row = z->frames.rows + (size_t)i * z->frames.width;
        uint32_t file = symbolize_name_number(z, row[COL_frame_file]);
        if (row[COL_frame_kind] != FOLD_PYTHON || !file)
            continue;
        symbolize_want(z, file, FOLD_PYTHON);
        /* The code that torch.compile has made defines the kernels that the session names. */
        z->text[file].shown |= strstr(symbolize_text(z, file), "/torchinductor_") != NULL;
    }
}

void symbolize_keep(struct symbolize *z, uint32_t path, const struct source_file *f)
{
    struct source_row row = {
        .path = symbolize_put_name(z, path),
        .hash = (int64_t)f->hash,
        .size = (int64_t)f->len,
        .mtime = f->mtime,
    };
    size_t n = 0;
    do {
        const char *text = f->text + row.offset;
        n = source_file_piece(f, (size_t)row.offset);
        row.text = n ? symbolize_put_piece(z, text, n) : 0;
        encode_rows(&z->lines, RECORD_source, (const int64_t *)&row, 1);
        row.offset += (int64_t)n;
    } while ((size_t)row.offset < f->len);
    z->text[path].kept = true;
    z->stats.sources++;
}

/* Keeps a file; a file that is gone, not text or too large is skipped. */
static int keep_file(struct symbolize *z, uint32_t path)
{
    struct source_file f;
    char bytes[PATH_MAX];
    int rc = source_file_read(&f, spelling_path(symbolize_text(z, path), bytes), NULL);
    if (rc)
        return rc == GPUFL_E_NOMEM ? rc : 0;
    if (z->source_bytes + f.len <= SOURCE_SESSION_MAX) {
        z->source_bytes += f.len;
        symbolize_keep(z, path, &f);
        symbolize_end_batch(z, false);
    }
    source_file_fini(&f);
    return 0;
}

int symbolize_sources(struct symbolize *z)
{
    want_python(z);
    int rc = symbolize_show(z);
    for (int user = 1; user >= 0; user--)
        for (uint32_t i = 1; i < z->text_count && !rc && !z->code; i++) {
            const struct symbolize_text *t = &z->text[i];
            if (t->wanted && !t->kept && t->user == user && (t->user || t->shown))
                rc = keep_file(z, i);
        }
    return rc;
}

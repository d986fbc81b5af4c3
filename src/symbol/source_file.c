/* source_file.c - reads, checks and splits source files. */
#include "symbol/source_file.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- text ------------------------------------------------------------------------------ */

enum encoding { NO_TEXT, UTF_8, LATIN_1 };

/* Accepts tab, line feed, vertical tab, form feed and carriage return; escape occurs in logs of
 * terminals. */
static bool is_text(unsigned char c)
{
    return c >= 0x20 ? c != 0x7f : (c >= '\t' && c <= '\r') || c == 0x1b;
}

/* The control bytes of ISO 8859-1 are letters in other encodings; such text would be garbled, so it
 * is refused. */
static enum encoding encoding_of(const unsigned char *s, size_t n)
{
    enum encoding found = UTF_8;
    for (size_t i = 0, len; i < n; i += len) {
        len = 1;
        if (s[i] < 0x80 && !is_text(s[i]))
            return NO_TEXT;
        if (s[i] >= 0x80 && found == UTF_8) {
            len = utf8_sequence(s + i, n - i);
            if (len)
                continue;
            found = LATIN_1;
            i = 0; /* the text before has to be checked again, in the other encoding */
            len = 0;
            continue;
        }
        if (s[i] >= 0x80 && s[i] < 0xa0)
            return NO_TEXT;
    }
    return found;
}

/* Converts ISO 8859-1 to UTF-8: each byte from 0x80 on becomes two. */
static char *from_latin_1(const unsigned char *s, size_t n, size_t *len)
{
    char *text = mem_alloc(2 * n + 1), *at = text;
    for (size_t i = 0; text && i < n; i++) {
        if (s[i] >= 0x80)
            *at++ = (char)(0xc0 | s[i] >> 6);
        *at++ = (char)(s[i] >= 0x80 ? 0x80 | (s[i] & 0x3f) : s[i]);
    }
    if (text)
        *at = '\0';
    *len = text ? (size_t)(at - text) : 0;
    return text;
}

uint64_t source_hash(const char *text, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

/* Takes the bytes of the file over. */
static int take_text(struct source_file *f, char *data, size_t n)
{
    enum encoding e = encoding_of((const unsigned char *)data, n);
    f->text = data;
    f->len = n;
    if (e == NO_TEXT)
        return GPUFL_E_INVAL;
    if (e == LATIN_1) {
        f->text = from_latin_1((const unsigned char *)data, n, &f->len);
        mem_free(data);
        if (!f->text)
            return GPUFL_E_NOMEM;
    }
    if (f->len > SOURCE_MAX)
        return GPUFL_E_FULL;
    f->hash = source_hash(f->text, f->len);
    return 0;
}

/* ---- file ------------------------------------------------------------------------------ */

/* Reads up to max bytes; the rest of a growing file is left out. -1 with errno on failure. */
static ssize_t read_up_to(int fd, char *to, size_t max)
{
    size_t done = 0;
    while (done < max) {
        ssize_t n = read(fd, to + done, max - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int read_open(struct source_file *f, int fd, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return err_set(e, GPUFL_E_INVAL, "%s is not a regular file", path);
    if (st.st_size > SOURCE_MAX)
        return err_set(e, GPUFL_E_FULL, "%s is larger than 1 MiB", path);
    char *data = mem_alloc((size_t)st.st_size + 1);
    if (!data)
        return err_nomem(e);
    ssize_t n = read_up_to(fd, data, (size_t)st.st_size);
    if (n < 0) {
        int why = errno;
        mem_free(data);
        return err_set_vendor(e, err_from_errno(why), why, "cannot read %s", path);
    }
    data[n] = '\0';
    f->mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    int rc = take_text(f, data, (size_t)n);
    if (rc)
        return err_set(e, rc, "%s: %s", path,
                       rc == GPUFL_E_INVAL ? "neither UTF-8 nor ISO 8859-1 text" : err_text(rc));
    return 0;
}

/* O_NONBLOCK: opening a FIFO would wait for its other end. */
int source_file_read(struct source_file *f, const char *path, struct err *e)
{
    memset(f, 0, sizeof *f);
    if (*path != '/')
        return err_set(e, GPUFL_E_INVAL, "%s is not an absolute path", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", path);
    int rc = read_open(f, fd, path, e);
    close(fd);
    if (rc)
        source_file_fini(f);
    return rc;
}

void source_file_fini(struct source_file *f)
{
    mem_free(f->text);
    memset(f, 0, sizeof *f);
}

size_t source_file_piece(const struct source_file *f, size_t from)
{
    size_t n = from < f->len ? f->len - from : 0;
    if (n <= SOURCE_PIECE_MAX)
        return n;
    n = SOURCE_PIECE_MAX;
    while (((unsigned char)f->text[from + n] & 0xc0) == 0x80)
        n--;
    return n;
}

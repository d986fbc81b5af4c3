/* export.c - writes sessions in the public GPUFlight client's format.
 *
 * Each session is read twice: the first pass collects names, dictionaries and the nesting of
 * scopes, which that format has before or inside its rows; the second pass writes. Files are where
 * that client's readers look for them: <dir>/<session>/<channel>.1.log.gz. Each channel has a
 * buffer for its lines, so that memory is bounded by what the encoder has to know. One owner. */
#include "analyze/read/discover.h"
#include "analyze/read/feed.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "symbol/names/demangle.h"
#include "wire/peer/encode.h"

#include <gpufl/analysis.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { FLUSH_AT = 1 << 20 };

struct exporter {
    struct peer_encoder *encoder;
    struct decoder *decoder;
    struct wire_visitor visitor;
    struct buf name;     /* a demangled name */
    bool writing;        /* the second pass */
    bool damaged;        /* some of the log cannot be read */
    const char *dir;     /* the caller's */
    char home[PATH_MAX]; /* folder of the session below dir; "" until the header has been read */
    gzFile files[PEER_CHANNEL_COUNT];
    struct err *err;
};

static const char *demangle(void *arg, const char *text)
{
    struct exporter *x = arg;
    buf_clear(&x->name);
    demangle_put(&x->name, text);
    return buf_error(&x->name) ? NULL : buf_cstr(&x->name);
}

/* ---- files ----------------------------------------------------------------------------- */

/* Returns true for a session id that is safe as a directory's name, since it cannot lead
 * elsewhere. */
static bool is_plain(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) < NAME_MAX / 2;
}

static int open_files(struct exporter *x, const char *session)
{
    char path[PATH_MAX], file[32];
    if (path_join(x->home, sizeof x->home, x->dir, session))
        return err_set(x->err, GPUFL_E_INVAL, "the path below %s is too long", x->dir);
    int rc = file_mkdirs(x->home, 0777, x->err);
    for (int c = 0; !rc && c < PEER_CHANNEL_COUNT; c++) {
        snprintf(file, sizeof file, "%s.1.log.gz", peer_channel_names[c]);
        if (path_join(path, sizeof path, x->home, file))
            return err_set(x->err, GPUFL_E_INVAL, "the path below %s is too long", x->dir);
        x->files[c] = gzopen(path, "wb6xe");
        if (!x->files[c] && errno == EEXIST)
            return err_set(x->err, GPUFL_E_STATE,
                           "%s exists already: remove it, or name another directory", path);
        if (!x->files[c])
            rc = err_set_vendor(x->err, err_from_errno(errno), errno, "cannot write %s", path);
        else
            gzbuffer(x->files[c], FLUSH_AT);
    }
    return rc;
}

static int write_failed(struct exporter *x)
{
    return err_set(x->err, GPUFL_E_IO, "cannot write below %s: %s", x->home,
                   errno ? strerror(errno) : "the disk may be full");
}

/* Writes the collected lines if they are many, or all of them. */
static int flush(struct exporter *x, bool all)
{
    for (int c = 0; c < PEER_CHANNEL_COUNT; c++) {
        struct buf *lines = peer_encoder_lines(x->encoder, (enum peer_channel)c);
        if (lines->len < FLUSH_AT && !all)
            continue;
        for (size_t at = 0; at < lines->len;) {
            size_t n = lines->len - at < FLUSH_AT ? lines->len - at : FLUSH_AT;
            errno = 0;
            if (gzwrite(x->files[c], lines->data + at, (unsigned)n) != (int)n)
                return write_failed(x);
            at += n;
        }
        buf_clear(lines);
    }
    return 0;
}

/* Removes the files that this run made: half a session is useless, and would hinder the next
 * attempt. */
static void remove_files(const struct exporter *x, const bool made[PEER_CHANNEL_COUNT])
{
    char path[PATH_MAX], file[32];
    for (int c = 0; c < PEER_CHANNEL_COUNT; c++) {
        snprintf(file, sizeof file, "%s.1.log.gz", peer_channel_names[c]);
        if (made[c] && !path_join(path, sizeof path, x->home, file))
            unlink(path);
    }
    rmdir(x->home); /* fails if the folder has other files, which is intended */
}

static int close_files(struct exporter *x, int rc)
{
    bool made[PEER_CHANNEL_COUNT];
    for (int c = 0; c < PEER_CHANNEL_COUNT; c++) {
        made[c] = x->files[c] != NULL;
        errno = 0;
        if (x->files[c] && gzclose(x->files[c]) != Z_OK && !rc)
            rc = write_failed(x);
        x->files[c] = NULL;
    }
    if (rc && *x->home)
        remove_files(x, made);
    return rc;
}

/* ---- the two passes -------------------------------------------------------------------- */

static int take_header(void *arg, const struct wire_header *h)
{
    struct exporter *x = arg;
    if (x->writing && !*x->home) {
        int rc = open_files(x, is_plain(h->session) ? h->session : "session");
        if (rc)
            return rc;
    }
    return peer_encoder_header(x->encoder, h);
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    return peer_encoder_name(((struct exporter *)arg)->encoder, id, text, len);
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    struct exporter *x = arg;
    if (!x->writing)
        return peer_encoder_learn(x->encoder, b);
    int rc = peer_encoder_batch(x->encoder, b);
    return rc || !*x->home ? rc : flush(x, false);
}

static int take_line(void *arg, char *line, size_t len, bool complete)
{
    struct exporter *x = arg;
    uint64_t damaged = decoder_stats(x->decoder)->damaged;
    int rc = decoder_feed(x->decoder, line, len, &x->visitor);
    x->damaged |= complete && decoder_stats(x->decoder)->damaged > damaged;
    return rc;
}

static int run_pass(struct exporter *x, const struct discover_session *s, bool writing,
                    uint64_t *lines)
{
    struct feed f = {.arg = x, .line = take_line};
    struct feed_stats stats;
    x->writing = writing;
    int rc = decoder_open(&x->decoder);
    if (rc)
        return rc;
    rc = feed_session(s, &f, &stats);
    rc = rc ? rc : decoder_finish(x->decoder, &x->visitor);
    const struct decode_stats *d = decoder_stats(x->decoder);
    *lines = d->lines - d->damaged - d->unknown_records;
    x->damaged |= stats.damaged || s->gaps;
    decoder_close(x->decoder);
    if (!rc && !stats.parts)
        rc = err_set(x->err, GPUFL_E_IO, "%s", stats.first_error);
    return rc;
}

/* Exports a session. *damaged: some of the session could not be read, so it is missing from the
 * export. */
static int export_session(const struct discover_session *s, const char *dir, bool *damaged,
                          struct err *e)
{
    struct exporter x = {.dir = dir, .err = e};
    struct peer_encode_config config = {.arg = &x, .demangle = demangle, .log_path = dir};
    uint64_t lines = 0;
    x.visitor = (struct wire_visitor){
        .arg = &x, .header = take_header, .name = take_name, .batch = take_batch};
    buf_init(&x.name, DEMANGLE_ROOM);
    int rc = peer_encoder_open(&x.encoder, &config);
    rc = rc ? rc : run_pass(&x, s, false, &lines);
    if (!rc && !lines)
        rc =
            err_set(e, GPUFL_E_CORRUPT, "%s: not a session log: nothing in it can be read", s->dir);
    rc = rc ? rc : run_pass(&x, s, true, &lines);
    if (!rc && !*x.home)
        rc = err_set(e, GPUFL_E_CORRUPT, "%s: no header names its session", s->dir);
    rc = rc ? rc : peer_encoder_finish(x.encoder);
    rc = rc ? rc : flush(&x, true);
    rc = close_files(&x, rc);
    if (x.encoder)
        peer_encoder_close(x.encoder);
    buf_fini(&x.name);
    *damaged = x.damaged;
    if (rc && !*e->text)
        err_set(e, rc, "%s: %s", s->dir, err_text(rc));
    return rc;
}

/* Exports every session. A session that cannot be read does not stop the others. The first failure
 * is reported, or if there is none, how many sessions are damaged. */
static int export_all(const struct discover *d, const char *dir, struct err *e)
{
    size_t written = 0, damaged = 0;
    struct err first = {0};
    for (size_t i = 0; i < d->count; i++) {
        struct err one = {0};
        bool torn = false;
        int rc = export_session(&d->sessions[i], dir, &torn, &one);
        damaged += !rc && torn;
        written += !rc;
        if (rc && rc != GPUFL_E_CORRUPT)
            return err_set(e, rc, "%s", one.text);
        if (rc && !first.code)
            first = one;
    }
    if (first.code && written)
        return err_set(e, first.code, "%s; the other %zu of %zu sessions were written", first.text,
                       written, d->count);
    if (first.code)
        return err_set(e, first.code, "%s", first.text);
    if (damaged)
        snprintf(e->text, sizeof e->text,
                 "%zu of %zu sessions are damaged: what could not be read is not in what was "
                 "written (gpufl report says what it is)",
                 damaged, d->count);
    return 0;
}

int gpufl_export_gpuflight(const char *path, const char *dir, char *error, size_t error_size)
{
    struct err e = {0};
    struct discover d;
    int rc = path && dir ? 0 : err_set(&e, GPUFL_E_INVAL, "no path or no directory was given");
    if (!rc)
        rc = discover_open(&d, path, &e);
    if (!rc) {
        rc = file_mkdirs(dir, 0777, &e);
        rc = rc ? rc : export_all(&d, dir, &e);
        discover_close(&d);
    }
    if (error && error_size)
        snprintf(error, error_size, "%s", *e.text ? e.text : rc ? err_text(rc) : "");
    return rc;
}

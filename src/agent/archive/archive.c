/* archive.c - see archive.h: copies a folder to the bucket. */
#include "agent/archive/archive.h"

#include "base/clock.h"
#include "base/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

static const int64_t SECOND = 1000000000, OBJECT_MOST = 5LL << 30; /* bytes, of one request */

static int64_t time_of(const struct stat *st)
{
    return st->st_mtim.tv_sec * SECOND + st->st_mtim.tv_nsec;
}

/* ---- the folder ---------------------------------------------------------------------------- */

/* Opens the regular file of that name, not a link; negative: there is none. */
static int open_file(const char *folder, const char *name, struct stat *st)
{
    char path[PATH_MAX];
    if (path_join(path, sizeof path, folder, name))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Links and other kinds of files are ignored. */
int archive_list(const char *folder, struct manifest *m, struct err *e)
{
    struct manifest_file *f;
    struct dirent *entry;
    struct stat st;
    int rc = 0;
    m->count = 0;
    m->last = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return err_set_vendor(e, err_from_errno(errno), errno, "%s", folder);
    while (!rc && (entry = readdir(dir))) {
        if (!manifest_takes(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        rc = manifest_add(m, entry->d_name, &f);
        if (!rc) {
            f->bytes = st.st_size;
            f->modified = time_of(&st);
            m->last = f->modified > m->last ? f->modified : m->last;
        }
    }
    closedir(dir);
    return rc ? err_set(e, GPUFL_E_INVAL, "%s has more than %d files", folder, MANIFEST_FILES) : 0;
}

bool archive_is_same(const char *folder, const struct manifest *m)
{
    struct manifest now;
    manifest_init(&now);
    bool same = !archive_list(folder, &now, NULL) && now.count == m->count;
    for (size_t i = 0; same && i < m->count; i++) {
        const struct manifest_file *f = &m->files[i], *there = manifest_find(&now, f->name);
        same = there && there->bytes == f->bytes && there->modified == f->modified;
    }
    manifest_fini(&now);
    return same;
}

/* ---- one file ------------------------------------------------------------------------------ */

struct sending {
    int fd;
    int64_t at, size; /* bytes */
    const volatile sig_atomic_t *stop;
};

static int64_t read_some(void *arg, char *out, size_t size)
{
    struct sending *x = arg;
    int64_t left = x->size - x->at;
    ssize_t n = pread(x->fd, out, (int64_t)size < left ? size : (size_t)left, x->at);
    if (n < 0 || (n == 0 && left)) /* the file got shorter */
        return GPUFL_E_STATE;
    x->at += n;
    return n;
}

static int sum_file(struct sending *x, char hex[SHA256_HEX])
{
    static _Thread_local char chunk[CHUNK];
    struct sha256 sum;
    int64_t n;
    sha256_init(&sum);
    while ((n = read_some(x, chunk, sizeof chunk)) > 0)
        sha256_add(&sum, chunk, (size_t)n);
    sha256_end(&sum, hex);
    x->at = 0;
    return (int)n;
}

static int changed(const char *folder, const char *name, struct err *e)
{
    return err_set(e, GPUFL_E_STATE, "%s/%s changed while it was archived", folder, name);
}

static bool has(const struct manifest *m, const struct manifest_file *f)
{
    const struct manifest_file *known = manifest_find(m, f->name);
    return known && known->bytes == f->bytes && strcmp(known->sha256, f->sha256) == 0;
}

/* Notes that the file is in the bucket. */
static void note_sent(struct manifest *sent, const struct manifest_file *f)
{
    struct manifest_file *to = (struct manifest_file *)manifest_find(sent, f->name);
    if (to || !manifest_add(sent, f->name, &to)) /* else it is sent again */
        *to = *f;
}

/* Sends a file unless the earlier manifest has it, or an earlier try sent it. */
static int put_file(const struct archive_job *job, struct manifest_file *f,
                    const struct manifest *before, struct err *e)
{
    char key[MANIFEST_KEY];
    struct stat st;
    const char *folder = job->folder;
    struct sending x = {.fd = open_file(folder, f->name, &st), .size = f->bytes};
    if (f->bytes > OBJECT_MOST)
        return err_set(e, GPUFL_E_INVAL, "%s/%s has more than 5 GiB, which is no part of a log",
                       folder, f->name);
    if (x.fd < 0)
        return changed(folder, f->name, e);
    int rc = sum_file(&x, f->sha256) ? changed(folder, f->name, e) : 0;
    if (!rc && (has(before, f) || has(job->sent, f))) {
        job->counts->had++;
    } else if (!rc) {
        const struct s3_body b = {.read = read_some,
                                  .arg = &x,
                                  .size = f->bytes,
                                  .sha256 = f->sha256,
                                  .type = "application/octet-stream"};
        manifest_file_key(job->m->session, f, key);
        rc = s3_put(job->s3, key, &b, job->why, e);
        if (rc == GPUFL_E_STATE && x.at < x.size && fstat(x.fd, &st) == 0 && st.st_size < x.size)
            rc = changed(folder, f->name, e);
        if (!rc && job->why->status / 100 != 2)
            rc = s3_refusal(job->s3, job->why, e);
        if (!rc)
            note_sent(job->sent, f);
        job->counts->objects += !rc;
        job->counts->bytes += rc ? 0 : (uint64_t)f->bytes;
    }
    close(x.fd);
    return rc;
}

/* ---- the manifest -------------------------------------------------------------------------- */

static int64_t read_text(void *arg, char *out, size_t size)
{
    struct buf *b = arg;
    size_t n = b->len < size ? b->len : size;
    memcpy(out, b->data, n);
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
    return (int64_t)n;
}

static int put_manifest(struct s3 *s, const struct manifest *m, struct s3_answer *why,
                        struct err *e)
{
    char key[MANIFEST_KEY], hex[SHA256_HEX];
    struct sha256 sum;
    struct buf text;
    buf_init(&text, MANIFEST_BYTES);
    manifest_write(m, &text);
    int rc = buf_error(&text) ? err_set(e, GPUFL_E_INVAL, "the session has too many files") : 0;
    if (!rc) {
        sha256_init(&sum);
        sha256_add(&sum, text.data, text.len);
        sha256_end(&sum, hex);
        manifest_key(m->session, key);
        const struct s3_body b = {.read = read_text,
                                  .arg = &text,
                                  .size = (int64_t)text.len,
                                  .sha256 = hex,
                                  .type = "application/json"};
        rc = s3_put(s, key, &b, why, e);
    }
    buf_fini(&text);
    return !rc && why->status / 100 != 2 ? s3_refusal(s, why, e) : rc;
}

int archive_manifest(struct s3 *s, const char *session, struct manifest *m, struct s3_answer *why,
                     struct err *e)
{
    char key[MANIFEST_KEY];
    struct buf text;
    if (!manifest_is_session(session))
        return err_set(e, GPUFL_E_INVAL, "'%.80s' is no session's name", session);
    buf_init(&text, MANIFEST_BYTES);
    manifest_key(session, key);
    int rc = s3_get_text(s, key, &text, why, e);
    if (!rc && why->status != 200)
        rc = s3_refusal(s, why, e);
    if (!rc)
        rc = manifest_read(m, text.data, text.len, e);
    if (!rc && strcmp(m->session, session) != 0)
        rc = err_set(e, GPUFL_E_INVAL, "its manifest is that of session %s", m->session);
    buf_fini(&text);
    return rc;
}

/* Reads the manifest of an earlier archive of the session; empty if there is none, or it is
 * damaged. */
static int find_before(struct s3 *s, const struct manifest *m, struct manifest *before,
                       struct s3_answer *why, struct err *e)
{
    int rc = archive_manifest(s, m->session, before, why, e);
    bool none = why->status == 404 || why->status == 200;
    if (rc && none && rc != GPUFL_E_NOMEM) {
        manifest_fini(before);
        return 0;
    }
    if (!rc && strcmp(before->host, m->host) != 0)
        rc = err_set(e, GPUFL_E_INVAL, "the archive has a session %s of another host, %s",
                     m->session, before->host);
    return rc;
}

/* Removes objects that only the earlier manifest named. An object that stays costs room and does no
 * harm. */
static void remove_before(struct s3 *s, const struct manifest *m, const struct manifest *before)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct manifest_file *f = manifest_find(m, before->files[i].name);
        char key[MANIFEST_KEY], now[MANIFEST_KEY] = "";
        struct s3_answer a;
        manifest_file_key(m->session, &before->files[i], key);
        if (f)
            manifest_file_key(m->session, f, now);
        if (strcmp(key, now) != 0)
            (void)s3_remove(s, key, &a, NULL);
    }
}

int archive_put(const struct archive_job *job, struct err *e)
{
    struct manifest *m = job->m, *sent = job->sent, before;
    *job->why = (struct s3_answer){.retry_after = -1};
    if (!manifest_is_session(m->session))
        return err_set(e, GPUFL_E_INVAL, "'%.80s' is no session's name", m->session);
    manifest_init(&before);
    if (strcmp(sent->session, m->session) != 0)
        manifest_fini(sent);
    memcpy(sent->session, m->session, sizeof sent->session);
    int rc = archive_list(job->folder, m, e);
    if (!rc && !m->count)
        rc = err_set(e, GPUFL_E_STATE, "%s has no part of a log any more", job->folder);
    if (!rc)
        rc = find_before(job->s3, m, &before, job->why, e);
    for (size_t i = 0; !rc && i < m->count; i++)
        rc = put_file(job, &m->files[i], &before, e);
    if (!rc && !archive_is_same(job->folder, m))
        rc = changed(job->folder, "", e);
    m->written = clock_real();
    if (!rc)
        rc = put_manifest(job->s3, m, job->why, e);
    if (!rc) {
        remove_before(job->s3, m, &before);
        manifest_fini(sent);
    }
    manifest_fini(&before);
    return rc;
}

/* restore.c - see archive.h: copies a session from the bucket. */
#include "agent/archive/archive.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 8, NAP_MS = 50 };

static const int64_t SECOND = 1000000000, MILLI = 1000000;

/* ---- one file ------------------------------------------------------------------------------ */

struct coming {
    int fd, error; /* errno */
    int64_t at, size;
    struct sha256 sum;
};

static int take_some(void *arg, const char *data, size_t n)
{
    struct coming *x = arg;
    if ((int64_t)n > x->size - x->at) /* longer than the manifest says */
        return GPUFL_E_INVAL;
    x->error = -file_write_shielded(x->fd, data, n);
    x->at += (int64_t)n;
    sha256_add(&x->sum, data, n);
    return x->error ? GPUFL_E_IO : 0;
}

static int damaged(const struct manifest_file *f, const char *how, struct err *e)
{
    return err_set(e, GPUFL_E_INVAL, "%s is damaged: %s", f->name, how);
}

/* Gets a file's object into fd. */
static int fetch_into(struct s3 *s, const char *session, const struct manifest_file *f, int fd,
                      struct s3_answer *why, struct err *e)
{
    char key[MANIFEST_KEY], hex[SHA256_HEX];
    struct coming x = {.fd = fd, .size = f->bytes};
    sha256_init(&x.sum);
    manifest_file_key(session, f, key);
    int rc = s3_get(s, key, take_some, &x, why, e);
    if (x.error)
        return err_set_vendor(e, err_from_errno(x.error), x.error, "%s cannot be written", f->name);
    if (rc == GPUFL_E_INVAL)
        return damaged(f, "its object is longer than the manifest says", e);
    if (rc)
        return rc;
    if (why->status == 404)
        return damaged(f, "its object is not there", e);
    if (why->status != 200)
        return s3_refusal(s, why, e);
    sha256_end(&x.sum, hex);
    if (x.at != f->bytes)
        return damaged(f, "its object is shorter than the manifest says", e);
    return strcmp(hex, f->sha256) ? damaged(f, "its checksum is not the manifest's", e) : 0;
}

static int get_file(struct s3 *s, const char *session, const struct manifest_file *f,
                    const char *folder, struct s3_answer *why, struct err *e)
{
    char path[PATH_MAX];
    if (path_join(path, sizeof path, folder, f->name))
        return err_set(e, GPUFL_E_INVAL, "%s: the path is too long", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "%s", path);
    int rc = fetch_into(s, session, f, fd, why, e);
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT}, {.tv_sec = f->modified / SECOND, .tv_nsec = f->modified % SECOND}};
    if (!rc && (futimens(fd, times) || fsync(fd)))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "%s", path);
    if (close(fd) && !rc)
        rc = err_set_vendor(e, err_from_errno(errno), errno, "%s", path);
    return rc;
}

/* ---- trying again -------------------------------------------------------------------------- */

bool archive_wait(struct backoff *b, int64_t retry_after, const volatile sig_atomic_t *stop)
{
    int64_t wait = backoff_next(b, retry_after), until = clock_mono() + wait;
    while (clock_mono() < until && !(stop && *stop))
        nanosleep(&(struct timespec){.tv_nsec = NAP_MS * MILLI}, NULL);
    return wait >= 0 && !(stop && *stop);
}

static void be_patient(struct backoff *b)
{
    backoff_init(b, TRIES, SECOND / 5, 10 * SECOND, (uint64_t)clock_real());
}

/* Waits for the next try, and prints the reason once. */
static bool try_again(struct backoff *b, int64_t retry_after, const volatile sig_atomic_t *stop,
                      const struct err *e)
{
    if (b->tries == 0)
        log_warn("%s; it is tried again for about 20 s", e->text);
    return archive_wait(b, retry_after, stop);
}

static int get_file_patiently(struct s3 *s, const char *session, const struct manifest_file *f,
                              const char *folder, const volatile sig_atomic_t *stop, struct err *e)
{
    struct backoff b;
    struct s3_answer why = {.retry_after = -1};
    int rc;
    be_patient(&b);
    do
        rc = get_file(s, session, f, folder, &why, e);
    while (rc == GPUFL_E_UNAVAILABLE && try_again(&b, why.retry_after, stop, e));
    return rc;
}

static int get_manifest_patiently(struct s3 *s, const char *session, struct manifest *m,
                                  const volatile sig_atomic_t *stop, struct err *e)
{
    struct backoff b;
    struct s3_answer why = {.retry_after = -1};
    int rc;
    be_patient(&b);
    do
        rc = archive_manifest(s, session, m, &why, e);
    while (rc == GPUFL_E_UNAVAILABLE && try_again(&b, why.retry_after, stop, e));
    return rc;
}

/* ---- a session ----------------------------------------------------------------------------- */

int archive_get(struct s3 *s, const char *session, const char *into, struct archive_counts *n,
                const volatile sig_atomic_t *stop, struct err *e)
{
    char at[PATH_MAX], part[PATH_MAX], name[PART_ID_MAX + 16];
    struct manifest m;
    manifest_init(&m);
    int rc = get_manifest_patiently(s, session, &m, stop, e);
    snprintf(name, sizeof name, ".%s.restore", session); /* no session can have this name */
    if (!rc &&
        (path_join(at, sizeof at, into, session) || path_join(part, sizeof part, into, name)))
        rc = err_set(e, GPUFL_E_INVAL, "%s: the path is too long", into);
    if (!rc && file_exists(at))
        rc = err_set(e, GPUFL_E_INVAL, "%s is there already", at);
    if (!rc) {
        file_remove_tree(part); /* remains of a killed run */
        rc = file_mkdirs(part, 0777, e);
    }
    bool made = !rc;
    for (size_t i = 0; !rc && i < m.count; i++)
        rc = get_file_patiently(s, session, &m.files[i], part, stop, e);
    if (!rc && rename(part, at))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "%s", at);
    if (rc && made)
        file_remove_tree(part);
    for (size_t i = 0; !rc && i < m.count; i++)
        n->bytes += (uint64_t)m.files[i].bytes;
    n->objects += rc ? 0 : m.count;
    manifest_fini(&m);
    return rc;
}

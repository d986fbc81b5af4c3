/* archive.h - a session's folder into S3, and out of it.
 *
 * In: each file is summed, sent as one object, and looked at again; the manifest goes last. One
 * object a file, since a part of a log is far below what one request takes (5 GiB), a failure
 * costs one part, and no half upload remains that somebody pays for. Out: each object's length
 * and checksum must be the manifest's, else nothing appears at the target. Memory does not grow
 * with the session. Owner's thread. */
#ifndef GPUFL_AGENT_ARCHIVE_ARCHIVE_H
#define GPUFL_AGENT_ARCHIVE_ARCHIVE_H

#include "agent/archive/manifest.h"
#include "agent/archive/s3.h"
#include "net/client/backoff.h"

/* Numbers of what went on; only grow. */
struct archive_counts {
    uint64_t objects, bytes; /* that were sent, or came */
    uint64_t had;            /* objects that were there already */
};

/* A session to archive. All of it is the caller's. */
struct archive_job {
    struct s3 *s3;
    const char *folder;
    struct manifest *m;    /* session, app and host are set; gets the files */
    struct manifest *sent; /* what an earlier call sent of the session before it failed; grows */
    struct archive_counts *counts;
    struct s3_answer *why; /* gets the storage's last answer */
};

/* Archives the folder. Codes: UNAVAILABLE: another try makes sense; PERM, NOENT: the storage
 * refuses (key, bucket); STATE: it was told to stop, or the files changed meanwhile; INVAL: the
 * folder cannot be archived so, or another host's session has the name. */
int archive_put(const struct archive_job *job, struct err *e);

/* Reads a session's manifest. NOENT: none is there. INVAL: it is damaged. */
int archive_manifest(struct s3 *s, const char *session, struct manifest *m, struct s3_answer *why,
                     struct err *e);

/* Lists the files of a session's folder with lengths and times, without sums. */
int archive_list(const char *folder, struct manifest *m, struct err *e);

/* Says whether the folder's files are those of the manifest: names, lengths, times. The files that
 * belong to no session do not count. */
bool archive_is_same(const char *folder, const struct manifest *m);

/* Waits before another try. False: b has given up, or was told to stop. */
bool archive_wait(struct backoff *b, int64_t retry_after, const volatile sig_atomic_t *stop);

/* Restores a session as the folder into/SESSION, which must not exist. It appears when all of it is
 * there and right. A request that fails for the moment is made again, for about half a minute; stop
 * (which may be NULL) ends that. */
int archive_get(struct s3 *s, const char *session, const char *into, struct archive_counts *n,
                const volatile sig_atomic_t *stop, struct err *e);

#endif

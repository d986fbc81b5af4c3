/* archive.h - copies a session's folder to S3, and back.
 *
 * To S3: each file is summed, sent as one object, and checked for changes afterwards; the manifest
 * is sent last. Each file is one object, since a part of a log is far smaller than the limit of one
 * request (5 GiB), a failure costs one part, and no incomplete upload remains that has to be paid
 * for. From S3: each object's length and checksum must be the manifest's, else nothing appears at
 * the target. Memory does not grow with the session. Called by the owner's thread only. */
#ifndef GPUFL_AGENT_ARCHIVE_ARCHIVE_H
#define GPUFL_AGENT_ARCHIVE_ARCHIVE_H

#include "agent/archive/manifest.h"
#include "agent/archive/s3.h"
#include "net/client/backoff.h"

/* Holds counters; they only grow. */
struct archive_counts {
    uint64_t objects, bytes; /* sent or received */
    uint64_t had;            /* objects that the bucket had already */
};

/* Describes a session to archive. The caller owns all of it. */
struct archive_job {
    struct s3 *s3;
    const char *folder;
    struct manifest *m;    /* session, app and host are set; gets the files */
    struct manifest *sent; /* the files that earlier calls sent before they failed; grows */
    struct archive_counts *counts;
    struct s3_answer *why; /* gets the storage's last answer */
};

/* Archives the folder. GPUFL_E_UNAVAILABLE: another try makes sense; GPUFL_E_PERM, GPUFL_E_NOENT:
 * the storage refuses (key, bucket); GPUFL_E_STATE: the stop flag is set, or the files changed
 * meanwhile; GPUFL_E_INVAL: the folder cannot be archived, or another host's session has the
 * name. */
int archive_put(const struct archive_job *job, struct err *e);

/* Reads a session's manifest. GPUFL_E_NOENT: there is none. GPUFL_E_INVAL: it is damaged. */
int archive_manifest(struct s3 *s, const char *session, struct manifest *m, struct s3_answer *why,
                     struct err *e);

/* Lists the files of a session's folder with lengths and times, without sums. */
int archive_list(const char *folder, struct manifest *m, struct err *e);

/* Returns true if the folder's files are those of the manifest: names, lengths, times. Files that
 * do not belong to a session are ignored. */
bool archive_is_same(const char *folder, const struct manifest *m);

/* Waits before another try. False: b has given up, or *stop is set. */
bool archive_wait(struct backoff *b, int64_t retry_after, const volatile sig_atomic_t *stop);

/* Restores a session as the folder into/SESSION, which must not exist. The folder appears when it
 * is complete and checked. A request with a temporary failure is repeated for about 20 s (16 to
 * 33); stop (may be NULL) ends that. */
int archive_get(struct s3 *s, const char *session, const char *into, struct archive_counts *n,
                const volatile sig_atomic_t *stop, struct err *e);

#endif

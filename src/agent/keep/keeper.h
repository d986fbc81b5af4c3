/* keeper.h - what becomes of sessions that are over and acknowledged: archived to S3, and removed
 * from the disk by age and size.
 *
 * A thread of its own, so that an upload of gigabytes holds up no running session. The loop offers
 * folders of which all is on the server. Nothing is removed before the server, asked again, has at
 * least what the folder has, and before the archive's manifest, read again, names these files. A
 * folder that changes after it was offered is left alone until the loop offers it again.
 *
 * What fails is tried again, and holds up nothing else. Memory: about 200 bytes an offered session,
 * and the names of the files of one. */
#ifndef GPUFL_AGENT_KEEP_KEEPER_H
#define GPUFL_AGENT_KEEP_KEEPER_H

#include "agent/archive/s3.h"
#include "agent/options/options.h"
#include "base/buf.h"

#include <signal.h>

/* What others read. Counters only grow. */
#define KEEPER_COUNTS(N)                                                                           \
    N(archived, "Sessions archived")                                                               \
    N(archived_objects, "Objects sent to the archive")                                             \
    N(archived_bytes, "Bytes sent to the archive")                                                 \
    N(archive_refused, "Sessions that cannot be archived: they stay on this machine")              \
    N(archive_failures, "Times that archiving failed and is tried again")                          \
    N(removed, "Sessions removed from this machine")                                               \
    N(removed_bytes, "Bytes of the sessions removed from this machine")                            \
    N(removal_refused,                                                                             \
      "Times that a session was kept because the server or the archive lacks some of it")

struct keeper;

/* Ends removals that a crash cut off. NULL and 0: neither an archive nor removal is wanted. INVAL:
 * the archive's place or key is wrong. */
int keeper_open(struct keeper **out, const struct options *o, struct err *e);
void keeper_close(struct keeper *k); /* NULL: none; this and the next ones */

/* All of the folder's session, named as the folder, is on the server, and the folder's time of
 * change is stamp. [loop] */
void keeper_offer(struct keeper *k, const char *path, int64_t stamp);

/* ,"archive":{…} of the status; the metrics, each with its HELP and TYPE. [any] */
void keeper_put_status(struct keeper *k, struct buf *out);
void keeper_put_metrics(struct keeper *k, struct buf *out);
/* True: somebody must act, and why says so. [any] */
bool keeper_alarm(struct keeper *k, char *why, size_t size);

/* A connection of its own to the archive of the options; a warning where others can read on the
 * way. INVAL with a sentence: the archive's address or key. [any] */
int keeper_open_s3(const struct options *o, const volatile sig_atomic_t *stop, struct s3 **out,
                   struct err *e);

/* --check: the archive answers and takes the key. */
int keeper_check(const struct options *o, struct err *e);

#endif

/* keeper.h - archives sessions that are over and acknowledged to S3, and removes them from the disk
 * by age and size.
 *
 * The keeper has its own thread: an upload of gigabytes delays no running session. The loop offers
 * folders that are completely on the server. A folder is removed only after the server was asked
 * again and has at least the folder's bytes, and after the archive's manifest was read again and
 * names the folder's files. A folder that changes after it was offered is ignored until the loop
 * offers it again.
 *
 * Failed steps are tried again, and delay nothing else. Memory: about 200 bytes for each offered
 * session, and the names of one session's files. */
#ifndef GPUFL_AGENT_KEEP_KEEPER_H
#define GPUFL_AGENT_KEEP_KEEPER_H

#include "agent/archive/s3.h"
#include "agent/options/options.h"
#include "base/buf.h"

#include <signal.h>

/* Lists counters for other threads; they only grow. */
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

/* Ends removals that a crash interrupted. *out NULL and result 0: neither an archive nor removal is
 * wanted. GPUFL_E_INVAL: the archive's place or key is wrong. */
int keeper_open(struct keeper **out, const struct options *o, struct err *e);
void keeper_close(struct keeper *k); /* k may be NULL, here and below */

/* Offers a folder whose session, which has the folder's name, is completely on the server. stamp:
 * the folder's time of change. [loop] */
void keeper_offer(struct keeper *k, const char *path, int64_t stamp);

/* The functions append ,"archive":{…} of the status; the metrics, each with its HELP and TYPE.
 * [any] */
void keeper_put_status(struct keeper *k, struct buf *out);
void keeper_put_metrics(struct keeper *k, struct buf *out);
/* Returns true if a person must act; why gets the sentence. [any] */
bool keeper_alarm(struct keeper *k, char *why, size_t size);

/* Opens a separate connection to the archive of the options; logs a warning where others can read
 * the traffic. GPUFL_E_INVAL with a sentence: the archive's address or key is wrong. [any] */
int keeper_open_s3(const struct options *o, const volatile sig_atomic_t *stop, struct s3 **out,
                   struct err *e);

/* Checks, for --check, that the archive answers and accepts the key. */
int keeper_check(const struct options *o, struct err *e);

#endif

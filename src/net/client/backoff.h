/* backoff.h - decides when to try a request again, and how long to wait.
 *
 * A failure that may be temporary is tried again: no answer, 408, 425, 429, 5xx. The wait doubles,
 * with jitter over all of it, so that many senders that lost their connections together do not come
 * back together. A server's Retry-After is followed, up to a limit. Any progress resets the waits.
 * The functions only compute. Called by the owner's thread only.
 *
 * A server that answers "not now" works: backoff_wait counts no failure. */
#ifndef GPUFL_NET_CLIENT_BACKOFF_H
#define GPUFL_NET_CLIENT_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct backoff {
    unsigned tries; /* failures in a row */
    unsigned most;  /* failures before giving up */
    unsigned waits; /* waits in a row that were no failures */
    int64_t least;  /* ns: the first wait's upper bound */
    int64_t limit;  /* ns: no wait is longer */
    uint64_t random;
};

enum { BACKOFF_GIVE_UP = -1 };

/* Prepares a backoff. seed: anything that differs between senders. */
void backoff_init(struct backoff *b, unsigned most, int64_t least, int64_t limit, uint64_t seed);

/* Returns true if a status (0: no answer) may be a different one the next time. */
bool backoff_transient(int status);

/* Returns, after a failure, the ns to wait, or BACKOFF_GIVE_UP. retry_after: s, negative: not
 * given. If a server asks for more than the limit, the result is BACKOFF_GIVE_UP at once. */
int64_t backoff_next(struct backoff *b, int64_t retry_after);

/* Returns, after a "not now", the ns to wait: at least what the server asks for, and up to a
 * quarter more, so that many senders do not come back together; without retry_after, as long as
 * backoff_next would wait. Never BACKOFF_GIVE_UP: the caller decides how long waiting may take. */
int64_t backoff_wait(struct backoff *b, int64_t retry_after);

/* Counts waits and tries from 0 again, after progress. */
void backoff_reset(struct backoff *b);

#endif

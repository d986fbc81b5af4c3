/* limit.h - limits tries of passwords per address and per account.
 *
 * The limits are buckets in a table of fixed size. A failed try costs a token, which comes back
 * with time; without a token one waits. An address may fail ADDRESS_TRIES times at once and then
 * once ADDRESS_EVERY; an account, whatever the address, ACCOUNT_TRIES and ACCOUNT_EVERY: enough
 * for a person, hopeless for a list of words. A browser in which the account's user has logged in
 * before (device.c) has a bucket of its own in place of both, so that strangers, who share the
 * address or know the account's name, cannot lock that user out.
 *
 * The table cannot be filled up to get rid of somebody's debt: a bucket is looked for in four
 * places by a hash that nobody outside can compute, and where all are taken the one with the
 * least debt goes. Each server has its own: several servers together let through that many times
 * as much. Any thread. */
#ifndef GPUFL_SERVER_AUTH_LIMIT_H
#define GPUFL_SERVER_AUTH_LIMIT_H

#include <pthread.h>
#include <stdint.h>

#define ADDRESS_EVERY 30000000000  /* ns */
#define ACCOUNT_EVERY 120000000000 /* ns */

#define DEVICE_EVERY 30000000000 /* ns */

enum {
    ADDRESS_TRIES = 10,
    ACCOUNT_TRIES = 20,
    DEVICE_TRIES = 10,
    LIMIT_BUCKETS = 8192,
    LIMIT_PLACES = 4
};

enum limit_kind { LIMIT_ADDRESS, LIMIT_ACCOUNT, LIMIT_DEVICE };

struct limit_bucket {
    uint64_t key;  /* hash of kind and name; 0: none */
    int64_t until; /* when its debt is paid, ns: every failure adds to it */
};

struct auth_limit {
    pthread_mutex_t lock;
    unsigned char secret[16];                   /* of the hash */
    struct limit_bucket buckets[LIMIT_BUCKETS]; /* guarded by lock */
};

int auth_limit_init(struct auth_limit *l);
void auth_limit_fini(struct auth_limit *l);

/* Takes a token at now (ns, of a clock that does not jump). 0, or how long to wait, ns. */
int64_t auth_limit_take(struct auth_limit *l, enum limit_kind kind, const char *name, int64_t now);

/* Gives it back: the try was right. */
void auth_limit_give(struct auth_limit *l, enum limit_kind kind, const char *name, int64_t now);

/* Writes what counts as one address: of IPv6 the network of 64 bits, which one customer has. */
void auth_limit_address(const char *address, char *out, unsigned size);

#endif

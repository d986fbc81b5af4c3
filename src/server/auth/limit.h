/* limit.h - limits attempts to guess passwords, by address and by account.
 *
 * The limits are token buckets in a table of fixed size. A failed try costs a token, which comes
 * back with time; a try without a token has to wait. An address may fail ADDRESS_TRIES times, and
 * then once in ADDRESS_EVERY; an account, from any address, ACCOUNT_TRIES times, and then once in
 * ACCOUNT_EVERY. That is enough for a person, and too little for a list of words. A browser in
 * which the account's user has logged in before (device.c) has its own bucket instead of both, so
 * that strangers who share the address or know the account's name cannot lock that user out.
 *
 * An attacker cannot fill the table to get rid of a debt: a bucket has four possible places, by a
 * hash with a secret, and if all four are taken the bucket with the least debt is replaced. Each
 * server has its own table, so several servers together allow that many times as many tries. Called
 * by any thread. */
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
    int64_t until; /* ns: when the debt is paid; every failure adds to it */
};

struct auth_limit {
    pthread_mutex_t lock;
    unsigned char secret[16];                   /* key of the hash */
    struct limit_bucket buckets[LIMIT_BUCKETS]; /* guarded by lock */
};

int auth_limit_init(struct auth_limit *l);
void auth_limit_fini(struct auth_limit *l);

/* Takes a token. now: ns of a monotonic clock. 0, or ns to wait. */
int64_t auth_limit_take(struct auth_limit *l, enum limit_kind kind, const char *name, int64_t now);

/* Gives the token back after a correct password. */
void auth_limit_give(struct auth_limit *l, enum limit_kind kind, const char *name, int64_t now);

/* Writes what counts as one address: for IPv6 the /64 network, which belongs to one customer. */
void auth_limit_address(const char *address, char *out, unsigned size);

#endif

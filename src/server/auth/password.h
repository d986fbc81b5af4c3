/* password.h - hashes passwords with argon2id, at a cost that stops guessing and not a
 * login.
 *
 * A hash takes 64 MiB and about a tenth of a second of a core. At most `at_once` are
 * computed at the same time and the next ones wait, so that logging in cannot take the
 * machine's memory. Any thread. */
#ifndef GPUFL_SERVER_AUTH_PASSWORD_H
#define GPUFL_SERVER_AUTH_PASSWORD_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    PASSWORD_LEAST = 10,  /* characters (bytes) */
    PASSWORD_MOST = 1024, /* bytes */
    PASSWORD_HASH = 128,  /* bytes of a hash with its NUL */
};

struct auth_password {
    unsigned long long passes; /* argon2id's cost in time */
    size_t memory;             /* and in bytes */
    unsigned at_once;
    char nobody[PASSWORD_HASH]; /* what is compared where there is no user, for the same time */
    pthread_mutex_t lock;
    pthread_cond_t done;
    unsigned running; /* guarded by lock */
};

/* 0 passes, bytes, at_once: the standard. NOMEM where there is no memory for a hash. */
int auth_password_init(struct auth_password *p, unsigned long long passes, size_t memory,
                       unsigned at_once);
void auth_password_fini(struct auth_password *p);

/* INVAL and what is wrong: too short, too long, or nothing but what everybody knows of the user. */
int auth_password_check(const char *password, const char *email, struct err *e);

int auth_password_hash(struct auth_password *p, const char *password, char out[PASSWORD_HASH],
                       struct err *e);

/* hash "" or NULL: there is no such user; takes as long and is false. */
bool auth_password_verify(struct auth_password *p, const char *hash, const char *password);

bool auth_password_is_old(const struct auth_password *p, const char *hash); /* of another cost */

#endif

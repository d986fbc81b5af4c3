/* password.h - hashes passwords with argon2id, at a cost that prevents guessing but not logins.
 *
 * A hash takes 64 MiB and about a tenth of a second of a core. At most `at_once` hashes are
 * computed concurrently and further ones wait, so that logins cannot use up the machine's memory.
 * Called by any thread. */
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
    size_t memory;             /* argon2id's cost in memory, bytes */
    unsigned at_once;
    char nobody[PASSWORD_HASH]; /* compared if there is no such user, so that the time is equal */
    pthread_mutex_t lock;
    pthread_cond_t done;
    unsigned running; /* guarded by lock */
};

/* Prepares the hash; 0 for passes, memory or at_once means the default. GPUFL_E_NOMEM: there is no
 * memory for a hash. */
int auth_password_init(struct auth_password *p, unsigned long long passes, size_t memory,
                       unsigned at_once);
void auth_password_fini(struct auth_password *p);

/* Checks a password. GPUFL_E_INVAL with a sentence: too short, too long, or only what anybody knows
 * of the user. */
int auth_password_check(const char *password, const char *email, struct err *e);

int auth_password_hash(struct auth_password *p, const char *password, char out[PASSWORD_HASH],
                       struct err *e);

/* Returns true if the password is right. hash "" or NULL: there is no such user; false after an
 * equal time. */
bool auth_password_verify(struct auth_password *p, const char *hash, const char *password);

/* Returns true if the hash has another cost. */
bool auth_password_is_old(const struct auth_password *p, const char *hash);

#endif

/* secret.h - makes random tokens and keys, hashes them, and compares hashes in constant
 * time.
 *
 * A secret has 192 or 256 random bits and cannot be guessed, so SHA-256 without salt or cost is
 * enough to store it. Passwords are hashed in password.h. Called by any thread after
 * auth_secret_init. */
#ifndef GPUFL_SERVER_AUTH_SECRET_H
#define GPUFL_SERVER_AUTH_SECRET_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SECRET_ID = 23,    /* bytes of an id with its NUL: 128 bits */
    SECRET_TOKEN = 44, /* of a cookie, a ticket: 256 bits */
    SECRET_KEY = 38,   /* of an API key or a link: five characters and 192 bits */
    SECRET_HASH = 65,  /* of a hash, hexadecimal */
    SECRET_PREFIX = 9, /* of a key's first 8 characters */
};

#define SECRET_API_KEY "gpfl_" /* how API keys begin */
#define SECRET_SHARE   "gpfs_" /* how tokens of links begin */

int auth_secret_init(void); /* once, before all others; GPUFL_E_UNAVAILABLE: no random numbers */

void auth_secret_id(char out[SECRET_ID]);
void auth_secret_token(char out[SECRET_TOKEN]);
/* Makes a key that begins with SECRET_API_KEY or SECRET_SHARE. */
void auth_secret_key(const char *begin, char out[SECRET_KEY]);

/* Returns true if text has the form of a token. */
bool auth_secret_token_ok(const char *text);
/* Returns true if text has the form of such a key. */
bool auth_secret_key_ok(const char *begin, const char *text);

void auth_secret_hash(const char *secret, char out[SECRET_HASH]);

/* Writes the token with which a page proves that it is ours (CSRF), derived from the login's cookie
 * and not stored. */
void auth_secret_csrf(const char *token, char out[SECRET_TOKEN]);

/* Returns true if both are equal. The time depends only on the length of `is`. */
bool auth_secret_equal(const char *is, const char *said);

#endif

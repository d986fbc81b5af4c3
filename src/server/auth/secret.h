/* secret.h - makes random tokens and keys, hashes them, and compares hashes in constant
 * time.
 *
 * A secret has 192 or 256 random bits, so that SHA-256 without salt or cost is enough
 * to keep it by: nobody guesses it. Passwords are another thing (password.h).
 * Any thread after auth_secret_init. */
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

int auth_secret_init(
    void); /* once, before all else; UNAVAILABLE: the system has no random numbers */

void auth_secret_id(char out[SECRET_ID]);
void auth_secret_token(char out[SECRET_TOKEN]);
void auth_secret_key(const char *begin, char out[SECRET_KEY]); /* begin: one of the above */

bool auth_secret_token_ok(const char *text);                  /* has the form of a token */
bool auth_secret_key_ok(const char *begin, const char *text); /* has the form of such a key */

void auth_secret_hash(const char *secret, char out[SECRET_HASH]);

/* The token by which a page proves that it is ours, derived from the login's cookie and stored
 * nowhere. */
void auth_secret_csrf(const char *token, char out[SECRET_TOKEN]);

/* Equal, in a time that depends on the length of `is` alone. */
bool auth_secret_equal(const char *is, const char *said);

#endif

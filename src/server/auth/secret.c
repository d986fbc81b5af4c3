/* secret.c - see secret.h; the random numbers and hashes are libsodium's. */
#include "server/auth/secret.h"

#include <gpufl/gpufl.h>

#include <sodium.h>
#include <string.h>

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int auth_secret_init(void)
{
    return sodium_init() < 0 ? GPUFL_E_UNAVAILABLE : 0;
}

/* Writes n random bytes in URL-safe base64 without padding. */
static void random_text(char *out, size_t size, size_t n)
{
    unsigned char bytes[32];
    randombytes_buf(bytes, n);
    sodium_bin2base64(out, size, bytes, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
}

void auth_secret_id(char out[SECRET_ID])
{
    random_text(out, SECRET_ID, 16);
}

void auth_secret_token(char out[SECRET_TOKEN])
{
    random_text(out, SECRET_TOKEN, 32);
}

void auth_secret_key(const char *begin, char out[SECRET_KEY])
{
    size_t len = strlen(begin);
    memcpy(out, begin, len);
    random_text(out + len, SECRET_KEY - len, 24);
}

static bool is_text(const char *text, size_t len)
{
    return strnlen(text, len + 1) == len && strspn(text, ALPHABET) == len;
}

bool auth_secret_token_ok(const char *text)
{
    return is_text(text, SECRET_TOKEN - 1);
}

bool auth_secret_key_ok(const char *begin, const char *text)
{
    size_t len = strlen(begin);
    return strncmp(text, begin, len) == 0 && is_text(text + len, SECRET_KEY - 1 - len);
}

void auth_secret_hash(const char *secret, char out[SECRET_HASH])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)secret, strlen(secret));
    sodium_bin2hex(out, SECRET_HASH, hash, sizeof hash);
}

void auth_secret_csrf(const char *token, char out[SECRET_TOKEN])
{
    static const unsigned char purpose[] = "gpufl csrf";
    unsigned char hash[32];
    crypto_generichash(hash, sizeof hash, purpose, sizeof purpose - 1, (const unsigned char *)token,
                       strlen(token) < 64 ? strlen(token) : 64);
    sodium_bin2base64(out, SECRET_TOKEN, hash, sizeof hash,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool auth_secret_equal(const char *is, const char *said)
{
    size_t len = strlen(is);
    return strlen(said) == len && sodium_memcmp(is, said, len) == 0;
}

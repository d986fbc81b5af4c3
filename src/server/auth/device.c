/* device.c - makes tokens by which a browser is known again at its next login; see auth.h.
 *
 * A token proves nothing about who asks: it only moves tries of passwords to a bucket of the
 * browser's own (limit.h). It is ID.SIGNATURE; the signature is BLAKE2b over the id and the user,
 * keyed by the stored hash of the password, which nobody outside knows. Nothing is stored. */
#include "server/auth/auth.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { SIGNATURE = 32 };

static void sign(const struct meta_user *user, const char *id, char out[SECRET_TOKEN])
{
    unsigned char key[SIGNATURE], bytes[SIGNATURE];
    crypto_generichash_state s;
    crypto_generichash(key, sizeof key, (const unsigned char *)user->password,
                       strlen(user->password), NULL, 0);
    crypto_generichash_init(&s, key, sizeof key, sizeof bytes);
    crypto_generichash_update(&s, (const unsigned char *)"device ", 7);
    crypto_generichash_update(&s, (const unsigned char *)id, strlen(id) + 1);
    crypto_generichash_update(&s, (const unsigned char *)user->id, strlen(user->id));
    crypto_generichash_final(&s, bytes, sizeof bytes);
    sodium_bin2base64(out, SECRET_TOKEN, bytes, sizeof bytes,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(key, sizeof key);
}

void auth_device_make(const struct meta_user *user, char out[AUTH_DEVICE])
{
    char id[SECRET_ID], signature[SECRET_TOKEN];
    auth_secret_id(id);
    sign(user, id, signature);
    snprintf(out, AUTH_DEVICE, "%s.%s", id, signature);
}

bool auth_device_known(const struct meta_user *user, const char *token, char id[SECRET_ID])
{
    char signature[SECRET_TOKEN];
    if (!user || !user->password || !token || strlen(token) != AUTH_DEVICE - 1 ||
        token[SECRET_ID - 1] != '.')
        return false;
    memcpy(id, token, SECRET_ID - 1);
    id[SECRET_ID - 1] = '\0';
    sign(user, id, signature);
    return auth_secret_equal(signature, token + SECRET_ID);
}

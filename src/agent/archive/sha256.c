/* sha256.c - see sha256.h. */
#include "agent/archive/sha256.h"

#include "base/process/dl.h"

#include <pthread.h>
#include <stdio.h>

static struct {
    int (*init)(void *state);
    int (*update)(void *state, const unsigned char *in, unsigned long long n);
    int (*final)(void *state, unsigned char *out);
    size_t (*statebytes)(void);
} sodium;

static int load(struct err *e)
{
    static const char *const names[] = {"libsodium.so.23", "libsodium.so.26", NULL};
    static const struct dl_symbol symbols[] = {
        {"crypto_hash_sha256_init", offsetof(__typeof__(sodium), init), true},
        {"crypto_hash_sha256_update", offsetof(__typeof__(sodium), update), true},
        {"crypto_hash_sha256_final", offsetof(__typeof__(sodium), final), true},
        {"crypto_hash_sha256_statebytes", offsetof(__typeof__(sodium), statebytes), true},
    };
    struct err why = {0};
    void *library = dl_open_first(names, NULL, 0, &why);
    if (library && !dl_fill(library, symbols, sizeof symbols / sizeof *symbols, &sodium, &why) &&
        sodium.statebytes() <= sizeof(struct sha256))
        return 0;
    return err_set(e, GPUFL_E_NOT_BUILT, "archives need libsodium; install libsodium23 (%s)",
                   why.text);
}

int sha256_load(struct err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded; /* guarded by lock */
    pthread_mutex_lock(&lock);
    int rc = loaded ? 0 : load(e);
    loaded |= !rc;
    pthread_mutex_unlock(&lock);
    return rc;
}

void sha256_init(struct sha256 *s)
{
    sodium.init(s->state);
}

void sha256_add(struct sha256 *s, const void *data, size_t n)
{
    sodium.update(s->state, data, n);
}

void sha256_end(struct sha256 *s, char hex[SHA256_HEX])
{
    unsigned char sum[SHA256_BYTES];
    sodium.final(s->state, sum);
    for (size_t i = 0; i < sizeof sum; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

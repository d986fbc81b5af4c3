/* limit.c - see limit.h. A bucket is one number: when its debt is paid. A failure moves
 * that by the time that a token takes to come back; there are no tokens left where it lies further
 * ahead than all of them take. */
#include "server/auth/limit.h"

#include <gpufl/gpufl.h>

#include <arpa/inet.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int auth_limit_init(struct auth_limit *l)
{
    memset(l, 0, sizeof *l);
    randombytes_buf(l->secret, sizeof l->secret);
    return pthread_mutex_init(&l->lock, NULL) ? GPUFL_E_NOMEM : 0;
}

void auth_limit_fini(struct auth_limit *l)
{
    pthread_mutex_destroy(&l->lock);
}

static const struct {
    int64_t every; /* ns */
    int64_t tries;
} kinds[] = {
    [LIMIT_ADDRESS] = {ADDRESS_EVERY, ADDRESS_TRIES},
    [LIMIT_ACCOUNT] = {ACCOUNT_EVERY, ACCOUNT_TRIES},
    [LIMIT_DEVICE] = {DEVICE_EVERY, DEVICE_TRIES},
};

static uint64_t key_of(const struct auth_limit *l, enum limit_kind kind, const char *name)
{
    unsigned char text[256] = {(unsigned char)kind};
    uint64_t key = 0;
    size_t len = strnlen(name, sizeof text - 1);
    memcpy(text + 1, name, len);
    crypto_shorthash((unsigned char *)&key, text, len + 1, l->secret);
    return key ? key : 1;
}

/* Returns the address's or account's bucket; else, of those it may have, the one that owes
 * least. */
static struct limit_bucket *bucket_find(struct auth_limit *l, uint64_t key)
{
    struct limit_bucket *set = &l->buckets[key % (LIMIT_BUCKETS / LIMIT_PLACES) * LIMIT_PLACES];
    struct limit_bucket *least = set;
    for (int i = 0; i < LIMIT_PLACES; i++) {
        if (set[i].key == key)
            return &set[i];
        if (set[i].until < least->until)
            least = &set[i];
    }
    return least;
}

int64_t auth_limit_take(struct auth_limit *l, enum limit_kind kind, const char *name, int64_t now)
{
    int64_t every = kinds[kind].every, most = every * kinds[kind].tries;
    uint64_t key = key_of(l, kind, name);
    int64_t wait = 0;
    pthread_mutex_lock(&l->lock);
    struct limit_bucket *b = bucket_find(l, key);
    if (b->key != key)
        *b = (struct limit_bucket){key, now};
    int64_t until = (b->until > now ? b->until : now) + every;
    if (until - now > most)
        wait = until - now - most;
    else
        b->until = until;
    pthread_mutex_unlock(&l->lock);
    return wait;
}

void auth_limit_give(struct auth_limit *l, enum limit_kind kind, const char *name, int64_t now)
{
    uint64_t key = key_of(l, kind, name);
    pthread_mutex_lock(&l->lock);
    struct limit_bucket *b = bucket_find(l, key);
    if (b->key == key && b->until > now)
        b->until -= kinds[kind].every;
    pthread_mutex_unlock(&l->lock);
}

void auth_limit_address(const char *address, char *out, unsigned size)
{
    unsigned char bytes[16];
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(address, "%"), address); /* without a zone */
    if (inet_pton(AF_INET6, text, bytes) != 1) {
        snprintf(out, size, "%s", address);
        return;
    }
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (memcmp(bytes, mapped, sizeof mapped) == 0) {
        snprintf(out, size, "%u.%u.%u.%u", bytes[12], bytes[13], bytes[14], bytes[15]);
        return;
    }
    memset(bytes + 8, 0, 8);
    inet_ntop(AF_INET6, bytes, out, size);
}

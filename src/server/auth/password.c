/* password.c - see password.h; argon2id is libsodium's. */
#include "server/auth/password.h"
#include "base/alloc.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void turn_take(struct auth_password *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->running >= p->at_once)
        pthread_cond_wait(&p->done, &p->lock);
    p->running++;
    pthread_mutex_unlock(&p->lock);
}

static void turn_give(struct auth_password *p)
{
    pthread_mutex_lock(&p->lock);
    p->running--;
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
}

/* Makes a hash of this cost that nobody's password has: random numbers where its salt and its
 * result stand. A real one would take the cost itself, at every start of a server. */
static void make_nobody(struct auth_password *p)
{
    enum { RESULT = 32, VARIANT = sodium_base64_VARIANT_ORIGINAL_NO_PADDING };
    unsigned char random[crypto_pwhash_SALTBYTES + RESULT];
    char salt[sodium_base64_ENCODED_LEN(crypto_pwhash_SALTBYTES, VARIANT)];
    char result[sodium_base64_ENCODED_LEN(RESULT, VARIANT)];
    randombytes_buf(random, sizeof random);
    sodium_bin2base64(salt, sizeof salt, random, crypto_pwhash_SALTBYTES, VARIANT);
    sodium_bin2base64(result, sizeof result, random + crypto_pwhash_SALTBYTES, RESULT, VARIANT);
    snprintf(p->nobody, sizeof p->nobody, "%sv=19$m=%zu,t=%llu,p=1$%s$%s",
             crypto_pwhash_argon2id_STRPREFIX, p->memory / 1024, p->passes, salt, result);
}

int auth_password_init(struct auth_password *p, unsigned long long passes, size_t memory,
                       unsigned at_once)
{
    memset(p, 0, sizeof *p);
    p->passes = passes ? passes : crypto_pwhash_OPSLIMIT_INTERACTIVE;
    p->memory = memory ? memory : crypto_pwhash_MEMLIMIT_INTERACTIVE;
    p->at_once = at_once ? at_once : 2;
    if (pthread_mutex_init(&p->lock, NULL))
        return GPUFL_E_NOMEM;
    if (pthread_cond_init(&p->done, NULL)) {
        pthread_mutex_destroy(&p->lock);
        return GPUFL_E_NOMEM;
    }
    make_nobody(p);
    void *room = mem_pages(1, p->memory); /* of one hash */
    mem_pages_free(room, 1, p->memory);
    if (!room)
        auth_password_fini(p);
    return room ? 0 : GPUFL_E_NOMEM;
}

void auth_password_fini(struct auth_password *p)
{
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
}

static bool is_one_character(const char *password)
{
    return strspn(password, (char[]){password[0], '\0'}) == strlen(password);
}

int auth_password_check(const char *password, const char *email, struct err *e)
{
    size_t len = strnlen(password, PASSWORD_MOST + 1);
    if (len < PASSWORD_LEAST)
        return err_set(e, GPUFL_E_INVAL, "a password has at least %d characters", PASSWORD_LEAST);
    if (len > PASSWORD_MOST)
        return err_set(e, GPUFL_E_INVAL, "a password has at most %d bytes", PASSWORD_MOST);
    if (strcasecmp(password, email) == 0 || is_one_character(password))
        return err_set(e, GPUFL_E_INVAL,
                       "that password would be guessed at once: take several words");
    return 0;
}

int auth_password_hash(struct auth_password *p, const char *password, char out[PASSWORD_HASH],
                       struct err *e)
{
    _Static_assert(crypto_pwhash_STRBYTES <= PASSWORD_HASH, "a hash fits");
    turn_take(p);
    int failed = crypto_pwhash_str_alg(out, password, strlen(password), p->passes, p->memory,
                                       crypto_pwhash_ALG_ARGON2ID13);
    turn_give(p);
    return failed ? err_nomem(e) : 0;
}

bool auth_password_verify(struct auth_password *p, const char *hash, const char *password)
{
    size_t len = strnlen(password, PASSWORD_MOST + 1);
    bool known = hash && *hash;
    if (len > PASSWORD_MOST)
        return false;
    turn_take(p);
    int wrong = crypto_pwhash_str_verify(known ? hash : p->nobody, password, len);
    turn_give(p);
    return known && !wrong;
}

bool auth_password_is_old(const struct auth_password *p, const char *hash)
{
    return crypto_pwhash_str_needs_rehash(hash, p->passes, p->memory) != 0;
}

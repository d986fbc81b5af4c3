/* http_tls.c - see http_tls.h. A certificate that was replaced is kept for a minute: handshakes
 * that began with it, which take ten seconds at most, still read it. */
#include "net/server/http_tls.h"

#ifdef GPUFL_GNUTLS
#include "base/alloc.h"
#include "base/clock.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { CHAIN_MAX = 16, KEY_ID = 64 };

static const int64_t KEEP_NS = 60000000000;

struct credential {
    struct credential *next; /* older */
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t key;
    int64_t replaced; /* CLOCK_MONOTONIC ns; 0: in use */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct credential *newest; /* guarded by lock */

static void credential_free(struct credential *c)
{
    for (unsigned i = 0; i < c->count; i++)
        gnutls_pcert_deinit(&c->chain[i]);
    if (c->key)
        gnutls_privkey_deinit(c->key);
    mem_free(c);
}

static bool belong_together(const struct credential *c)
{
    unsigned char one[KEY_ID], other[KEY_ID];
    size_t n = sizeof one, m = sizeof other;
    gnutls_pubkey_t of_key;
    if (gnutls_pubkey_init(&of_key))
        return false;
    bool same = !gnutls_pubkey_import_privkey(of_key, c->key, 0, 0) &&
                !gnutls_pubkey_get_key_id(of_key, GNUTLS_KEYID_USE_SHA256, one, &n) &&
                !gnutls_pubkey_get_key_id(c->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, other, &m) &&
                n == m && memcmp(one, other, n) == 0;
    gnutls_pubkey_deinit(of_key);
    return same;
}

static int read_pem(struct credential *c, const char *cert, const char *key, struct err *e)
{
    const gnutls_datum_t certs = {(unsigned char *)(uintptr_t)cert, (unsigned)strlen(cert)};
    const gnutls_datum_t keys = {(unsigned char *)(uintptr_t)key, (unsigned)strlen(key)};
    unsigned count = CHAIN_MAX;
    int failed =
        gnutls_pcert_list_import_x509_raw(c->chain, &count, &certs, GNUTLS_X509_FMT_PEM, 0);
    if (failed)
        return err_set(e, GPUFL_E_INVAL, "the certificate is not in PEM format: %s",
                       gnutls_strerror(failed));
    c->count = count;
    failed = gnutls_privkey_init(&c->key);
    if (!failed)
        failed = gnutls_privkey_import_x509_raw(c->key, &keys, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (failed)
        return err_set(e, GPUFL_E_INVAL, "the key is not in PEM format: %s",
                       gnutls_strerror(failed));
    return belong_together(c) ? 0
                              : err_set(e, GPUFL_E_INVAL, "the key is not that of the certificate");
}

/* Frees certificates that were replaced long ago. Caller holds the lock. */
static void forget_old(int64_t now)
{
    for (struct credential **at = &newest; *at;) {
        struct credential *c = *at;
        if (!c->replaced || now - c->replaced < KEEP_NS) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        credential_free(c);
    }
}

int http_tls_load(const char *cert, const char *key, struct err *e)
{
    struct credential *c = mem_zalloc(sizeof *c);
    if (!c)
        return err_nomem(e);
    int rc = read_pem(c, cert, key, e);
    if (rc) {
        credential_free(c);
        return rc;
    }
    int64_t now = clock_mono();
    pthread_mutex_lock(&lock);
    if (newest)
        newest->replaced = now;
    c->next = newest;
    newest = c;
    forget_old(now);
    pthread_mutex_unlock(&lock);
    return 0;
}

void http_tls_unload(void)
{
    pthread_mutex_lock(&lock);
    while (newest) {
        struct credential *c = newest;
        newest = c->next;
        credential_free(c);
    }
    pthread_mutex_unlock(&lock);
}

/* This is GnuTLS's gnutls_certificate_retrieve_function2, which has eight parameters. */
static int retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                    gnutls_pcert_st **chain, unsigned *length, gnutls_privkey_t *key)
{
    (void)session, (void)authorities, (void)count, (void)algorithms, (void)algorithm_count;
    pthread_mutex_lock(&lock);
    struct credential *c = newest;
    if (c) {
        *chain = c->chain;
        *length = c->count;
        *key = c->key;
    }
    pthread_mutex_unlock(&lock);
    return c ? 0 : -1;
}

void *http_tls_callback(void)
{
    pthread_mutex_lock(&lock);
    gnutls_certificate_retrieve_function2 *f = newest ? retrieve : NULL;
    pthread_mutex_unlock(&lock);
    void *out = NULL;
    memcpy(&out, &f, sizeof out); /* POSIX: a function's address fits in a void pointer */
    return out;
}

#else

int http_tls_load(const char *cert, const char *key, struct err *e)
{
    (void)cert, (void)key;
    return err_set(e, GPUFL_E_NOT_BUILT, "this build has no GnuTLS: start the server again");
}

void http_tls_unload(void)
{
}

void *http_tls_callback(void)
{
    return NULL;
}
#endif

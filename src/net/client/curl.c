/* curl.c - see curl.h. */
#include "net/client/curl.h"

#include "base/process/dl.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct curl_calls curl;

/* Loads libcurl once for all clients; guarded by curl_lock. */
static int load_curl(struct err *e)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    static const struct dl_symbol symbols[] = {
#define CURL_SYMBOL(name) {"curl_" #name, offsetof(__typeof__(curl), name), true},
        CURL_FUNCTIONS(CURL_SYMBOL)
#undef CURL_SYMBOL
    };
    struct err why = {0};
    if (curl.easy_init)
        return 0;
    void *library = dl_open_first(names, NULL, 0, &why);
    if (library && !dl_fill(library, symbols, sizeof symbols / sizeof *symbols, &curl, &why) &&
        !curl.global_init(CURL_GLOBAL_DEFAULT))
        return 0;
    memset(&curl, 0, sizeof curl);
    return err_set(e, GPUFL_E_NOT_BUILT,
                   "nothing can be sent without libcurl; install libcurl4, 7.85 or newer (%s)",
                   why.text);
}

int curl_open(struct err *e)
{
    static pthread_mutex_t curl_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&curl_lock);
    int rc = load_curl(e);
    pthread_mutex_unlock(&curl_lock);
    return rc;
}

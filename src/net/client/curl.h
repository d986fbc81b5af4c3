/* curl.h - has the functions of libcurl, which is opened when something is sent.
 *
 * libcurl depends on thirty libraries. If it were linked, each start of `gpufl` would load them
 * (measured: 40 ms instead of 5), and a machine without it could not even trace. libcurl's header
 * declares the functions. Called by any thread, after curl_open. */
#ifndef GPUFL_NET_CLIENT_CURL_H
#define GPUFL_NET_CLIENT_CURL_H

#include "base/err.h"

#include <curl/curl.h>

/* Lists the functions of libcurl that are used; curl_ precedes each name. */
#define CURL_FUNCTIONS(F)                                                                          \
    F(global_init)                                                                                 \
    F(easy_init)                                                                                   \
    F(easy_cleanup)                                                                                \
    F(easy_reset)                                                                                  \
    F(easy_setopt)                                                                                 \
    F(easy_perform)                                                                                \
    F(easy_getinfo)                                                                                \
    F(easy_header)                                                                                 \
    F(easy_strerror)                                                                               \
    F(slist_append)                                                                                \
    F(slist_free_all)

struct curl_calls {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

extern struct curl_calls curl;

/* Loads libcurl once for all clients. GPUFL_E_NOT_BUILT with a sentence: libcurl is missing. */
int curl_open(struct err *e);

#endif

/* curl.h - the functions of libcurl, which is opened when something is sent.
 *
 * libcurl brings thirty libraries along; linked, each start of `gpufl` would load them
 * (measured: 5 ms became 40), and a machine without it could not even trace. Its own header
 * declares what is called. Any thread, after curl_open. */
#ifndef GPUFL_NET_CLIENT_CURL_H
#define GPUFL_NET_CLIENT_CURL_H

#include "base/err.h"

#include <curl/curl.h>

/* The functions of libcurl that are used; curl_ precedes each name. */
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

/* Loads libcurl once for all clients. NOT_BUILT with a sentence where there is none. */
int curl_open(struct err *e);

#endif

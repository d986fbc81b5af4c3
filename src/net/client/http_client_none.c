/* http_client_none.c - replaces http_client.c in a build without libcurl's header: everything else
 * works, and sending fails with a sentence that says what to install. */
#include "net/client/http_client.h"

int http_client_open(struct http_client **out, const struct http_client_config *c, struct err *e)
{
    (void)c;
    *out = NULL;
    return err_set(
        e, GPUFL_E_NOT_BUILT,
        "this gpufl was built without libcurl and cannot send; install "
        "libcurl4-openssl-dev and build again, or send with curl (docs/server-sending.md)");
}

void http_client_close(struct http_client *c)
{
    (void)c;
}

const char *http_client_url(const struct http_client *c)
{
    (void)c;
    return "";
}

const char *http_client_proxy(const struct http_client *c)
{
    (void)c;
    return "";
}

void http_client_set_watch(struct http_client *c, const struct http_client_watch *watch)
{
    (void)c;
    (void)watch;
}

bool http_client_answered(const struct http_client *c)
{
    (void)c;
    return false;
}

int http_client_send(struct http_client *c, const struct http_client_call *call,
                     struct http_client_answer *a, struct err *e)
{
    (void)c;
    (void)call;
    (void)a;
    return err_set(e, GPUFL_E_NOT_BUILT, "built without libcurl");
}

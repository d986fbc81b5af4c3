/* http_client_url.c - reads the address of a server as users write it, and has the parts of the
 * client that need no libcurl. */
#include "net/client/http_client.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

void http_client_answer_init(struct http_client_answer *a)
{
    *a = (struct http_client_answer){.retry_after = -1};
    buf_init(&a->body, HTTP_CLIENT_ANSWER_MAX);
}

void http_client_answer_fini(struct http_client_answer *a)
{
    buf_fini(&a->body);
}

/* Returns the length of the scheme with its "://"; 0: the URL names none. */
static size_t scheme_length(const char *url)
{
    const char *end = strstr(url, "://");
    size_t n = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return end && (size_t)(end - url) == n && n ? n + 3 : 0;
}

static bool known_scheme(const char *url, size_t n)
{
    return (n == 8 && strncasecmp(url, "https://", n) == 0) ||
           (n == 7 && strncasecmp(url, "http://", n) == 0);
}

int http_client_clean_url(const char *url, char *out, size_t size, struct err *e)
{
    size_t len = strlen(url), scheme = scheme_length(url);
    const char *host = url + scheme;
    size_t host_len = strcspn(host, "/?#");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)url[i] <= ' ' || url[i] == 0x7f)
            return err_set(e, GPUFL_E_INVAL,
                           "the server's address has spaces or control "
                           "characters in it");
    if (memchr(host, '@', host_len))
        return err_set(e, GPUFL_E_INVAL,
                       "the server's address must not contain a name or password: put a key into "
                       "GPUFL_API_KEY or a file");
    if (scheme && !known_scheme(url, scheme))
        return err_set(e, GPUFL_E_INVAL, "%s: an address begins with http:// or https://", url);
    if (!host_len || host[0] == ':')
        return err_set(e, GPUFL_E_INVAL, "'%s' names no server; as in https://gpufl.example.org",
                       url);
    if (strpbrk(host, "?#"))
        return err_set(e, GPUFL_E_INVAL, "the server's address ends before '?' and '#'");
    while (len > scheme + host_len && url[len - 1] == '/')
        len--;
    const char *lead = scheme ? "" : "https://";
    if (strlen(lead) + len >= size)
        return err_set(e, GPUFL_E_INVAL, "the server's address is too long");
    size_t at = strlen(lead);
    memcpy(out, lead, at);
    memcpy(out + at, url, len);
    out[at + len] = '\0';
    for (size_t i = 0; i < (scheme ? scheme : at); i++)
        out[i] = (char)tolower((unsigned char)out[i]);
    return 0;
}

/* listen.c - see listen.h. */
#include "net/server/listen.h"

#include "base/opt.h"

#include <string.h>

int listen_parse(const char *text, char *address, size_t size, uint16_t *port, struct err *e)
{
    const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    int64_t value = 0;
    if (n >= 2 && *text == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    } else if (memchr(text, ':', n)) {
        return err_set(e, GPUFL_E_INVAL, "'%s': write an IPv6 address in brackets: [::1]:8080",
                       text);
    }
    if (opt_int(number, &value) || value < 0 || value > UINT16_MAX || *number == '+')
        return err_set(e, GPUFL_E_INVAL, "'%s' is not ADDRESS:PORT, with a port from 0 to 65535",
                       text);
    if (n >= size)
        return err_set(e, GPUFL_E_INVAL, "the address to listen on is too long");
    memcpy(address, n ? text : "127.0.0.1", n ? n : sizeof "127.0.0.1");
    if (n)
        address[n] = '\0';
    *port = (uint16_t)value;
    return 0;
}

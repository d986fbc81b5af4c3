/* http_tls.h - the certificate of the HTTP server, which may change while the server runs.
 *
 * libmicrohttpd reads a certificate once, when it starts. GnuTLS asks the function here instead at
 * each handshake, so that a certificate that was renewed serves new connections and leaves the
 * others alone. One server of a process speaks TLS. Any thread. */
#ifndef GPUFL_NET_SERVER_HTTP_TLS_H
#define GPUFL_NET_SERVER_HTTP_TLS_H

#include "base/err.h"

/* Takes PEM texts of a certificate with its chain and of its key for the next handshakes. INVAL:
 * they are not valid, or do not belong together; the former ones stay. NOT_BUILT: without GnuTLS.
 * */
int http_tls_load(const char *cert, const char *key, struct err *e);
void http_tls_unload(void); /* after the last connection */

/* The function for MHD_OPTION_HTTPS_CERT_CALLBACK; NULL: nothing is loaded. */
void *http_tls_callback(void);

#endif

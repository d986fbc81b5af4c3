/* http_tls.h - keeps the certificate of the HTTP server, which may change while the server runs.
 *
 * libmicrohttpd reads a certificate once, when it starts. Instead, GnuTLS calls the function of
 * this file at each handshake, so that a renewed certificate is used for new connections and does
 * not disturb the others. At most one server of a process may use TLS. Called by any thread. */
#ifndef GPUFL_NET_SERVER_HTTP_TLS_H
#define GPUFL_NET_SERVER_HTTP_TLS_H

#include "base/err.h"

/* Takes PEM texts of a certificate with its chain and of its key for the next handshakes.
 * GPUFL_E_INVAL: they are not valid, or do not belong together; the former ones stay.
 * GPUFL_E_NOT_BUILT: built without GnuTLS. */
int http_tls_load(const char *cert, const char *key, struct err *e);
void http_tls_unload(void); /* after the last connection */

/* Returns the function for MHD_OPTION_HTTPS_CERT_CALLBACK; NULL: nothing is loaded. */
void *http_tls_callback(void);

#endif

/* local.h - runs local mode under `gpufl view`: a server that ends with its parent.
 *
 * The parent sets a key in GPUFL_SERVER_LOCAL_KEY, with which it sends sessions, and has the other
 * end of stdin. The server ends when stdin is closed, and when the browser's page is gone: a page
 * has listened to live data (/api/v1/live), and none has for a while, in which a page may be
 * reloaded.
 *
 * Without that variable none of this happens, and `gpufl-server --local` keeps running. */
#ifndef GPUFL_SERVER_LOCAL_H
#define GPUFL_SERVER_LOCAL_H

#include "base/err.h"
#include "base/process/thread.h"

#include <stdbool.h>

struct http_hub;
struct meta;

struct local {
    struct http_hub *hub; /* its listeners are counted */
    struct thread thread;
    int wake[2]; /* a pipe; -1: none */
};

/* Returns true if `gpufl view` started this process. Call before local_start, which removes the key
 * from the environment. */
bool local_is_view(void);

/* Takes the key, if there is one, and begins to watch; after server_open and auth_local_ticket. */
int local_start(struct local *l, struct meta *meta, struct http_hub *hub, struct err *e);
void local_stop(struct local *l); /* before server_close; also after a failed start */

#endif

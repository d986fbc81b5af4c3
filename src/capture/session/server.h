/* server.h - keeps the server that this process uploads to where gpufl_upload_logs names none: the
 * one that the options of the running or last session name; before the first session, the one that
 * environment and config file name. */
#ifndef GPUFL_CAPTURE_SESSION_SERVER_H
#define GPUFL_CAPTURE_SESSION_SERVER_H

#include "capture/options/options.h"

/* Holds owned texts; NULL and "" both mean that nothing is named. */
struct server {
    char *url, *key, *path;
};

/* A session begins with these options: their server is the process's from here on. 0, or
 * GPUFL_E_NOMEM, which leaves no server. [any] */
int server_keep(const struct options *o);

/* Fills *s with copies; server_free frees them, and overwrites the key. 0, or GPUFL_E_NOMEM. [any]
 */
int server_get(struct server *s);
void server_free(struct server *s);

/* Makes everything as before the first session in a forked child. */
void server_forget(void);

#endif

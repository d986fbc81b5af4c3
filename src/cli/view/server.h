/* server.h - a private gpufl-server: started on loopback for this user alone, and ended
 * with this process.
 *
 * The program is next to this executable or in PATH. The server gets a key in its
 * environment, known to it and this process alone, with which sessions are handed over;
 * it prints a link that works once, for the browser. It reads our end of a pipe, so it
 * ends whatever becomes of this process. One thread. */
#ifndef GPUFL_CLI_VIEW_SERVER_H
#define GPUFL_CLI_VIEW_SERVER_H

#include "base/err.h"
#include "base/process/spawn.h"

#include <stdbool.h>

enum { VIEW_KEY_SIZE = 48, VIEW_URL_SIZE = 512 };

struct view_server {
    struct spawned process;
    int status; /* of wait, once it has ended */
    int alive;  /* our end of its stdin; -1: closed */
    int out;    /* our end of its stdout; -1: closed */
    char key[VIEW_KEY_SIZE];
    char url[VIEW_URL_SIZE];  /* http://127.0.0.1:PORT */
    char link[VIEW_URL_SIZE]; /* for the browser, once */
};

/* data: its folder. extra: further arguments, NULL-terminated; NULL: none. NOENT where there is no
 * gpufl-server. */
int view_server_start(struct view_server *s, const char *data, int port, char *const *extra,
                      struct err *e);

bool view_server_ended(struct view_server *s); /* does not wait */

/* Asks the server to end, and waits while it drains. Returns its exit code, or 128 and the
 * signal. */
int view_server_stop(struct view_server *s);

/* Runs gpufl-server with these arguments in place of this process; returns only where that was not
 * possible: an errno. args[0] is overwritten. */
int view_server_become(char **args);

/* Opens the link in the user's browser, if there is a display and a browser. */
bool view_open_browser(const char *link);

#endif

/* server.h - runs a private gpufl-server: started on loopback for this user alone, and ended with
 * this process.
 *
 * The program is next to this executable or in PATH. The server gets a key in its environment,
 * which only it and this process know, for sending sessions to it; it prints a link for the browser
 * that works once. It reads a pipe from this process, so it ends however this process ends. Called
 * by one thread only. */
#ifndef GPUFL_CLI_VIEW_SERVER_H
#define GPUFL_CLI_VIEW_SERVER_H

#include "base/err.h"
#include "base/process/spawn.h"

#include <stdbool.h>

enum { VIEW_KEY_SIZE = 48, VIEW_URL_SIZE = 512 };

struct view_server {
    struct spawned process;
    int status; /* wait status, once the server has ended */
    int alive;  /* our end of its stdin; -1: closed */
    int out;    /* our end of its stdout; -1: closed */
    char key[VIEW_KEY_SIZE];
    char url[VIEW_URL_SIZE];  /* http://127.0.0.1:PORT */
    char link[VIEW_URL_SIZE]; /* for the browser, once */
};

/* Starts the server. data: its folder. extra: further arguments, NULL-terminated; NULL: none.
 * GPUFL_E_NOENT: there is no gpufl-server. */
int view_server_start(struct view_server *s, const char *data, int port, char *const *extra,
                      struct err *e);

bool view_server_ended(struct view_server *s); /* does not wait */

/* Asks the server to end, and waits until it has drained. Returns its exit code, or 128 + the
 * signal. */
int view_server_stop(struct view_server *s);

/* Replaces this process by gpufl-server with these arguments. Returns only after a failure: an
 * errno. args[0] is overwritten. */
int view_server_become(char **args);

/* Opens the link in the user's browser, if there is a display and a browser. */
bool view_open_browser(const char *link);

#endif

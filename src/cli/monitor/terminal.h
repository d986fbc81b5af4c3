/* terminal.h - the terminal of the live view: ncurses shows a canvas and gives keys.
 *
 * The view has the alternate screen while it is open. What was on the terminal before is there
 * again afterwards, also at SIGINT, SIGTERM, SIGQUIT and SIGHUP, which end the view, and while
 * SIGTSTP stops it. One terminal a process, one thread. */
#ifndef GPUFL_CLI_MONITOR_TERMINAL_H
#define GPUFL_CLI_MONITOR_TERMINAL_H

#include "cli/monitor/canvas.h"

#include <stdbool.h>

enum terminal_key { TERMINAL_NONE = -1, TERMINAL_END = -2 }; /* else: a character, or screen_keys */

/* True where stdin and stdout are a terminal that can show pages. */
bool terminal_is_there(void);

/* Ends waiting from here on at the signals above; also for plain lines. */
void terminal_take_signals(void);

/* Opens it; false: the terminal's description does not say how. */
bool terminal_open(void);
void terminal_close(void);

void terminal_size(int *rows, int *columns);
void terminal_show(const struct canvas *c);

/* Waits for a key, at most that long: the key, TERMINAL_NONE (also where the size changed), or
 * TERMINAL_END after a signal, or where the terminal is gone. */
int terminal_key(int milliseconds);

/* Waits without a terminal: false after a signal. */
bool terminal_wait(int milliseconds);

#endif

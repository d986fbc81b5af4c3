/* terminal.h - is the terminal of the live view: ncurses shows a canvas and reads keys.
 *
 * The view uses the alternate screen while it is open. The terminal's former contents are restored
 * afterwards, also after SIGINT, SIGTERM, SIGQUIT and SIGHUP, which end the view, and while SIGTSTP
 * stops it. A process has one terminal. Called by one thread only. */
#ifndef GPUFL_CLI_MONITOR_TERMINAL_H
#define GPUFL_CLI_MONITOR_TERMINAL_H

#include "cli/monitor/canvas.h"

#include <stdbool.h>

enum terminal_key { TERMINAL_NONE = -1, TERMINAL_END = -2 }; /* else: a character, or screen_keys */

/* Returns true if stdin and stdout are a terminal that can show pages. */
bool terminal_is_there(void);

/* From here on the signals above end waiting; also for plain lines. */
void terminal_take_signals(void);

/* Opens the terminal; false: its description (terminfo) lacks what is needed. */
bool terminal_open(void);
void terminal_close(void);

void terminal_size(int *rows, int *columns);
void terminal_show(const struct canvas *c);

/* Waits at most that long for a key. Returns the key, TERMINAL_NONE (also when the size changed),
 * or TERMINAL_END after a signal or when the terminal is gone. */
int terminal_key(int milliseconds);

/* Waits without a terminal: false after a signal. */
bool terminal_wait(int milliseconds);

#endif

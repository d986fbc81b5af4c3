/* windows.h - handles windows of capture: the engine records only inside them.
 *
 * A session has windows if one of the options asks for them. Each window has a name and is opened
 * by the program (gpufl_window_open), `gpufl ctl`, the clock, a scope, or a count of launches.
 * While any window is open, the engine is on; when the last one closes, the engine is switched off,
 * and the vendor's library is detached if that is wanted (window_detach).
 *
 * In a window that a scope opened only work of that scope is kept, as long as no other window is
 * open. */
#ifndef GPUFL_CAPTURE_WINDOWS_WINDOWS_H
#define GPUFL_CAPTURE_WINDOWS_WINDOWS_H

#include "capture/log/writer.h"
#include "capture/options/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns true if the options ask for windows. [any] */
bool windows_wanted(const struct options *o);
/* Returns true if launches before the first window are counted. [any] */
bool windows_counts_launches(const struct options *o);

/* Switches the session's engine on or off. 0 or a negative code with a sentence. [any] */
typedef int windows_engine_fn(bool open, struct err *e);

/* Begins a session. lack: why its engine cannot be switched; NULL: it can. detaches: nothing of the
 * engine stays on between windows, and `engine` may be called within a launch; otherwise the
 * collector calls `engine`, shortly after the last launch of a window. [owner] */
void windows_begin(const struct options *o, const char *lack, bool detaches,
                   windows_engine_fn *engine);

/* Opens or closes a window of a name; NULL counts as "". Returns when the engine is on or off.
 * GPUFL_E_STATE: no session with windows; GPUFL_E_INVAL: a close without its open; GPUFL_E_FULL: 64
 * names are open; any other code, with a sentence: the engine does not start. [any] */
int windows_switch(const char *name, bool open, struct err *e);

/* Returns true if the session has windows. [any] */
bool windows_active(void);

/* From now on scopes of that name open windows, until windows_end_scope. STATE: the options named
 * a scope already. [collector] */
int windows_lend_scope(const char *name, struct err *e);
void windows_end_scope(void); /* closes the windows of that scope. [collector] */

/* Ends all windows of the session, by whomever they were opened. [collector] */
void windows_end_woken(void);

/* Writes the open windows, and the number of all so far, as one line of JSON. [any] */
void windows_status(char *out, size_t size);

/* Opens and closes windows by the clock. Returns when the next opening or closing is due, steady
 * ns; 0: none. [collector] */
int64_t windows_clock(int64_t now);

/* Returns the instance of the scope whose window was the only open one for the whole time from
 * start to end (ns, both in the past); 0: there is none. [collector] */
uint64_t windows_scope_of(int64_t start, int64_t end);

/* Writes rows of the windows that were opened and closed. [collector] */
void windows_drain(struct writer *w);

/* Ends the session's windows, and notes what became of them. [collector] */
void windows_conclude(struct writer *w, const struct backend *b, struct trace *t,
                      const char *engine);

void windows_forget(void); /* in a forked child */

/* ---- hot ------------------------------------------------------------------------------------- */

/* This is the id of the name of scopes that open a window; 0: none; WINDOWS_ANY_SCOPE: all scopes
 * do. Relaxed: set before the gate opens. */
extern _Atomic uint32_t windows_scope __attribute__((visibility("hidden")));
#define WINDOWS_ANY_SCOPE UINT32_MAX

/* Opens a window as such a scope begins, or closes the window when the scope has ended. */
void windows_scope_switch(bool open, uint64_t instance);

/* Counts a launch outside of windows, when it returns. [hot] */
void windows_passed(void);
/* Counts a launch that begins in a window. False: the launch is one too many, and the window was
 * closed before it, if windows can close within a launch. [hot] */
bool windows_launch(void);

#endif

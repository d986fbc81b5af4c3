/* windows.h - windows of capture: the engine records inside them only.
 *
 * A session has windows where one of the options asks for them. Whoever opens one names it: the
 * program (gpufl_window_open), `gpufl ctl`, the clock, a scope, a count of launches. While any is
 * open the engine is on; when the last one closes it is off, and the vendor's library is detached
 * where that is wanted (window_let_go).
 *
 * A window that a scope opened keeps what belongs to that scope only, for as long as no other
 * window is open. */
#ifndef GPUFL_CAPTURE_WINDOWS_WINDOWS_H
#define GPUFL_CAPTURE_WINDOWS_WINDOWS_H

#include "capture/log/writer.h"
#include "capture/options/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* True where the options ask for windows. [any] */
bool windows_wanted(const struct options *o);
/* True where launches before the first window are counted. [any] */
bool windows_counts_launches(const struct options *o);

/* Switches the session's engine on or off. 0 or a negative code with a sentence. [any] */
typedef int windows_engine_fn(bool open, struct err *e);

/* A session begins. lack: why its engine cannot be switched, NULL: it can. let_go: nothing of the
 * engine stays on between windows, and `engine` may be called within a launch; otherwise the
 * collector calls it, shortly after the launch that is the last one of a window. [owner] */
void windows_begin(const struct options *o, const char *lack, bool let_go,
                   windows_engine_fn *engine);

/* Opens or closes a window of a name, NULL: "". Returns when the engine is on or off:
 * GPUFL_E_STATE without a session with windows, GPUFL_E_INVAL for a close without its open,
 * GPUFL_E_FULL beyond 64 names, else why the engine does not start, with a sentence. [any] */
int windows_switch(const char *name, bool open, struct err *e);

/* True where the session has windows. [any] */
bool windows_active(void);

/* From now on scopes of that name open windows, until windows_end_scope. STATE: the options named
 * a scope already. [collector] */
int windows_lend_scope(const char *name, struct err *e);
void windows_end_scope(void); /* closes those that are open. [collector] */

/* The session has no windows any more, whoever has some open. [collector] */
void windows_end_woken(void);

/* Open windows, and how many there were, as one line of JSON. [any] */
void windows_status(char *out, size_t size);

/* Opens and closes windows by the clock. Returns when the next edge is due, steady ns; 0: none.
 * [collector] */
int64_t windows_clock(int64_t now);

/* Instance of the scope whose window alone was open in all of the time from start to end (ns, both
 * in the past); 0: there is none. [collector] */
uint64_t windows_scope_of(int64_t start, int64_t end);

/* Writes rows of the windows that were opened and closed. [collector] */
void windows_drain(struct writer *w);

/* Ends the session's windows, and notes what became of them. [collector] */
void windows_conclude(struct writer *w, const struct backend *b, struct trace *t,
                      const char *engine);

void windows_forget(void); /* in a forked child */

/* ---- hot ------------------------------------------------------------------------------------- */

/* Id of the name of scopes that open a window; 0: none, WINDOWS_ANY_SCOPE: all do. Relaxed: set
 * before the gate opens. */
extern _Atomic uint32_t windows_scope __attribute__((visibility("hidden")));
#define WINDOWS_ANY_SCOPE UINT32_MAX

/* Called where that scope begins, or has ended. */
void windows_scope_switch(bool open, uint64_t instance);

/* A launch outside of windows returned. [hot] */
void windows_passed(void);
/* A launch begins in a window; false: it is one too many, and the window closed before, where it
 * closes within a launch. [hot] */
bool windows_launch(void);

#endif

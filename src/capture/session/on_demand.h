/* on_demand.h - handles captures that are asked for while the program runs: one at a time, for a
 * given time, of the whole program or of scopes of one name.
 *
 * A session with windows records with its own engine. A session with the option remote_control that
 * traces nothing (Monitor), or only waits (Sync), is woken: the collector opens a trace with
 * windows, so that launches before the capture are not touched. After the capture the vendor's
 * library is detached as between windows, and Sync gets its own trace back.
 *
 * Threads: the control thread asks and waits; the collector does the rest. */
#ifndef GPUFL_CAPTURE_SESSION_ON_DEMAND_H
#define GPUFL_CAPTURE_SESSION_ON_DEMAND_H

#include "capture/session/collector.h"

#include <stdbool.h>
#include <stdint.h>

enum { ON_DEMAND_LEAST_MS = 10, ON_DEMAND_MOST_MS = 600000, ON_DEMAND_SCOPE = 256 };

/* Carries out the request "SESSION ENGINE MS [SCOPE]". Returns 0 when the session records, or why
 * it does not: INVAL: the request is not understood; STATE: another session, or an engine that this
 * session cannot have; BUSY: a capture is under way. [control] */
int on_demand_ask(const char *text, struct err *e);

/* Begins a session, before the control thread starts. [owner] */
int on_demand_begin(void);
/* Begins the capture that was asked for, and ends a capture whose time is over. Returns when the
 * present capture ends, steady ns; 0: none is under way. [collector] */
int64_t on_demand_step(struct collector *c, int64_t now);
/* Refuses requests from here on. [collector] */
void on_demand_end(void);

void on_demand_forget(void); /* in a forked child */

#endif

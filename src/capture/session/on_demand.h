/* on_demand.h - captures that somebody asks for while the program runs: one at a time, for so long,
 * in all of the program or in scopes of a name.
 *
 * A session with windows records with its own engine. One that traces nothing (Monitor), or waits
 * only (Sync), and has the option remote_control, is woken: the collector opens a trace with
 * windows, so that nothing of the program's launches is touched before. After the capture the
 * vendor's library is detached as between windows; Sync gets its own trace back.
 *
 * Threads: the control thread asks and waits; the collector does all the rest. */
#ifndef GPUFL_CAPTURE_SESSION_ON_DEMAND_H
#define GPUFL_CAPTURE_SESSION_ON_DEMAND_H

#include "capture/session/collector.h"

#include <stdbool.h>
#include <stdint.h>

enum { ON_DEMAND_LEAST_MS = 10, ON_DEMAND_MOST_MS = 600000, ON_DEMAND_SCOPE = 256 };

/* Obeys "SESSION ENGINE MS [SCOPE]". Returns when the session records, or why it does not: INVAL
 * for what is not understood, STATE for another session or an engine that this session cannot have,
 * BUSY while a capture is under way. [control] */
int on_demand_ask(const char *text, struct err *e);

/* Before the control thread begins. [owner] */
int on_demand_begin(void);
/* Begins what was asked for, ends what is over. Returns when the capture ends, steady ns; 0: none
 * is under way. [collector] */
int64_t on_demand_step(struct collector *c, int64_t now);
/* Refuses requests from here on. [collector] */
void on_demand_end(void);

void on_demand_forget(void); /* in a forked child */

#endif

/* lead.h - how much less the GPU would have been idle without the waits of a line.
 *
 * A host that launches faster than the GPU computes is ahead of it, and its own work between
 * launches costs nothing. A wait takes that lead: the host stands still until the GPU has nothing
 * left, and each later pause of the host is idle time, however far from the wait it lies.
 *
 * The session is replayed without the waits of one line and thread. The host is earlier by the time
 * of the waits so far. A gap that the host caused shrinks by what the host is earlier than the GPU
 * already is. Other waits keep their meaning: the host leaves none before the GPU has done that
 * work. The host is never more launches ahead than the driver takes (LEAD_LAUNCHES).
 *
 * A bound from above: a value that the next launches depend on has to be waited for. Gaps without
 * room in the list of gaps are not counted.
 *
 * Calls that allocate and free memory are replayed as well, those of all lines together: one pool
 * makes all of them needless, and while the host is in them it launches nothing either.
 *
 * A second, careful replay bounds from below what the cure gives back if these waits can go: each
 * wait saves 20 us less, since a call takes time and the GPU begins later than the launch; no gap
 * gets shorter than the GPU itself needs between kernels; gaps stay whose launching thread is not
 * known; and the driver's queue takes a quarter as much. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_LEAD_H
#define GPUFL_ANALYZE_MODEL_IDLE_LEAD_H

struct model;

enum { LEAD_LAUNCHES = 1024 /* about as many as a driver takes before a launch blocks */ };

/* Adds to each line of m->wait_lines the idle time that the session would not have without the
 * line's waits (wait_line.lead, and from below lead_least), and to m->wait_lines the idle time that
 * it would not have without calls for memory. Call after the gaps are in order, while the waits are
 * known. 0 or GPUFL_E_NOMEM. */
int idle_lead_find(struct model *m);

#endif

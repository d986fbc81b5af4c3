/* lead.h - how much less the GPU would have been idle without the waits of a line.
 *
 * A host that launches faster than the GPU computes is ahead of the GPU, and its own work between
 * launches costs nothing. A wait takes that lead: the host waits until the GPU has nothing left,
 * and each later pause of the host is idle time, however much later it comes.
 *
 * The session is replayed without the waits of one line and thread. The host is then earlier by the
 * time of the waits so far. A gap that the host caused becomes shorter by the amount by which the
 * host is earlier and the GPU is not yet. Other waits stay: the host returns from none before the
 * GPU has done the work. The host is ahead by at most the launches that the driver queues
 * (LEAD_LAUNCHES).
 *
 * The result is an upper bound, because a host whose next launches depend on a value has to wait
 * for it. Gaps without room in the list of gaps are not counted.
 *
 * Calls that allocate and free memory are replayed, too, those of all lines together: one memory
 * pool makes all of them needless, and a host launches nothing while it is in them.
 *
 * A second, careful replay gives a lower bound, for waits that can be removed: each wait saves 20
 * us less, since a call takes time and the GPU begins later than the launch; no gap gets shorter
 * than the GPU itself needs between kernels; gaps whose launching thread is unknown stay; and the
 * driver queues a quarter as many launches. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_LEAD_H
#define GPUFL_ANALYZE_MODEL_IDLE_LEAD_H

struct model;

enum { LEAD_LAUNCHES = 1024 /* about as many as a driver queues before a launch blocks */ };

/* Adds to each line of m->wait_lines the idle time that the session would not have without the
 * line's waits (wait_line.lead; lower bound: lead_least), and to m->wait_lines.memory_lead the idle
 * time that it would not have without calls for memory. Call after the gaps are sorted, while the
 * waits are known. 0 or GPUFL_E_NOMEM. */
int idle_lead_find(struct model *m);

#endif

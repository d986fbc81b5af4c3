/* plans.h - finds samples of a thread while cuDNN made a plan.
 *
 * cuDNN makes a plan for shapes that are new to it, on the host, and loads code for it. A sample
 * has only Python's frames; the call that loads the code has cuDNN's frames on its stack. So a
 * sample of the thread before that call gets the stack of the call if it shows the same line of the
 * same Python function, and if in between the thread was neither seen elsewhere nor in a launch or
 * a call. Whether such a sample was taken before cuDNN began the plan is unknown. Called by the
 * owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_THREADS_PLANS_H
#define GPUFL_ANALYZE_MODEL_THREADS_PLANS_H

struct model;

/* Gives such samples their stack, and counts plans as stretches of ACTIVITY_PLAN. Call before
 * causes are found, while the ids of the log are known. 0 or GPUFL_E_NOMEM. */
int idle_plans_find(struct model *m);

#endif

/* plans.h - samples in the call in which cuDNN made a plan.
 *
 * cuDNN makes a plan for shapes that are new to it, on the host, and loads code for it. A sample
 * has Python's frames alone; the call that loads the code has cuDNN's on its stack. So a sample of
 * the thread before that call gets the stack of the call, if it shows the same line of the same
 * Python function, and if the thread was seen nowhere else, nor in a launch or a call, in between.
 * The samples are before the plan or in it: which of both they do not tell. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_PLANS_H
#define GPUFL_ANALYZE_MODEL_IDLE_PLANS_H

struct model;

/* Gives such samples their stack, and counts plans as stretches of ACTIVITY_PLAN. Before gaps are
 * blamed, while the ids of the log are known. 0 or GPUFL_E_NOMEM. */
int idle_plans_find(struct model *m);

#endif

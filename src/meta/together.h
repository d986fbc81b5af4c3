/* together.h - runs several calls of meta.h as one transaction. */
#ifndef GPUFL_META_TOGETHER_H
#define GPUFL_META_TOGETHER_H

#include "meta/meta.h"

/* Runs fn; its calls that write to m are one transaction: all of them take effect or none, and the
 * disk is written once. Other threads may be unable to write meanwhile, so fn must do nothing that
 * takes long; nor may it read what it wrote. fn returns the error of any of its calls, and is run
 * again if the transaction failed because of another one. */
int meta_together(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg, struct err *e);

/* Does what meta_together does, for calls that put reports, findings or usage: if several servers
 * write, they do this one at a time, because they share the rows with sums of applications and
 * days. */
int meta_together_sums(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg,
                       struct err *e);

#endif

/* together.h - several calls of meta.h as one transaction. */
#ifndef GPUFL_META_TOGETHER_H
#define GPUFL_META_TOGETHER_H

#include "meta/meta.h"

/* Runs fn, whose calls that write to m are one transaction: all of them are done, or none is, and
 * one write to the disk serves all. Others cannot write meanwhile, so fn does nothing that takes
 * long, and reads nothing that it wrote. fn returns the error of any of its calls, and is run again
 * where the transaction lost against another one. */
int meta_together(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg, struct err *e);

/* meta_together for calls that put reports, findings or usage: where several servers write, one at
 * a time does so, since sums of applications and days are rows that they share. */
int meta_together_sums(struct meta *m, int (*fn)(void *arg, struct err *e), void *arg,
                       struct err *e);

#endif

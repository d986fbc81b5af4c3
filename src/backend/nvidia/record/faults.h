/* faults.h - kernels that fault. The context is lost with it: every call of it answers with the
 * error from then on, and what its kernels had counted or recorded and nobody had read is gone. The
 * error is the program's own; the session says when it was seen first, since that explains what is
 * missing. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_FAULTS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_FAULTS_H

#include "backend/nvidia/trace.h"

/* A session begins: none was seen. [owner] */
void faults_open(void);

/* A call has returned with an error. [hot: where one did] */
void faults_look(struct sink *s, int result, const char *function);

/* One was seen in this session. [any] */
bool faults_seen(void);

#endif

/* faults.h - notices kernels that fault. The context is lost with the kernel: every later call
 * returns the error, and counts and records that were not read yet are gone. The error is the
 * program's own; the session says when it was first seen, because that explains what is missing. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_FAULTS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_FAULTS_H

#include "backend/nvidia/trace.h"

/* Begins a session, in which no fault was seen yet. [owner] */
void faults_open(void);

/* Looks at a call that has returned with an error. [hot, after an error] */
void faults_look(struct sink *s, int result, const char *function);

/* Returns true if a fault was seen in this session. [any] */
bool faults_seen(void);

#endif

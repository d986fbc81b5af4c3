/* wait_call.h - lists the calls in which the program can wait for the GPU, as numbers of wait.call.
 *
 * Backends write these numbers and the analysis reads them. */
#ifndef GPUFL_WIRE_WAIT_CALL_H
#define GPUFL_WIRE_WAIT_CALL_H

enum wait_call {
    WAIT_OTHER,
    WAIT_EVENT,
    WAIT_STREAM_EVENT, /* a stream waits, not the host */
    WAIT_STREAM,
    WAIT_CONTEXT,
    WAIT_COPY,
    WAIT_FILL,
    WAIT_FREE,
    WAIT_ALLOC,
    WAIT_MODULE, /* code is loaded or unloaded */
    WAIT_CALLS
};

#endif

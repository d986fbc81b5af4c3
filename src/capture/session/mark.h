/* mark.h - reports to `gpufl trace` what became of the capture in this process.
 *
 * A program whose capture cannot begin may leave nothing on the disk: its user may not write there,
 * it changed its root, or the limit of threads is reached. So the launcher has a socket in the
 * abstract namespace, named after the run's id, which can be reached whatever the program did to
 * its files, its user or its descriptors. Each mark is one datagram; it is dropped if there is no
 * launcher, or no room.
 *
 * Marks are sent as a session starts or ends, never on a hot path. */
#ifndef GPUFL_CAPTURE_SESSION_MARK_H
#define GPUFL_CAPTURE_SESSION_MARK_H

#include <stdbool.h>

enum mark {
    MARK_LOADED = 'L',    /* the driver has called the library */
    MARK_BEGAN = 'B',     /* a session runs; text: its directory */
    MARK_FAILED = 'F',    /* no session could begin; text: why, and what to do */
    MARK_UNWRITTEN = 'U', /* the session ended, but its log lacks the end; text: as BEGAN */
    MARK_DISABLED = 'D',  /* the capture is switched off; text: what switched it off */
};

/* Sends a mark. True if `gpufl trace` receives it; false if `gpufl trace` did not start the
 * process, or cannot be reached. Reads the environment, which the program may change meanwhile on
 * another thread. [a thread of the program] */
bool mark_send(enum mark mark, const char *text);

/* Sends a mark to the launcher of the run with that id (option run_id); "": no launcher. [any] */
bool mark_send_of(const char *run_id, enum mark mark, const char *text);

#endif

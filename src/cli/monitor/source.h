/* source.h - is the source of the live view's samples: the gpufl-monitor of this host, or one that
 * this program starts and ends.
 *
 * A running monitor answers at a socket in its folder (monitord/live.h), which is where traced
 * programs search. If there is none, gpufl-monitor is started, from this executable's folder or
 * from PATH: with session logs if the caller names a folder for them; else without, in a folder of
 * its own, which traced programs do not find. That monitor ends with this process, however this
 * process ends. Called by one thread only. */
#ifndef GPUFL_CLI_MONITOR_SOURCE_H
#define GPUFL_CLI_MONITOR_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/process/spawn.h"

#include <stdbool.h>
#include <stdint.h>

struct source_options {
    const char *run_dir;  /* of the monitor; NULL: where traced programs search */
    const char *log_path; /* of the session logs of a monitor of our own; NULL: none */
    const char *name;     /* of the application in these logs; NULL: the monitor's own */
    int64_t interval;     /* ns, of a monitor of our own */
};

struct source {
    char folder[108];    /* of the monitor that answers */
    const char *run_dir; /* borrowed: of the options */
    struct buf text;     /* its last line */
    struct spawned process;
    /* Our ends of its stdin and stdout, and the file of its stderr; -1: none. */
    int alive, out, said;
    char own[108]; /* the folder that was made for it; "": none */
    bool is_own;
    bool has_answered; /* a line came: later waits for an answer are shorter */
};

/* Finds a monitor, or starts one. GPUFL_E_BUSY: a monitor runs, but logs were requested. */
int source_open(struct source *s, const struct source_options *o, struct err *e);

/* Takes the newest values: a line of JSON in s->text, without its LF. If the monitor has ended,
 * another one of this host is searched for. An error says why no values come; the next call tries
 * again. */
int source_take(struct source *s, struct err *e);

void source_close(struct source *s);

#endif

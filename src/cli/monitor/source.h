/* source.h - where the live view has its samples from: the gpufl-monitor of this host, or one that
 * this program starts and ends.
 *
 * A running monitor answers at a socket in its folder (monitord/live.h), which lies where traced
 * programs look. Without one, gpufl-monitor is started, beside this executable or from PATH: with
 * session logs where the caller names a folder for them; else without, in a folder of its own that
 * traced programs do not look into. That monitor ends with this process, however this one ends.
 * One thread. */
#ifndef GPUFL_CLI_MONITOR_SOURCE_H
#define GPUFL_CLI_MONITOR_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/process/spawn.h"

#include <stdbool.h>
#include <stdint.h>

struct source_options {
    const char *run_dir;  /* of the monitor; NULL: where traced programs look */
    const char *log_path; /* of the session logs of a monitor of our own; NULL: none */
    const char *name;     /* of the application in these logs; NULL: the monitor's own */
    int64_t interval;     /* ns, of a monitor of our own */
};

struct source {
    char folder[108];    /* of the monitor that answers */
    const char *run_dir; /* borrowed: of the options */
    struct buf text;     /* its last line */
    struct spawned process;
    int alive, out, said; /* ends of its stdin and stdout, and the file of its stderr; -1: none */
    char own[108];        /* the folder that was made for it; "": none */
    bool is_own;
    bool has_answered; /* a line came: who stops answering is waited for less long */
};

/* Finds a monitor, or starts one. BUSY: a monitor runs, and logs were asked for. */
int source_open(struct source *s, const struct source_options *o, struct err *e);

/* Takes the newest values: a line of JSON in s->text, without its LF. Where the monitor has ended,
 * another one of this host is looked for. A failure says why no values come; the next call asks
 * again. */
int source_take(struct source *s, struct err *e);

void source_close(struct source *s);

#endif

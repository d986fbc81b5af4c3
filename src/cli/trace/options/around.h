/* around.h - reads the options of environment and config file that the launcher has to know before
 * the program starts. In the program, the library reads all sources again. Called by one thread
 * only. */
#ifndef GPUFL_CLI_TRACE_OPTIONS_AROUND_H
#define GPUFL_CLI_TRACE_OPTIONS_AROUND_H

#include <limits.h>
#include <stdbool.h>

struct trace_around {
    int engine;              /* enum gpufl_engine; Trace unless one of them sets another */
    bool samples;            /* devices and host are sampled, unless flags say otherwise */
    char log_path[PATH_MAX]; /* "": not set */
    char app_name[129];      /* "": not set */
};

/* Reads what is around the options. config_file: of --option, or NULL. 0 or GPUFL_E_NOMEM. */
int trace_around_read(struct trace_around *a, const char *config_file);

#endif

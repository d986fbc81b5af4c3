/* options.h - parses the command line of `gpufl trace`, and writes the part that the library in the
 * program receives. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_OPTIONS_OPTIONS_H
#define GPUFL_CLI_TRACE_OPTIONS_OPTIONS_H

#include "base/buf.h"
#include "base/opt.h"
#include "cli/trace/options/around.h"
#include "cli/trace/options/named.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TRACE_SETTINGS_MAX = 64,
    TRACE_SETTING_SIZE = 4352,
    TRACE_TOP_DEFAULT = -1,
    TRACE_PASSES_MAX = 8
};

struct trace_request {
    const char *output;         /* -o; NULL: a new directory here */
    const char *name;           /* -n; NULL: from the command */
    const char *report_file;    /* --report; NULL: stderr */
    struct trace_around around; /* options of environment and config file */
    int engine;       /* enum gpufl_engine, as far as known here; with passes the current one's */
    int engine_given; /* of --engine; -1: not given */
    const char *passes_given;     /* --passes; NULL: the command runs once */
    int passes[TRACE_PASSES_MAX]; /* engines in the order in which they run; the first is Trace */
    unsigned pass_count;          /* 0: the command runs once */
    unsigned pass;                /* the current one, from 1; 0: the command runs once */
    int stacks;                   /* of --stacks; -1: not given */
    bool no_report;               /* neither report nor findings */
    bool json;                    /* the report as JSON */
    bool kill;                    /* end the program when --duration is over */
    bool quiet;                   /* nothing but errors */
    bool anyway;                  /* run the program where logs cannot be written, too */
    int ranges;                   /* of --ranges; -1: not given */
    int pc_kernels;               /* of --pc-kernels; -1: not given */
    const char *metrics;          /* of PmSampling; NULL: not given */
    int64_t interval;             /* of PmSampling, ns; 0: not given */
    bool yield;                   /* leave CUPTI to the program's own profiler */
    bool keep;                    /* do not leave CUPTI to that profiler when it begins */
    bool windows;                 /* --windows */
    const char *in_scope;         /* of a window; NULL: none */
    int64_t after, lasts, every;  /* ns; of a window; 0: not given */
    int64_t after_launches, launches; /* of a window; 0: not given */
    int64_t duration;                 /* ns; 0: to the program's end */
    int64_t system_interval;          /* ns between system samples; 0: none; INT64_MIN: not given */
    int64_t top;                      /* rows of the report's tables; 0: all */

    struct trace_named named;                      /* options by the library's names */
    struct opt_list settings;                      /* --option, as given, and named */
    const char *setting_items[TRACE_SETTINGS_MAX]; /* the items of settings */

    char **command; /* NULL-terminated: the program and its arguments */
};

/* Returns CMD_CONTINUE, or the exit code, after help or a usage error was printed. */
int trace_options_parse(struct trace_request *r, int argc, char **argv);

/* Returns the value that --option gives an option of the library, or NULL. */
const char *trace_options_setting(const struct trace_request *r, const char *name);

/* Writes a directory in the form for the option log_path. */
void trace_options_dir(const char *dir, char *out, size_t size);

/* Appends the lines of GPUFL_TRACE_OPTIONS for the interval of devices and host. */
void trace_options_put_interval(const struct trace_request *r, struct buf *out);

/* Writes the text of GPUFL_TRACE_OPTIONS: "name=value" lines, with a question mark before defaults
 * that the user did not give. The text has each option once: --option replaces the value that other
 * flags imply. */
void trace_options_encode(const struct trace_request *r, const char *dir, const char *run_id,
                          const char *name, struct buf *out);

#endif

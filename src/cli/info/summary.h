/* summary.h - `gpufl info` without options: what works here, and what to do, on one screen. */
#ifndef GPUFL_CLI_INFO_SUMMARY_H
#define GPUFL_CLI_INFO_SUMMARY_H

#include "backend/backend.h"
#include "base/buf.h"

#include <stdbool.h>

/* What was found on this machine. Facts of a probe whose name begins with "engine " are about
 * engines. */
struct info_found {
    const char *library;        /* path of the capture library; NULL: not found */
    const char *library_advice; /* where it was not found: what to do */
    const char *backend;        /* that sessions take */
    const char *setting;        /* GPUFL_BACKEND; NULL: not set, or Auto */
    bool named;                 /* the setting names the backend; else it names none */
    bool simulated;             /* the backend is */
    const char *other;          /* another vendor's that is usable, too; NULL: there is none */
    const struct probe *gpu; /* of the vendor's backend: the one taken, or what Auto would take */
    const struct probe *tools;
};

/* Appends the summary: at most 20 lines of 100 columns where no more than two things are wrong. */
void info_summary(struct buf *b, const struct info_found *f, bool color, int width);

enum { INFO_GPUS_SHOWN = 2 }; /* of more GPUs the first one is shown */

#endif

/* summary.h - prints `gpufl info` without options: what works on this machine, and what to do, on
 * one screen. */
#ifndef GPUFL_CLI_INFO_SUMMARY_H
#define GPUFL_CLI_INFO_SUMMARY_H

#include "backend/backend.h"
#include "base/buf.h"

#include <stdbool.h>

/* Holds what was found on this machine. A probe's facts whose names begin with "engine " are about
 * engines. */
struct info_found {
    const char *library;        /* path of the capture library; NULL: not found */
    const char *library_advice; /* if it was not found: what to do */
    const char *backend;        /* the backend that sessions use */
    const char *setting;        /* GPUFL_BACKEND; NULL: not set, or Auto */
    bool named;                 /* the setting names a backend */
    bool simulated;             /* the backend is simulated */
    const char *other;          /* another vendor's usable backend; NULL: none */
    /* The probe of the vendor's backend: the chosen one, or the one that Auto would choose. */
    const struct probe *gpu;
    const struct probe *tools;
};

/* Appends the summary: at most 20 lines of 100 columns if no more than two things are wrong. */
void info_summary(struct buf *b, const struct info_found *f, bool color, int width);

enum { INFO_GPUS_SHOWN = 2 }; /* of more GPUs the first one is shown */

#endif

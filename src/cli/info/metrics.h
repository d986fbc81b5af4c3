/* metrics.h - prints `gpufl info --metrics`: the hardware counters that the devices here offer. */
#ifndef GPUFL_CLI_INFO_METRICS_H
#define GPUFL_CLI_INFO_METRICS_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends text, or JSON. Counters are listed even if no device could be asked, with the reason.
 * GPUFL_E_NOMEM if b is full. */
int info_metrics(struct buf *b, bool json, int width);

#endif

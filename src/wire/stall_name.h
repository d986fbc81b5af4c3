/* stall_name.h - finds one spelling for the names that drivers give to stall reasons.
 *
 * CUPTI's names are "smsp__pcsamp_warps_issue_stalled_long_scoreboard", with or without
 * "_not_issued" at the end; older interfaces and tools show "Long Scoreboard". All of them
 * are "long_scoreboard" here, so that samples of all sources are summed together and one
 * table (src/analyze/model/kernels/stall.def) explains them. [any] */
#ifndef GPUFL_WIRE_STALL_NAME_H
#define GPUFL_WIRE_STALL_NAME_H

#include <stddef.h>
#include <stdint.h>

enum { STALL_NAME_ROOM = 96 };

struct stall_name {
    char text[STALL_NAME_ROOM]; /* lower case, words joined by _; cut if it is too long */
    int64_t issued;             /* as stall_reason.issued, as far as the name says; or CELL_NULL */
};

struct stall_name stall_name_of(const char *driver, size_t len);

#endif

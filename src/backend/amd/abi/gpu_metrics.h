/* gpu_metrics.h - has the table of metrics that AMD's firmware fills, as ROCm SMI and AMD SMI
 * return it. There is one layout, to which newer libraries add at the end. Each library writes as
 * many bytes as its own structure has, 96 to 4544, so the caller needs room for the largest.
 *
 * The caller sets all bits before the call: a number with all bits set is unknown, whether the
 * firmware says so or the library is too old to write that part.
 * tests/unit/backend/abi/test_rocm_smi.c checks the layout against installed headers. */
#ifndef GPUFL_BACKEND_AMD_ABI_GPU_METRICS_H
#define GPUFL_BACKEND_AMD_ABI_GPU_METRICS_H

#include <stdint.h>

enum { GPU_METRICS_ROOM = 16384 }; /* bytes */

struct gpu_metrics {
    uint16_t size;
    uint8_t format, content;
    uint16_t edge, hotspot, mem, vr_gfx, vr_soc, vr_mem; /* C */
    uint16_t gfx_busy, umc_busy, mm_busy;                /* % */
    uint16_t power_average;                              /* W */
    uint64_t energy, system_clock;
    uint16_t clocks_average[7];
    uint16_t clock_gfx, clock_soc, clock_mem, clocks_rest[4]; /* MHz */
    uint32_t throttle_raw; /* bits whose meaning depends on the chip */
    uint16_t fan;          /* rpm */
    uint16_t link_width, link_speed;
    uint32_t gfx_count, mem_count;
    uint16_t hbm[4]; /* C */
    /* From ROCm 6.0 on. */
    uint64_t firmware_clock;
    uint16_t mv_soc, mv_gfx, mv_mem; /* mV */
    uint64_t throttle;               /* enum gpu_throttler, a bit each */
    uint16_t power;                  /* W */
    uint16_t vcn_busy[4];
    uint32_t clock_locks;
    uint16_t xgmi_width, xgmi_speed;
    uint64_t pcie_sum;
    uint64_t pcie_now; /* Mbit/s, both directions */
    uint64_t pcie_recoveries;
    uint64_t pcie_replays;
    uint64_t pcie_rollovers;
    uint64_t xgmi_read[8], xgmi_write[8]; /* KB */
    uint16_t clocks_gfx[8];               /* MHz, of each chiplet; instead of clock_gfx */
    uint16_t clocks_media[12];
    uint8_t rest[72];
    /* From ROCm 6.3 on: ticks so far, and for how many of them each limit lowered the clocks. */
    uint64_t ticks;
    uint64_t held_prochot, held_power, held_socket, held_regulator, held_hbm;
};

/* Lists the numbers of the bits of gpu_metrics.throttle. The kernel driver gives every chip these
 * numbers; each range is of one kind. */
enum gpu_throttler {
    GPU_THROTTLER_POWER = 0,        /* to 7: limits of power */
    GPU_THROTTLER_CURRENT = 16,     /* to 23: limits of current */
    GPU_THROTTLER_TEMPERATURE = 32, /* to 43: limits of temperature */
    GPU_THROTTLER_HOT = 44,         /* to 47: pins that regulators and the board pull */
    GPU_THROTTLER_OTHER = 56,
};

#endif

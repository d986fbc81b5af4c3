/* pc_sampling.h - has our own declarations of rocprofiler-sdk's PC sampling, as trace/abi.h has the
 * rest of that library.
 *
 * Why records are recognized by size: the numbers of the kinds of samples changed between SDK 0.6
 * (ROCm 6.4) and 1.0 (7.0), but the records did not, and each begins with its size. SDK 0.4 and
 * 0.5 have other records, which AMD says are not for use. */
#ifndef GPUFL_BACKEND_AMD_ABI_PC_SAMPLING_H
#define GPUFL_BACKEND_AMD_ABI_PC_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

enum { ROCP_PC_SAMPLES = 2 }; /* category of records */

/* The oldest version whose samples are read is ROCm 6.4. */
enum { ROCP_SAMPLES_OLDEST = 600 };

enum rocp_sampling_method { ROCP_STOCHASTIC = 1, ROCP_HOST_TRAP = 2 };
enum rocp_sampling_unit { ROCP_CYCLES = 2, ROCP_TIME = 3 }; /* time: us */
enum { ROCP_POWER_OF_TWO = 1 }; /* a flag: the interval must be a power of two */

/* Describes a way of sampling that a GPU offers. */
struct rocp_sampling {
    uint64_t size;
    uint32_t method, unit;
    uint64_t least, most; /* interval */
    uint64_t flags;
};

typedef int rocp_samplings_fn(const struct rocp_sampling *offers, size_t count, void *data);

/* Describes an instruction: its offset from the load base of a code object; 0: of no known
 * object. */
struct rocp_pc {
    uint64_t object, offset;
};

/* Describes a wavefront that the driver interrupted. */
struct rocp_host_trap_sample {
    uint64_t size, hardware;
    struct rocp_pc pc;
    uint64_t lanes, time, dispatch, internal, external;
    uint32_t workgroup[3], wave;
};

enum { ROCP_ISSUED = 1 }; /* bit of `issue`: the wavefront issued an instruction */

/* Describes a wavefront that the hardware stopped. */
struct rocp_stochastic_sample {
    uint64_t size;
    uint8_t flags, wave, issue, padding[5];
    uint64_t hardware;
    struct rocp_pc pc;
    uint64_t lanes;
    uint32_t workgroup[3], waves;
    uint64_t time, dispatch, internal, external;
    uint32_t snapshot; /* its low 4 bits: enum rocp_stall */
    uint32_t memory;
};

/* Says why no instruction was issued. */
enum rocp_stall {
    ROCP_STALL_NONE,
    ROCP_STALL_NO_INSTRUCTION,
    ROCP_STALL_ALU_DEPENDENCY,
    ROCP_STALL_WAITCNT,
    ROCP_STALL_INTERNAL,
    ROCP_STALL_BARRIER,
    ROCP_STALL_ARBITER_NOT_WIN,
    ROCP_STALL_ARBITER_WIN_EX_STALL,
    ROCP_STALL_OTHER,
    ROCP_STALL_SLEEP,
    ROCP_STALLS
};
enum { ROCP_STALL_BITS = 15 };

_Static_assert(sizeof(struct rocp_sampling) == 40 && offsetof(struct rocp_sampling, method) == 8 &&
                   offsetof(struct rocp_sampling, least) == 16 &&
                   offsetof(struct rocp_sampling, flags) == 32,
               "rocprofiler-sdk's layout");
_Static_assert(sizeof(struct rocp_host_trap_sample) == 88 &&
                   offsetof(struct rocp_host_trap_sample, pc) == 16 &&
                   offsetof(struct rocp_host_trap_sample, lanes) == 32 &&
                   offsetof(struct rocp_host_trap_sample, dispatch) == 48 &&
                   offsetof(struct rocp_host_trap_sample, internal) == 56 &&
                   offsetof(struct rocp_host_trap_sample, workgroup) == 72,
               "rocprofiler-sdk's layout");
_Static_assert(sizeof(struct rocp_stochastic_sample) == 104 &&
                   offsetof(struct rocp_stochastic_sample, issue) == 10 &&
                   offsetof(struct rocp_stochastic_sample, hardware) == 16 &&
                   offsetof(struct rocp_stochastic_sample, pc) == 24 &&
                   offsetof(struct rocp_stochastic_sample, workgroup) == 48 &&
                   offsetof(struct rocp_stochastic_sample, time) == 64 &&
                   offsetof(struct rocp_stochastic_sample, internal) == 80 &&
                   offsetof(struct rocp_stochastic_sample, snapshot) == 96,
               "rocprofiler-sdk's layout");

#endif

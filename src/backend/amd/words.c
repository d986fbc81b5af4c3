/* words.c - has the words for AMD's GPUs in the text report: see backend/vendor_words.h. */
#include "backend/vendor_words.h"

#include <stddef.h>

extern const struct words words_amd;

/* Lists the next steps of insights that name a tool or a call of AMD's. */
static const struct words_step steps[] = {
    {"sync_loop",
     "Move the sync outside the loop or capture the loop body into a HIP graph (replay amortizes "
     "launch overhead)."},
    {"memory_alloc_loop",
     "Allocate once before the loop, and reuse the memory. Or use hipMallocAsync and hipFreeAsync, "
     "with the release threshold of their pool raised: by default a wait gives its memory back."},
    {"pageable_copies",
     "Keep on the GPU what does not change, and copy the rest from pinned memory without blocking. "
     "HIP: hipHostMalloc and hipMemcpyAsync; PyTorch: pin_memory() or a DataLoader's "
     "pin_memory=True, and non_blocking=True."},
    {"gpu_failing",
     "Look for messages of amdgpu in the kernel's log (dmesg): resets of the GPU and RAS errors. "
     "After memory errors, or if it does not come back, take the GPU out of use and test it."},
    {"launch_storm",
     "Capture the repeated launches into a HIP graph, or fuse the kernels. PyTorch: "
     "torch.compile(mode=\"reduce-overhead\"), or torch.cuda.graph; JAX: jax.jit around the step."},
    {"spills",
     "Let the compiler use more registers (__launch_bounds__). Or index arrays of a "
     "work-item by constants only; -Rpass-analysis=kernel-resource-usage shows what is spilled."},
    {"throttle_power",
     "Raise the power limit (as root: amd-smi set --power-cap), or expect that speed."},
    {"clocks_held",
     "Take back what holds the clocks down (amd-smi reset --clocks), or expect that speed. A "
     "slowdown by hardware comes from heat or from the power supply."},
    {NULL, NULL},
};

const struct words words_amd = {
    .arch = "gfx",
    .shader_clock = true,
    .listing = "source and ISA",
    .thread = "work-item",
    .threads = "work-items",
    .warps = "wavefronts",
    .warp = "wavefront",
    .sms = "CUs",
    .an_sm = "a compute unit",
    .blocks = "workgroups",
    .block = "workgroup",
    .waves = "rounds", /* a wave is a wavefront */
    .shared = "LDS",
    .shared_short = "LDS",
    .local_short = "scratch",
    .graphs = "HIP graphs",
    .graph = "HIP graph",
    .local = "Scratch memory",
    .clock = "shader clock",
    .clock_short = "shader",
    .link = "XGMI",
    .empty_cache = WORDS_EMPTY_CACHE,
    .api = "hip",
    .alone = "Measure the program alone, or give each process a GPU of its own "
             "(HIP_VISIBLE_DEVICES, or ROCR_VISIBLE_DEVICES).",
    .pinned_back = WORDS_PINNED_BACK("HIP: hipHostMalloc and hipMemcpyAsync"),
    .context = "device",
    .wait_all = "DeviceSynchronize",
    .waits_all = "device synchronizations",
    .throttle_slow = "another limit of the hardware",
    .throttle_heat = "too hot",
    .throttle_hot = "regulators or board too hot",
    .load_next = "Load all code before the loop: run each kernel once first. Or set "
                 "HIP_ENABLE_DEFERRED_LOADING=0; by default a kernel is loaded at its first "
                 "launch.",
    .steps = steps,
};

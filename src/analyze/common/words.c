/* words.c - see words.h. */
#include "analyze/common/words.h"

#include <string.h>
#include <strings.h>

#define EMPTY_CACHE                                                                                \
    "Take empty_cache() out of the loop: PyTorch keeps freed memory and uses it again."

#define PINNED_BACK(calls)                                                                         \
    "Copy to pinned memory, with a call that does not block. Wait before the data is read. " calls \
    "; PyTorch: a tensor with pin_memory=True, and copy_(..., non_blocking=True)."

static const struct {
    const char *arch; /* begins with it */
    struct words words;
} all[] = {
    {"gfx",
     {.vendor = WORDS_AMD,
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
      .empty_cache = EMPTY_CACHE,
      .api = "hip",
      .alone = "Measure the program alone, or give each process a GPU of its own "
               "(HIP_VISIBLE_DEVICES, or ROCR_VISIBLE_DEVICES).",
      .pinned_back = PINNED_BACK("HIP: hipHostMalloc and hipMemcpyAsync"),
      .context = "device",
      .wait_all = "DeviceSynchronize",
      .waits_all = "device synchronizations",
      .throttle_slow = "another limit of the hardware",
      .throttle_heat = "too hot",
      .throttle_hot = "regulators or board too hot",
      .load_next = "Load all code before the loop: run each kernel once first. Or set "
                   "HIP_ENABLE_DEFERRED_LOADING=0; by default a kernel is loaded at its first "
                   "launch."}},
    {"",
     {.vendor = WORDS_NVIDIA,
      .ptx = true,
      .listing = "source and SASS",
      .thread = "thread",
      .threads = "threads",
      .warps = "warps",
      .warp = "warp",
      .sms = "SMs",
      .an_sm = "an SM",
      .blocks = "blocks",
      .block = "block",
      .waves = "waves",
      .shared = "shared mem.",
      .shared_short = "shared",
      .local_short = "local",
      .graphs = "CUDA graphs",
      .graph = "CUDA graph",
      .local = "Local memory",
      .clock = "SM clock",
      .clock_short = "SM",
      .link = "NVLink",
      .empty_cache = EMPTY_CACHE
      " Where memory runs out without it, try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
      .api = "cuda",
      .alone = "Measure the program alone, or give each process a GPU of its own "
               "(CUDA_VISIBLE_DEVICES).",
      .pinned_back = PINNED_BACK("CUDA: cudaMallocHost and cudaMemcpyAsync"),
      .context = "context",
      .wait_all = "ContextSynchronize",
      .waits_all = "context synchronizations",
      .throttle_slow = "hardware slowdown",
      .throttle_heat = "too hot (software)",
      .throttle_hot = "too hot (hardware)",
      .load_next =
          "Load all code before the loop: run each kernel once first. Or set "
          "CUDA_MODULE_LOADING=EAGER; by default a kernel is loaded at its first launch."}},
};

/* For texts about GPUs of both vendors. */
static const struct words both = {
    .vendor = WORDS_BOTH,
    .listing = "source and code",
    .thread = "thread or work-item",
    .threads = "threads/items",
    .warps = "warps or wavefronts",
    .warp = "warp or wavefront",
    .sms = "SMs or CUs",
    .an_sm = "an SM or a compute unit",
    .blocks = "blocks or workgroups",
    .block = "block or workgroup",
    .waves = "rounds", /* a wave is a wavefront */
    .shared = "shared mem. or LDS",
    .shared_short = "shared/LDS",
    .local_short = "local/scratch",
    .graphs = "CUDA and HIP graphs",
    .graph = "CUDA or HIP graph",
    .local = "Local or scratch memory",
    .clock = "SM or shader clock",
    .clock_short = "SM or shader",
    .link = "NVLink or XGMI",
    .empty_cache = EMPTY_CACHE " Where memory of NVIDIA's GPUs runs out without it, try "
                               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    .api = "cuda/hip",
    .alone = "Measure the program alone, or give each process a GPU of its own "
             "(CUDA_VISIBLE_DEVICES; AMD: HIP_VISIBLE_DEVICES, or ROCR_VISIBLE_DEVICES).",
    .pinned_back = PINNED_BACK("CUDA: cudaMallocHost and cudaMemcpyAsync; HIP: hipHostMalloc and "
                               "hipMemcpyAsync"),
    .context = "context or device",
    .wait_all = "ContextSynchronize or DeviceSynchronize",
    .waits_all = "context or device synchronizations",
    .throttle_slow = "slowdown by the hardware",
    .throttle_heat = "too hot",
    .throttle_hot = "parts too hot",
    .load_next = "Load all code before the loop: run each kernel once first. Or set "
                 "CUDA_MODULE_LOADING=EAGER (AMD: HIP_ENABLE_DEFERRED_LOADING=0); by default a "
                 "kernel is loaded at its first launch."};

const struct words *words_of(const char *arch)
{
    size_t i = 0;
    while (strncmp(arch, all[i].arch, strlen(all[i].arch)) != 0)
        i++;
    return &all[i].words;
}

const struct words *words_of_device(const char *vendor, const char *arch)
{
    if (!strcasecmp(vendor, "amd"))
        return words_of("gfx");
    if (!strcasecmp(vendor, "nvidia"))
        return words_of("sm_");
    return *arch ? words_of(arch) : NULL;
}

const struct words *words_join(const struct words *a, const struct words *b)
{
    return !a || a == b ? b : &both;
}

/* The next steps of rules for GPUs of one vendor; the rule's own text is for both. */
static const struct {
    const char *rule, *nvidia, *amd;
} steps[] = {
    {"sync_loop",
     "Move the sync outside the loop or capture the loop body into a CUDA graph (replay amortizes "
     "launch overhead).",
     "Move the sync outside the loop or capture the loop body into a HIP graph (replay amortizes "
     "launch overhead)."},
    {"memory_alloc_loop",
     "Allocate once before the loop, and reuse the memory. Or use cudaMallocAsync and "
     "cudaFreeAsync, with the release threshold of their pool raised: by default a wait gives its "
     "memory back.",
     "Allocate once before the loop, and reuse the memory. Or use hipMallocAsync and hipFreeAsync, "
     "with the release threshold of their pool raised: by default a wait gives its memory back."},
    {"pageable_copies",
     "Keep on the GPU what does not change, and copy the rest from pinned memory without blocking. "
     "CUDA: cudaMallocHost and cudaMemcpyAsync; PyTorch: pin_memory() or a DataLoader's "
     "pin_memory=True, and non_blocking=True.",
     "Keep on the GPU what does not change, and copy the rest from pinned memory without blocking. "
     "HIP: hipHostMalloc and hipMemcpyAsync; PyTorch: pin_memory() or a DataLoader's "
     "pin_memory=True, and non_blocking=True."},
    {"gpu_failing",
     "Look for Xid in the kernel's log (dmesg). XID 13, 31, 43 and 45 come mostly from programs; "
     "after others, and memory errors, take the GPU out of use and test it.",
     "Look for messages of amdgpu in the kernel's log (dmesg): resets of the GPU and RAS errors. "
     "After memory errors, or where it does not come back, take the GPU out of use and test it."},
    {"launch_storm",
     "Capture the repeated launches into a CUDA graph, or fuse the kernels. PyTorch: "
     "torch.compile(mode=\"reduce-overhead\"), or torch.cuda.graph; JAX: jax.jit around the step.",
     "Capture the repeated launches into a HIP graph, or fuse the kernels. PyTorch: "
     "torch.compile(mode=\"reduce-overhead\"), or torch.cuda.graph; JAX: jax.jit around the step."},
    {"spills",
     "Let the compiler use more registers (__launch_bounds__, -maxrregcount). Or index arrays of a "
     "thread by constants only; -Xptxas -v shows what is spilled.",
     "Let the compiler use more registers (__launch_bounds__). Or index arrays of a "
     "work-item by constants only; -Rpass-analysis=kernel-resource-usage shows what is spilled."},
    {"throttle_power", "Raise the power limit (as root: nvidia-smi -pl), or expect that speed.",
     "Raise the power limit (as root: amd-smi set --power-cap), or expect that speed."},
    {"clocks_held",
     "Take back what holds the clocks down (nvidia-smi -rac, -rgc), or expect that speed. A "
     "slowdown by hardware comes from heat or from the power supply.",
     "Take back what holds the clocks down (amd-smi reset --clocks), or expect that speed. A "
     "slowdown by hardware comes from heat or from the power supply."},
};

const char *words_next(const struct words *w, const char *rule)
{
    for (size_t i = 0; w->vendor != WORDS_BOTH && i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].rule, rule) == 0)
            return w->vendor == WORDS_AMD ? steps[i].amd : steps[i].nvidia;
    return NULL;
}

/* words.c - has the words for NVIDIA's GPUs in the text report: see backend/vendor_words.h. */
#include "backend/vendor_words.h"

#include <stddef.h>

extern const struct words words_nvidia;

/* Lists the next steps of insights that name a tool or a call of NVIDIA's. */
static const struct words_step steps[] = {
    {"sync_loop",
     "Move the sync outside the loop or capture the loop body into a CUDA graph (replay amortizes "
     "launch overhead)."},
    {"memory_alloc_loop",
     "Allocate once before the loop, and reuse the memory. Or use cudaMallocAsync and "
     "cudaFreeAsync, with the release threshold of their pool raised: by default a wait gives its "
     "memory back."},
    {"pageable_copies",
     "Keep on the GPU what does not change, and copy the rest from pinned memory without blocking. "
     "CUDA: cudaMallocHost and cudaMemcpyAsync; PyTorch: pin_memory() or a DataLoader's "
     "pin_memory=True, and non_blocking=True."},
    {"gpu_failing",
     "Look for Xid in the kernel's log (dmesg). XID 13, 31, 43 and 45 come mostly from programs; "
     "after others, and memory errors, take the GPU out of use and test it."},
    {"launch_storm",
     "Capture the repeated launches into a CUDA graph, or fuse the kernels. PyTorch: "
     "torch.compile(mode=\"reduce-overhead\"), or torch.cuda.graph; JAX: jax.jit around the step."},
    {"spills",
     "Let the compiler use more registers (__launch_bounds__, -maxrregcount). Or index arrays of a "
     "thread by constants only; -Xptxas -v shows what is spilled."},
    {"throttle_power", "Raise the power limit (as root: nvidia-smi -pl), or expect that speed."},
    {"clocks_held",
     "Take back what holds the clocks down (nvidia-smi -rac, -rgc), or expect that speed. A "
     "slowdown by hardware comes from heat or from the power supply."},
    {NULL, NULL},
};

const struct words words_nvidia = {
    .arch = "sm_",
    .ptx = true,
    .tf32 = true,
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
    .empty_cache = WORDS_EMPTY_CACHE
    " Where memory runs out without it, try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    .api = "cuda",
    .alone = "Measure the program alone, or give each process a GPU of its own "
             "(CUDA_VISIBLE_DEVICES).",
    .pinned_back = WORDS_PINNED_BACK("CUDA: cudaMallocHost and cudaMemcpyAsync"),
    .context = "context",
    .wait_all = "ContextSynchronize",
    .waits_all = "context synchronizations",
    .throttle_slow = "hardware slowdown",
    .throttle_heat = "too hot (software)",
    .throttle_hot = "too hot (hardware)",
    .load_next = "Load all code before the loop: run each kernel once first. Or set "
                 "CUDA_MODULE_LOADING=EAGER; by default a kernel is loaded at its first launch.",
    .steps = steps,
};

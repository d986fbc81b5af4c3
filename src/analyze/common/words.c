/* words.c - see words.h. */
#include "analyze/common/words.h"

#include <string.h>

static const struct {
    const char *arch; /* begins with it */
    struct words words;
} all[] = {
    {"gfx",
     {.listing = "source and ISA",
      .warps = "wavefronts",
      .warp = "wavefront",
      .sms = "CUs",
      .an_sm = "a compute unit",
      .blocks = "workgroups",
      .shared = "LDS",
      .graphs = "HIP graphs",
      .local = "Scratch memory",
      .clock = "GPU clock",
      .api = "hip",
      .load_next = "Load all code before the loop: run each kernel once first. Or set "
                   "HIP_ENABLE_DEFERRED_LOADING=0; by default a kernel is loaded at its first "
                   "launch."}},
    {"",
     {.ptx = true,
      .listing = "source and SASS",
      .warps = "warps",
      .warp = "warp",
      .sms = "SMs",
      .an_sm = "an SM",
      .blocks = "blocks",
      .shared = "shared mem.",
      .graphs = "CUDA graphs",
      .local = "Local memory",
      .clock = "SM clock",
      .api = "cuda",
      .load_next =
          "Load all code before the loop: run each kernel once first. Or set "
          "CUDA_MODULE_LOADING=EAGER; by default a kernel is loaded at its first launch."}},
};

const struct words *words_of(const char *arch)
{
    size_t i = 0;
    while (strncmp(arch, all[i].arch, strlen(all[i].arch)) != 0)
        i++;
    return &all[i].words;
}

const char *words_next(const struct words *w, const char *rule)
{
    static const struct {
        const char *rule, *next;
    } amd[] = {
        {"sync_loop", "Move the sync outside the loop or capture the loop body into a HIP graph "
                      "(replay amortizes launch overhead)."},
        {"memory_alloc_loop", "Allocate once before the loop, and reuse the memory. Or use "
                              "hipMallocAsync and hipFreeAsync, with the release threshold of "
                              "their pool raised: by default a wait gives its memory back."},
        {"pageable_copies",
         "Copy from pinned memory, with a call that does not block. HIP: hipHostMalloc and "
         "hipMemcpyAsync; PyTorch: pin_memory=True and non_blocking=True."},
        {"launch_storm",
         "Capture the repeated launches into a HIP graph, or fuse the kernels. PyTorch: "
         "torch.compile(mode=\"reduce-overhead\"), or torch.cuda.graph."},
        {"spills",
         "Let the compiler use more registers (__launch_bounds__). Or index arrays of a thread by "
         "constants only; -Rpass-analysis=kernel-resource-usage shows what is spilled."},
    };
    for (size_t i = 0; !w->ptx && i < sizeof amd / sizeof *amd; i++)
        if (strcmp(amd[i].rule, rule) == 0)
            return amd[i].next;
    return NULL;
}

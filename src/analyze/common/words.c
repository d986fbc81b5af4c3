/* words.c - see words.h. The words of one vendor's GPUs are in the vendor's folder. */
#include "analyze/common/words.h"

#include "backend/vendor.h"

#include <string.h>
#include <strings.h>

/* The words are for texts about GPUs of several vendors. */
static const struct words several = {
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
    .empty_cache = WORDS_EMPTY_CACHE " Where memory of NVIDIA's GPUs runs out without it, try "
                                     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    .api = "cuda/hip",
    .alone = "Measure the program alone, or give each process a GPU of its own "
             "(CUDA_VISIBLE_DEVICES; AMD: HIP_VISIBLE_DEVICES, or ROCR_VISIBLE_DEVICES).",
    .pinned_back =
        WORDS_PINNED_BACK("CUDA: cudaMallocHost and cudaMemcpyAsync; HIP: hipHostMalloc and "
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

/* Returns the words of the first vendor that has any. */
static const struct words *standard(void)
{
    const struct words *first = NULL;
    for (const struct vendor *const *v = vendors; *v && !first; v++)
        first = (*v)->words;
    return first;
}

const struct words *words_of(const char *arch)
{
    for (const struct vendor *const *v = vendors; *v; v++) {
        const struct words *w = (*v)->words;
        if (w && strncmp(arch, w->arch, strlen(w->arch)) == 0)
            return w;
    }
    return standard();
}

const struct words *words_of_device(const char *vendor, const char *arch)
{
    for (const struct vendor *const *v = vendors; *v; v++)
        if ((*v)->words && !strcasecmp(vendor, (*v)->name))
            return (*v)->words;
    return *arch ? words_of(arch) : NULL;
}

const struct words *words_join(const struct words *a, const struct words *b)
{
    return !a || a == b ? b : &several;
}

const char *words_next(const struct words *w, const char *rule)
{
    for (const struct words_step *s = w->steps; s && s->rule; s++)
        if (strcmp(s->rule, rule) == 0)
            return s->next;
    return NULL;
}

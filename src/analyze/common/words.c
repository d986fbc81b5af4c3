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
      .sm = "CU",
      .sms = "CUs",
      .sm_long = "a compute unit",
      .blocks = "workgroups",
      .shared = "LDS",
      .graph = "HIP graph",
      .clock = "GPU clock"}},
    {"",
     {.ptx = true,
      .listing = "source and SASS",
      .warps = "warps",
      .warp = "warp",
      .sm = "SM",
      .sms = "SMs",
      .sm_long = "an SM",
      .blocks = "blocks",
      .shared = "shared mem.",
      .graph = "CUDA graph",
      .clock = "SM clock"}},
};

const struct words *words_of(const char *arch)
{
    size_t i = 0;
    while (strncmp(arch, all[i].arch, strlen(all[i].arch)) != 0)
        i++;
    return &all[i].words;
}

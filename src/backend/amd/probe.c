/* probe.c - facts about AMD's driver here, each with what to do where it does not work.
 *
 * Files tell whether the kernel driver is there, so that no library is loaded where there is
 * none: ROCm SMI prints to the terminal then. */
#include "backend/amd/probe.h"

#include "base/file/file.h"

#include <stdio.h>

extern const struct vendor vendor_amd;

void amd_probe(struct probe *out)
{
    bool here = amd_usable();
    *out = (struct probe){.usable = here, .fact_count = 1};
    struct probe_fact *f = &out->facts[0];
    f->works = here;
    snprintf(f->name, sizeof f->name, "AMD driver");
    snprintf(f->value, sizeof f->value, "%s",
             here ? "loaded; the backend Amd is " AMD_UNVERIFIED : "not loaded");
    if (!here)
        snprintf(f->advice, sizeof f->advice, "%s", vendor_amd.no_device);
}

bool amd_usable(void)
{
    return file_exists("/dev/kfd");
}

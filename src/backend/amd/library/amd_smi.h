/* amd_smi.h - opens AMD SMI once, and shares it: ROCm SMI's successor, which ROCm 6.4 and newer
 * have. The library does not count its users. Functions may be called from any thread between get
 * and put. */
#ifndef GPUFL_BACKEND_AMD_LIBRARY_AMD_SMI_H
#define GPUFL_BACKEND_AMD_LIBRARY_AMD_SMI_H

#include "backend/amd/abi/amd_smi.h"
#include "backend/amd/library/library.h"

struct amdsmi { /* functions by name; those that are not required may be NULL */
#define AMDSMI_MEMBER(required, name, arguments) int(*name) arguments;
    AMDSMI_FUNCTIONS(AMDSMI_MEMBER)
#undef AMDSMI_MEMBER
};

extern struct amd_library amdsmi_library;
extern const struct amdsmi *const amdsmi; /* filled once amdsmi_library is loaded */

/* Returns the library's text for a result; "error" if it has none. */
const char *amdsmi_text(int result);

#endif

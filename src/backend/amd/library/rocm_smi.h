/* rocm_smi.h - opens ROCm SMI once, and shares it: for ROCm 5 to 6.3, and where AMD SMI is not
 * installed. The library counts its users itself. Functions may be called from any thread between
 * get and put. */
#ifndef GPUFL_BACKEND_AMD_LIBRARY_ROCM_SMI_H
#define GPUFL_BACKEND_AMD_LIBRARY_ROCM_SMI_H

#include "backend/amd/abi/rocm_smi.h"
#include "backend/amd/library/library.h"

struct rsmi { /* functions by name; those that are not required may be NULL */
#define RSMI_MEMBER(required, name, arguments) int(*name) arguments;
    RSMI_FUNCTIONS(RSMI_MEMBER)
#undef RSMI_MEMBER
};

extern struct amd_library rsmi_library;
extern const struct rsmi *const rsmi; /* filled once rsmi_library is loaded */

/* Returns the library's text for a result; "error" if it has none. */
const char *rsmi_text(int result);

#endif

/* rocm_smi.c - opens librocm_smi64, and explains its errors to the user. */
#include "backend/amd/library/rocm_smi.h"

#include <stddef.h>

/* Lists the libraries of ROCm, newest first, then those of Debian and Fedora. */
static const char *const candidates[] = {
    "librocm_smi64.so.7",
    "librocm_smi64.so.6",
    "librocm_smi64.so.5",
    "librocm_smi64.so.1",
    "/opt/rocm/lib/librocm_smi64.so",
    NULL,
};

static const struct dl_symbol symbols[] = {
#define RSMI_SYMBOL(required, name, arguments) {#name, offsetof(struct rsmi, name), required},
    RSMI_FUNCTIONS(RSMI_SYMBOL)
#undef RSMI_SYMBOL
};

static struct rsmi table;
const struct rsmi *const rsmi = &table;

const char *rsmi_text(int result)
{
    const char *text = NULL;
    if (!table.rsmi_status_string || table.rsmi_status_string(result, &text) != RSMI_OK || !text)
        return "error";
    return text;
}

static int begin(struct err *e)
{
    int result = table.rsmi_init(RSMI_INIT_OWN_LOCKS);
    if (result == RSMI_OK)
        return 0;
    if (result == RSMI_E_PERMISSION)
        return err_set_vendor(e, GPUFL_E_PERM, 0,
                              "ROCm SMI may not read what the kernel driver amdgpu shows: add the "
                              "user to the groups render and video and log in again");
    if (result == RSMI_E_INIT)
        return amd_library_no_gpu(&rsmi_library, result, e);
    return err_set_vendor(e, GPUFL_E_VENDOR, result,
                          "ROCm SMI cannot be initialized (error %d: %.160s): see dmesg, and check "
                          "with rocm-smi",
                          result, rsmi_text(result));
}

static void end(void)
{
    table.rsmi_shut_down();
}

struct amd_library rsmi_library = {
    .name = "ROCm SMI",
    .prefix = "librocm_smi64.so",
    .candidates = candidates,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .table = &table,
    .begin = begin,
    .end = end,
    .counts = true,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

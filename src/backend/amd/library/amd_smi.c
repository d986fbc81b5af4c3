/* amd_smi.c - opens libamd_smi, and explains its errors to the user. */
#include "backend/amd/library/amd_smi.h"

#include <stddef.h>

static const char *const candidates[] = {
    "libamd_smi.so.27",
    "libamd_smi.so.26",
    "libamd_smi.so.25",
    "libamd_smi.so.24",
    "libamd_smi.so.23",
    "libamd_smi.so",
    "/opt/rocm/lib/libamd_smi.so",
    NULL,
};

static const struct dl_symbol symbols[] = {
#define AMDSMI_SYMBOL(required, name, arguments) {#name, offsetof(struct amdsmi, name), required},
    AMDSMI_FUNCTIONS(AMDSMI_SYMBOL)
#undef AMDSMI_SYMBOL
};

static struct amdsmi table;
const struct amdsmi *const amdsmi = &table;

const char *amdsmi_text(int result)
{
    const char *text = NULL;
    if (!table.amdsmi_status_code_to_string ||
        table.amdsmi_status_code_to_string(result, &text) != AMDSMI_OK || !text)
        return "error";
    return text;
}

static int begin(struct err *e)
{
    int result = table.amdsmi_init(AMDSMI_GPUS);
    if (result == AMDSMI_OK)
        return 0;
    if (result == AMDSMI_E_NO_PERMISSION)
        return err_set_vendor(e, GPUFL_E_PERM, 0,
                              "AMD SMI may not open the GPUs' devices (/dev/dri): add the user to "
                              "the groups render and video and log in again, or give the container "
                              "--group-add with the number of the group render");
    if (result == AMDSMI_E_DRIVER_NOT_LOADED || result == AMDSMI_E_NOT_FOUND)
        return amd_library_no_gpu(&amdsmi_library, result, e);
    return err_set_vendor(e, GPUFL_E_VENDOR, result,
                          "AMD SMI cannot be initialized (error %d: %.160s): see dmesg, and check "
                          "with amd-smi",
                          result, amdsmi_text(result));
}

static void end(void)
{
    table.amdsmi_shut_down();
}

struct amd_library amdsmi_library = {
    .name = "AMD SMI",
    .prefix = "libamd_smi.so",
    .candidates = candidates,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .table = &table,
    .begin = begin,
    .end = end,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* vendor.c - has facts about AMD that do not come from ROCm's libraries: see backend/vendor.h. */
#include "backend/vendor.h"

#include "backend/amd/find.h"

extern const struct vendor vendor_amd;
extern const struct words words_amd;

static const char *const devices[] = {"/dev/kfd", NULL};

static const struct vendor_module modules[] = {
    {"libhsa-runtime64", ".", false}, {"libhsakmt", ".", false},
    {"libdrm_amdgpu", ".", false},    {"libamd_comgr", ".-", false},
    {"librocprofiler", "-.6", false}, /* -sdk, -register and its predecessors */
    {"libroctracer64", ".", false},   {"librocm_smi64", ".", false},
    {"libamd_smi", ".", false},       {"libamdhip64", ".-", true}, /* "-": of Python wheels */
    {"libhiprtc", ".-", true},        {NULL, NULL, false},
};

static const struct vendor_rule rules[] = {
    /* Inlined functions of the runtime's headers, and functions that hipcc generates: to launch a
     * kernel, and to register code. */
    {VENDOR_FILE, VENDOR_HAS, "/include/hip/", true, false},
    {VENDOR_FUNCTION, VENDOR_HAS, "__device_stub__", true, false},
    {VENDOR_FUNCTION, VENDOR_BEGINS, "__hip", true, true},
    {VENDOR_FUNCTION, VENDOR_API, "hip", true, true},
    {VENDOR_FUNCTION, VENDOR_BEGINS, "hsa_", true, true},

    /* Libraries by the folder of their installation, and their headers. */
    {VENDOR_MODULE, VENDOR_BEGINS, "/opt/rocm", false, false},
    {VENDOR_FILE, VENDOR_HAS, "/include/rocprim/", false, false},
    {VENDOR_FILE, VENDOR_HAS, "/include/hipcub/", false, false},
    {VENDOR_FILE, VENDOR_HAS, NULL, false, false},
};

static const char *const homes[] = {"ROCM_PATH", NULL};

const struct vendor vendor_amd = {
    .name = "amd",
    .runtime = "HIP",
    .injection = "ROCP_TOOL_LIBRARIES",
    .injection_library = "libgpufl-rocprofiler.so",
    .injection_find = amd_find_sdk,
    .injection_host = "ROCPROFILER_REGISTER_LIBRARY",
    .sampling_switch = "ROCPROFILER_PC_SAMPLING_BETA_ENABLED",
    .no_driver = AMD_NO_SDK,
    .ranges = "roctx",
    .lost = "look for messages of amdgpu in dmesg",
    .devices = devices,
    .no_device = "there is no device of AMD's here (/dev/kfd is missing): load the kernel module "
                 "amdgpu, or start the container with --device /dev/kfd --device /dev/dri",
    .words = &words_amd,
    .modules = modules,
    .rules = rules,
    .disassembler =
        {.code = VENDOR_CODE_AMDGPU,
         .ending = ".hsaco",
         .program = "llvm-objdump",
         .variable = "GPUFL_LLVM_OBJDUMP",
         .homes = homes,
         .toolkits = "/opt/rocm*",
         .folder = "/llvm/bin",
         .versions = true,
         .missing = "llvm-objdump was not found, so that device code has lines at most, and no "
                    "instructions: install ROCm's rocm-llvm or Debian's llvm-16, or set "
                    "GPUFL_LLVM_OBJDUMP to the path of llvm-objdump",
         .advice =
             "it is damaged, or this llvm-objdump is too old for its GPU: install a newer one "
             "(ROCm's rocm-llvm, or Debian's llvm-16), or set GPUFL_LLVM_OBJDUMP"},
};

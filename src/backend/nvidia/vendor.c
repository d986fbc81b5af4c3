/* vendor.c - has facts about NVIDIA that do not come from CUPTI, NVML or the driver: see
 * backend/vendor.h. */
#include "backend/vendor.h"

extern const struct vendor vendor_nvidia;
extern const struct words words_nvidia;

static const char *const devices[] = {"/dev/nvidiactl", "/dev/dxg", NULL};

static const struct vendor_module modules[] = {
    {"libcuda", ".", false},
    {"libcupti", ".-", false},
    {"libnvperf", "_", false},
    {"libnvidia", "-", false},
    {"libcudadebugger", ".", false},
    {"libcudart", ".-", true}, /* "-": of Python wheels */
    {NULL, NULL, false},
};

static const struct vendor_rule rules[] = {
    /* The runtime, if it is linked into the program (without debug information); inlined functions
     * of its headers, and functions that nvcc generates: stubs of kernels, and registration. */
    {VENDOR_FILE, VENDOR_HAS, "/cuda_runtime", true, false},
    {VENDOR_FILE, VENDOR_HAS, "/crt/host_runtime.h", true, false},
    {VENDOR_FILE, VENDOR_HAS, "tmpxft_", true, false},
    {VENDOR_FILE, VENDOR_HAS, ".cudafe1.", true, false},
    {VENDOR_FUNCTION, VENDOR_HAS, "__device_stub__", true, false},
    {VENDOR_FUNCTION, VENDOR_HAS, "__wrapper__device_stub_", true, false},
    {VENDOR_FUNCTION, VENDOR_BEGINS, "__cuda", true, true},
    {VENDOR_FUNCTION, VENDOR_API, "cuda", true, true},
    {VENDOR_FUNCTION, VENDOR_BEGINS, "_ZN6cudart", true, true},
    {VENDOR_FUNCTION, VENDOR_BEGINS, "cudart::", true, true},
    {VENDOR_FUNCTION, VENDOR_BEGINS, "libcudart_static_", true, true},

    /* Libraries by the folder of their installation, and their headers. */
    {VENDOR_MODULE, VENDOR_BEGINS, "/usr/local/cuda", false, false},
    {VENDOR_MODULE, VENDOR_BEGINS, "/opt/cuda", false, false},
    {VENDOR_FILE, VENDOR_HAS, "/include/thrust/", false, false},
    {VENDOR_FILE, VENDOR_HAS, "/include/cub/", false, false},
    {VENDOR_FILE, VENDOR_HAS, "/include/cuda/", false, false},
    {VENDOR_FILE, VENDOR_HAS, "/targets/x86_64-linux/include/", false, false},
    {VENDOR_FILE, VENDOR_HAS, "/targets/sbsa-linux/include/", false, false},
    {VENDOR_FILE, VENDOR_HAS, NULL, false, false},
};

static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH", NULL};

/* Registers are given to warps in units of 256. GP100, with two partitions, is treated like its
  * siblings with four. Shared memory is given in units of 128 bytes (256 before sm_80), and from
  * sm_80 on the driver adds 1 KiB to each block. */
static void occupancy(int64_t compute_major, int64_t compute_minor, struct occupancy_units *out)
{
    bool gp100 = compute_major == 6 && compute_minor == 0;
    *out = (struct occupancy_units){
        .threads_most = 1024,
        .registers_most = compute_major >= 7 ? 256 : 255,
        .register_unit = 256,
        .partitions = gp100 ? 2 : 4,
        .partitions_strict = 4,
        .shared_unit = compute_major >= 8 ? 128 : 256,
        .shared_reserved = compute_major >= 8,
    };
}

const struct vendor vendor_nvidia = {
    .name = "nvidia",
    .runtime = "CUDA",
    .injection = "CUDA_INJECTION64_PATH",
    .injection_ranges = "NVTX_INJECTION64_PATH",
    .driver = "libcuda.so.1",
    .driver_folders = "/usr/lib/wsl/lib:/usr/local/cuda/compat:/usr/local/nvidia/lib64",
    .no_driver = "there is no NVIDIA driver here (libcuda.so.1 does not load), so no program can "
                 "use a GPU; install it, or in a container start that with --gpus all",
    .ranges = "nvtx",
    .lost = "look for Xid messages in dmesg",
    .devices = devices,
    .no_device = "the NVIDIA driver's library is here but no device (/dev/nvidiactl is missing): "
                 "load the kernel module, or start the container with --gpus all",
    .words = &words_nvidia,
    .modules = modules,
    .rules = rules,
    .disassembler = {.code = VENDOR_CODE_CUBIN,
                     .ending = ".cubin",
                     .program = "nvdisasm",
                     .variable = "GPUFL_NVDISASM",
                     .homes = homes,
                     .toolkits = "/usr/local/cuda*",
                     .folder = "/bin",
                     .missing =
                         "nvdisasm was not found, so that device code has lines at most, and no "
                         "instructions: install the CUDA toolkit (cuda-nvdisasm), or set "
                         "GPUFL_NVDISASM to the path of nvdisasm",
                     .advice = "it is damaged, or of a newer device than nvdisasm knows"},
    .occupancy = occupancy,
};

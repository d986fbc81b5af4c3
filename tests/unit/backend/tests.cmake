# The vendors' headers are looked for only to check our declarations against them.
file(GLOB cuda_roots LIST_DIRECTORIES true /usr/local/cuda /usr/local/cuda-*)
foreach(header cupti nvml)
  string(TOUPPER ${header} upper)
  find_path(GPUFL_${upper}_INCLUDE ${header}.h
    HINTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} ${cuda_roots}
    PATH_SUFFIXES include extras/CUPTI/include)
  gpufl_test(abi_${header})
  if(GPUFL_${upper}_INCLUDE)
    target_compile_definitions(test-unit-backend-abi_${header} PRIVATE GPUFL_HAVE_${upper}_H)
    target_include_directories(test-unit-backend-abi_${header} SYSTEM PRIVATE ${GPUFL_${upper}_INCLUDE})
  endif()
endforeach()

# Debian has ROCm SMI's header and library, AMD SMI's come with ROCm alone.
find_path(GPUFL_ROCM_SMI_INCLUDE rocm_smi/rocm_smi.h HINTS /opt/rocm/include)
find_library(GPUFL_ROCM_SMI_LIBRARY rocm_smi64 HINTS /opt/rocm/lib)
find_path(GPUFL_AMD_SMI_INCLUDE amd_smi/amdsmi.h HINTS /opt/rocm/include)
gpufl_test(abi_rocm_smi DEPS backend)
gpufl_test(abi_amd_smi)
# rocprofiler-sdk's headers need HIP's and HSA's of the same release.
find_path(GPUFL_ROCPROFILER_INCLUDE rocprofiler-sdk/rocprofiler.h HINTS /opt/rocm/include)
gpufl_test(abi_rocprofiler)
if(GPUFL_ROCPROFILER_INCLUDE)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${GPUFL_ROCPROFILER_INCLUDE})
  set(CMAKE_REQUIRED_DEFINITIONS -D__HIP_PLATFORM_AMD__)
  check_c_source_compiles("#include <rocprofiler-sdk/rocprofiler.h>\nint main(void) { return 0; }" GPUFL_ROCPROFILER_COMPILES)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
endif()
if(GPUFL_ROCPROFILER_COMPILES)
  target_compile_definitions(test-unit-backend-abi_rocprofiler PRIVATE GPUFL_HAVE_ROCPROFILER_H __HIP_PLATFORM_AMD__)
  target_include_directories(test-unit-backend-abi_rocprofiler SYSTEM PRIVATE ${GPUFL_ROCPROFILER_INCLUDE})
endif()
# HIP's own header says where arguments are, which rocprofiler-sdk hands over.
find_path(GPUFL_HIP_INCLUDE hip/hip_runtime_api.h HINTS /opt/rocm/include)
set(hip_include ${GPUFL_HIP_INCLUDE})
if(NOT hip_include)
  set(hip_include "")
endif()
if(Python3_FOUND)
  add_test(NAME unit.backend.abi_hip COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_abi_hip.py
    ${CMAKE_C_COMPILER} "${hip_include}" ${PROJECT_SOURCE_DIR})
  set_tests_properties(unit.backend.abi_hip PROPERTIES TIMEOUT 60 LABELS unit SKIP_RETURN_CODE 77)
endif()
if(GPUFL_ROCM_SMI_INCLUDE AND GPUFL_ROCM_SMI_LIBRARY)
  target_compile_definitions(test-unit-backend-abi_rocm_smi PRIVATE GPUFL_HAVE_ROCM_SMI_H
    GPUFL_ROCM_SMI_LIBRARY="${GPUFL_ROCM_SMI_LIBRARY}")
  target_include_directories(test-unit-backend-abi_rocm_smi SYSTEM PRIVATE ${GPUFL_ROCM_SMI_INCLUDE})
endif()
if(GPUFL_AMD_SMI_INCLUDE)
  target_compile_definitions(test-unit-backend-abi_amd_smi PRIVATE GPUFL_HAVE_AMD_SMI_H)
  target_include_directories(test-unit-backend-abi_amd_smi SYSTEM PRIVATE ${GPUFL_AMD_SMI_INCLUDE})
endif()

# In C++, as one of the headers that it checks.
add_executable(test-unit-backend-abi_profiler ${CMAKE_CURRENT_LIST_DIR}/test_abi_profiler.cpp)
set_target_properties(test-unit-backend-abi_profiler PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
if(GPUFL_CUPTI_INCLUDE)
  target_compile_definitions(test-unit-backend-abi_profiler PRIVATE GPUFL_HAVE_CUPTI_H)
  target_include_directories(test-unit-backend-abi_profiler SYSTEM PRIVATE ${GPUFL_CUPTI_INCLUDE})
endif()
add_test(NAME unit.backend.abi_profiler COMMAND test-unit-backend-abi_profiler)
set_tests_properties(unit.backend.abi_profiler PROPERTIES TIMEOUT 60 LABELS unit SKIP_RETURN_CODE 77)

foreach(name registry amd_counter_sets amd_counting amd_objects amd_occupancy amd_sampling code_copies nvidia_buffers nvidia_devices nvidia_device_watch nvidia_driver_gate nvidia_graphs nvidia_detach nvidia_launches nvidia_local_memory
        nvidia_nvml nvidia_metric_sets nvidia_own_kernels nvidia_range_pick nvidia_pc_tally nvidia_pm_clock nvidia_pm_device nvidia_records nvidia_sass_gate nvidia_earlier_calls
        nvidia_sass_tally nvidia_search
        nvidia_waits)
  gpufl_test(${name} DEPS backend)
endforeach()
add_dependencies(test-unit-backend-nvidia_local_memory fake-cuda)
foreach(name amd_devices amd_driver)
  gpufl_test(${name} DEPS backend)
  target_compile_definitions(test-unit-backend-${name} PRIVATE FAKES="${PROJECT_BINARY_DIR}/fake")
  add_dependencies(test-unit-backend-${name} fake-amd)
endforeach()

# And one with another vendor in NVIDIA's place, whose GPUs a test puts in.
gpufl_test(amd_session DEPS capture symbol
  SOURCES ${PROJECT_SOURCE_DIR}/src/backend/registry.c ${PROJECT_SOURCE_DIR}/src/backend/vendors.c)
target_compile_definitions(test-unit-backend-amd_session PRIVATE FAKES="${PROJECT_BINARY_DIR}/fake"
  GPUFL_BACKENDS_DEF="tests/unit/backend/other_backends.def")
add_dependencies(test-unit-backend-amd_session fake-amd)

# A build with one more vendor: the registry and the facts are compiled with its rows.
gpufl_test(toy_vendor DEPS capture symbol
  SOURCES toy/toy.c toy/vendor.c
    ${PROJECT_SOURCE_DIR}/src/backend/registry.c ${PROJECT_SOURCE_DIR}/src/backend/vendors.c)
target_compile_definitions(test-unit-backend-toy_vendor PRIVATE GPUFL_BACKENDS_DEF="tests/unit/backend/toy/backends.def")

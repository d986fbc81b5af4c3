# CUDA programs (examples and benchmarks) are built if a CUDA toolkit is found.
# nvcc is called directly, without CMake's CUDA language, so that machines without
# a toolkit configure the same project.
#
# gpufl_cuda_program(NAME SOURCE file.cu [SHARED_CUDART] [DRIVER] [HOPPER] [LIBRARIES gpufl-lib ...])
# DRIVER links the driver's library as well, which the toolkit has for linking. HOPPER compiles the program's code for compute_90 only.

find_program(GPUFL_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
# Each virtual architecture is compiled separately, and takes as long as the host's code.
set(GPUFL_CUDA_ARCH "" CACHE STRING "nvcc's -arch: all-major, sm_80, ...; empty: the GPU's own, or sm_90 and PTX for all")
if(GPUFL_CUDA_ARCH)
  set(gpufl_nvcc_arch -arch=${GPUFL_CUDA_ARCH})
elseif(EXISTS /dev/nvidiactl)
  set(gpufl_nvcc_arch -arch=native)
else()
  set(gpufl_nvcc_arch -gencode "arch=compute_75,code=[compute_75,sm_90]")
  set(gpufl_nvcc_hopper -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90)
endif()
if(NOT gpufl_nvcc_hopper)
  set(gpufl_nvcc_hopper ${gpufl_nvcc_arch})
endif()
set(gpufl_nvcc_flags -O2 -g -std=c++17 -lineinfo) # -g: lines of host code

# A toolkit that does not work with this system's compiler must not break the whole build.
if(GPUFL_NVCC AND NOT GPUFL_SANITIZE AND (GPUFL_NVCC_PROBLEM OR NOT GPUFL_NVCC_TRIED STREQUAL GPUFL_NVCC))
  set(GPUFL_NVCC_TRIED ${GPUFL_NVCC} CACHE INTERNAL "the nvcc that was tried")
  file(WRITE ${PROJECT_BINARY_DIR}/try_nvcc.cu "#include <vector>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
  execute_process(COMMAND ${GPUFL_NVCC} ${gpufl_nvcc_flags} ${gpufl_nvcc_arch} ${PROJECT_BINARY_DIR}/try_nvcc.cu
                          -o ${PROJECT_BINARY_DIR}/try_nvcc
                  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "\n.*" "" said "${said}")
  set(GPUFL_NVCC_PROBLEM "" CACHE INTERNAL "why that nvcc is not used")
  if(NOT code EQUAL 0)
    set(GPUFL_NVCC_PROBLEM "${said} " CACHE INTERNAL "why that nvcc is not used")
  endif()
endif()

if(GPUFL_NVCC AND GPUFL_NVCC_PROBLEM)
  message(STATUS "CUDA programs: skipped, ${GPUFL_NVCC} fails: ${GPUFL_NVCC_PROBLEM}")
elseif(GPUFL_NVCC)
  message(STATUS "CUDA programs: built with ${GPUFL_NVCC}")
else()
  message(STATUS "CUDA programs: skipped, no nvcc")
endif()

# The headers that the programs include, in place of dependencies from nvcc.
set(gpufl_cuda_headers ${PROJECT_SOURCE_DIR}/include/gpufl/gpufl.h ${PROJECT_SOURCE_DIR}/include/gpufl/gpufl.hpp
                       ${PROJECT_SOURCE_DIR}/bench/overhead/cuda_check.hpp ${PROJECT_SOURCE_DIR}/bench/overhead/cupti_attach.hpp
                       ${PROJECT_SOURCE_DIR}/src/backend/nvidia/abi/cupti.h ${PROJECT_SOURCE_DIR}/src/backend/nvidia/abi/cupti_calls.h
                       ${PROJECT_SOURCE_DIR}/src/backend/nvidia/abi/sass.h)

function(gpufl_cuda_program name)
  cmake_parse_arguments(P "SHARED_CUDART;DRIVER;HOPPER" "SOURCE" "LIBRARIES" ${ARGN})
  if(NOT GPUFL_NVCC OR GPUFL_NVCC_PROBLEM OR GPUFL_SANITIZE)
    return()
  endif()
  set(output ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  set(links)
  set(depends)
  foreach(library ${P_LIBRARIES})
    if(NOT TARGET ${library})
      return()
    endif()
    list(APPEND links $<TARGET_LINKER_FILE:${library}>)
    list(APPEND depends ${library})
  endforeach()
  if(P_DRIVER)
    list(APPEND links -lcuda)
  endif()
  set(arch ${gpufl_nvcc_arch})
  if(P_HOPPER)
    set(arch ${gpufl_nvcc_hopper})
  endif()
  if(P_SHARED_CUDART)
    set(cudart shared)
  else()
    set(cudart static)
  endif()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${GPUFL_NVCC} ${gpufl_nvcc_flags} ${arch} -cudart ${cudart}
            -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}
            ${CMAKE_CURRENT_SOURCE_DIR}/${P_SOURCE} -o ${output}
            ${links} -Xlinker "-rpath,\$ORIGIN/../lib"
    DEPENDS ${P_SOURCE} ${depends} ${gpufl_cuda_headers}
    COMMENT "nvcc ${name}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${output})
endfunction()

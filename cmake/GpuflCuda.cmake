# CUDA programs (examples and benchmarks), built where a CUDA toolkit is found.
# nvcc is called directly: no CUDA language in CMake, so that machines without a
# toolkit configure the same project.
#
# gpufl_cuda_program(NAME SOURCE file.cu [SHARED_CUDART] [DRIVER] [LIBRARIES gpufl ...])
# DRIVER links libcuda as well, by the toolkit's own stub.

find_program(GPUFL_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(GPUFL_NVCC)
  message(STATUS "CUDA programs: built with ${GPUFL_NVCC}")
else()
  message(STATUS "CUDA programs: skipped, no nvcc")
endif()

# What the programs include; nvcc is not asked for it.
set(gpufl_cuda_headers ${PROJECT_SOURCE_DIR}/include/gpufl/gpufl.h ${PROJECT_SOURCE_DIR}/include/gpufl/gpufl.hpp
                       ${PROJECT_SOURCE_DIR}/bench/overhead/cuda_check.hpp)

function(gpufl_cuda_program name)
  cmake_parse_arguments(P "SHARED_CUDART;DRIVER" "SOURCE" "LIBRARIES" ${ARGN})
  if(NOT GPUFL_NVCC OR GPUFL_SANITIZE)
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
  if(P_SHARED_CUDART)
    set(cudart shared)
  else()
    set(cudart static)
  endif()
  # PTX too, so that newer devices than these run it.
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${GPUFL_NVCC} -O2 -std=c++17 -lineinfo -arch=all-major -cudart ${cudart}
            -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}
            ${CMAKE_CURRENT_SOURCE_DIR}/${P_SOURCE} -o ${output}
            ${links} -Xlinker "-rpath,\$ORIGIN/../lib"
    DEPENDS ${P_SOURCE} ${depends} ${gpufl_cuda_headers}
    COMMENT "nvcc ${name}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${output})
endfunction()

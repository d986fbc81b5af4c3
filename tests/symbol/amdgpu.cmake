# Debian's clang makes real code objects of AMD GPUs, without ROCm. clang-14 knows only gfx90a. If no
# newer one is installed, there are no code objects, and tests say so and skip.
set(amdgpu_dir ${PROJECT_BINARY_DIR}/tests/amdgpu)
file(MAKE_DIRECTORY ${amdgpu_dir})
find_program(amdgpu_clang NAMES clang-20 clang-19 clang-18 clang-17 clang-16 clang-15)
if(amdgpu_clang)
  string(REGEX REPLACE ".*-" "" amdgpu_version ${amdgpu_clang})
  find_program(amdgpu_lld NAMES ld.lld-${amdgpu_version})
endif()
set(amdgpu_objects)
if(amdgpu_clang AND amdgpu_lld)
  set(amdgpu_source ${PROJECT_SOURCE_DIR}/tests/symbol/kernels.hip.c)
  foreach(target gfx90a gfx1100)
    add_custom_command(OUTPUT ${amdgpu_dir}/${target}.hsaco
      COMMAND ${amdgpu_clang} -target amdgcn-amd-amdhsa -mcpu=${target} -nogpulib -O2 -g -c ${amdgpu_source} -o ${target}.o
      COMMAND ${amdgpu_lld} -shared ${target}.o -o ${target}.hsaco
      DEPENDS ${amdgpu_source} WORKING_DIRECTORY ${amdgpu_dir} VERBATIM)
    list(APPEND amdgpu_objects ${amdgpu_dir}/${target}.hsaco)
  endforeach()
endif()
add_custom_target(amdgpu-objects DEPENDS ${amdgpu_objects})

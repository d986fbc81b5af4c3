# Names of kernels.
gpufl_test(demangle DEPS symbol)
gpufl_test(demangle_truth DEPS symbol)
gpufl_test(cubin_lines DEPS symbol)
gpufl_test(disassemble DEPS symbol)
gpufl_test(ptx DEPS symbol)
gpufl_test(amdgpu DEPS symbol)
add_dependencies(test-unit-symbol-amdgpu amdgpu-objects)
gpufl_test(kinds DEPS symbol)
gpufl_test(short_names DEPS symbol)
gpufl_test(shorten DEPS symbol)

# Programs with calls at marked lines, compiled with flags of their own, not those of the build. They
# print the address of each call. symbol_program(NAME LANGUAGE flags...)
set(symbol_dir ${PROJECT_BINARY_DIR}/tests/symbol)
set(symbol_sources ${PROJECT_SOURCE_DIR}/tests/symbol)
file(MAKE_DIRECTORY ${symbol_dir})
add_custom_command(OUTPUT ${symbol_dir}/observe.o
  COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -c ${symbol_sources}/observe.c -o ${symbol_dir}/observe.o
  DEPENDS ${symbol_sources}/observe.c ${symbol_sources}/observe.h VERBATIM)
set(symbol_programs)
function(symbol_program name compiler source)
  set(path ${symbol_sources}/${source})
  if(name MATCHES relative)
    file(RELATIVE_PATH path ${symbol_dir} ${path})
  endif()
  add_custom_command(OUTPUT ${symbol_dir}/${name}
    COMMAND ${compiler} ${ARGN} ${path} ${symbol_dir}/observe.o
            -o ${symbol_dir}/${name}
    DEPENDS ${symbol_sources}/${source} ${symbol_sources}/observe.h ${symbol_dir}/observe.o
    WORKING_DIRECTORY ${symbol_dir} VERBATIM)
  set(symbol_programs ${symbol_programs} ${symbol_dir}/${name} PARENT_SCOPE)
endfunction()

set(cc ${CMAKE_CXX_COMPILER})
symbol_program(c5 ${CMAKE_C_COMPILER} cases.c -O2 -g -gdwarf-5 -fPIE -pie)
symbol_program(c4 ${CMAKE_C_COMPILER} cases.c -O2 -g -gdwarf-4 -fno-pie -no-pie)
symbol_program(c0 ${CMAKE_C_COMPILER} cases.c -O0 -g)
symbol_program(cc5 ${cc} cases.cc -O2 -g -gdwarf-5)
symbol_program(cc4 ${cc} cases.cc -O2 -g -gdwarf-4 -fno-pie -no-pie)
symbol_program(cc-types ${cc} cases.cc -O2 -g -gdwarf-4 -fdebug-types-section)
symbol_program(cc-packed ${cc} cases.cc -O2 -g -gz)
symbol_program(cc-split ${cc} cases.cc -O2 -g -gsplit-dwarf)
symbol_program(cc-split4 ${cc} cases.cc -O2 -g -gdwarf-4 -gsplit-dwarf)
symbol_program(cc-no-id ${cc} cases.cc -O2 -g -Wl,--build-id=none)
symbol_program(cc-relative4 ${cc} cases.cc -O2 -g -gdwarf-4)
symbol_program(cc-relative5 ${cc} cases.cc -O2 -g -gdwarf-5)
symbol_program(cc-cwd4 ${cc} cases.cc -O2 -g -gdwarf-4 -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=/proc/self/cwd)
symbol_program(cc-cwd5 ${cc} cases.cc -O2 -g -gdwarf-5 -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=/proc/self/cwd)
# A program with split debug information that was removed.
function(symbol_split_gone name compiler source)
  add_custom_command(OUTPUT ${symbol_dir}/${name}
    COMMAND ${compiler} ${ARGN} -gsplit-dwarf ${symbol_sources}/${source} ${symbol_dir}/observe.o
            -o ${symbol_dir}/${name}
    COMMAND ${CMAKE_COMMAND} -E rm ${symbol_dir}/${name}-cases.dwo
    DEPENDS ${symbol_sources}/${source} ${symbol_sources}/observe.h ${symbol_dir}/observe.o
    WORKING_DIRECTORY ${symbol_dir} VERBATIM)
  set(symbol_programs ${symbol_programs} ${symbol_dir}/${name} PARENT_SCOPE)
endfunction()
symbol_split_gone(c-gone5 ${CMAKE_C_COMPILER} cases.c -O2 -g -gdwarf-5)
symbol_split_gone(c-gone4 ${CMAKE_C_COMPILER} cases.c -O2 -g -gdwarf-4)
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -flto)
check_cxx_source_compiles("int main() { return 0; }" GPUFL_LTO_WORKS) # not every gcc has its plugin
unset(CMAKE_REQUIRED_FLAGS)
if(GPUFL_LTO_WORKS)
  symbol_program(cc-lto ${cc} cases.cc -O2 -g -flto)
endif()
symbol_program(cc-bare ${cc} cases.cc -O2)
find_program(symbol_clang NAMES clang++ clang++-14)
if(symbol_clang) # clang writes no .debug_aranges
  symbol_program(cc-clang ${symbol_clang} cases.cc -O2 -g)
endif()

# Stripped programs, with and without the file that a link names.
find_program(symbol_objcopy objcopy REQUIRED)
function(symbol_copy name from)
  add_custom_command(OUTPUT ${symbol_dir}/${name}
    COMMAND ${symbol_objcopy} ${ARGN} ${symbol_dir}/${from} ${symbol_dir}/${name}
    DEPENDS ${symbol_dir}/${from} WORKING_DIRECTORY ${symbol_dir} VERBATIM)
  set(symbol_programs ${symbol_programs} ${symbol_dir}/${name} PARENT_SCOPE)
endfunction()
symbol_copy(cc-stripped cc5 --strip-all)
symbol_copy(cc-link.debug cc5 --only-keep-debug)
symbol_copy(cc-no-id.debug cc-no-id --only-keep-debug)
foreach(name cc-link cc-no-id-link)
  string(REGEX REPLACE "-link$" "" from ${name})
  set(debug ${from}.debug)
  if(name STREQUAL cc-link)
    set(from cc5)
    set(debug cc-link.debug)
  endif()
  add_custom_command(OUTPUT ${symbol_dir}/${name}
    COMMAND ${symbol_objcopy} --strip-all --add-gnu-debuglink=${debug} ${from} ${name}
    DEPENDS ${symbol_dir}/${from} ${symbol_dir}/${debug} WORKING_DIRECTORY ${symbol_dir} VERBATIM)
  list(APPEND symbol_programs ${symbol_dir}/${name})
endforeach()

# A stripped program with the small symbol table that some distributions keep: all functions that are not exported.
find_program(symbol_xz xz REQUIRED)
add_custom_command(OUTPUT ${symbol_dir}/cc-small
  COMMAND ${symbol_objcopy} --only-keep-debug --strip-debug cc5 cc-small.symbols
  COMMAND ${symbol_xz} -f -k --check=crc32 cc-small.symbols
  COMMAND ${symbol_objcopy} --strip-all --add-section .gnu_debugdata=cc-small.symbols.xz cc5 cc-small
  DEPENDS ${symbol_dir}/cc5 WORKING_DIRECTORY ${symbol_dir} VERBATIM)
list(APPEND symbol_programs ${symbol_dir}/cc-small)
# Debug sections packed with zstd, if the assembler and linker of this machine can do that.
execute_process(COMMAND ${symbol_objcopy} --help OUTPUT_VARIABLE symbol_help)
if(symbol_help MATCHES "zstd")
  symbol_copy(cc-zstd cc5 --compress-debug-sections=zstd)
endif()
add_custom_target(unit-symbol-programs DEPENDS ${symbol_programs})

foreach(name symbolizer symbolizer_damage)
  gpufl_test(${name} DEPS symbol SOURCES programs.c)
  add_dependencies(test-unit-symbol-${name} unit-symbol-programs)
endforeach()

gpufl_test(sources DEPS symbol)
gpufl_test(fold DEPS symbol)

# Our declarations of libdw against its headers, if they are installed.
gpufl_test(abi_dw DEPS symbol)
find_path(GPUFL_LIBDW_INCLUDE elfutils/libdw.h)
if(GPUFL_LIBDW_INCLUDE)
  target_compile_definitions(test-unit-symbol-abi_dw PRIVATE GPUFL_HAVE_LIBDW_H)
endif()

# Sessions of these programs are symbolized.
foreach(name symbolize symbolize_code symbolize_progress symbolize_ptx symbolize_sources)
  gpufl_test(${name} DEPS analyze)
  add_dependencies(test-unit-symbol-${name} unit-symbol-programs)
endforeach()

# The public headers in plain C11, with each compiler (gpufl.hpp: below).
foreach(compiler gcc clang)
  find_program(GPUFL_C_${compiler} ${compiler})
  if(GPUFL_C_${compiler})
    add_test(NAME unit.capture.headers-${compiler}
      COMMAND ${GPUFL_C_${compiler}} -std=c11 -pedantic-errors -Wall -Wextra -Wshadow
              -Wstrict-prototypes -Wc++-compat -Werror -fsyntax-only
              -I${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_LIST_DIR}/test_headers.c)
    set_tests_properties(unit.capture.headers-${compiler} PROPERTIES TIMEOUT 60 LABELS unit)
  endif()
endforeach()

# The session log on disk.
gpufl_test(dict DEPS capture)
gpufl_test(part DEPS capture)
gpufl_test(spool DEPS capture)
gpufl_test(compressor DEPS capture)
gpufl_test(writer DEPS capture)
gpufl_test(writer_limits DEPS capture)
gpufl_test(writer_peer DEPS capture)

# The session around it.
gpufl_test(options DEPS capture)
gpufl_test(precedence DEPS capture)
gpufl_test(remote_options DEPS capture)
gpufl_test(joins DEPS capture)
gpufl_test(pace DEPS capture)
gpufl_test(standing DEPS capture)
gpufl_test(launch_rule DEPS capture)
gpufl_test(turns DEPS capture)
gpufl_test(inherit DEPS capture)
gpufl_test(stacking DEPS capture)
gpufl_test(folders DEPS capture)
gpufl_test(keep DEPS capture symbol)
add_dependencies(test-unit-capture-keep unit-stack-one unit-stack-two unit-stack-none unit-symbol-programs)
gpufl_test(occupancy DEPS capture)
find_path(GPUFL_CUDA_OCCUPANCY cuda_occupancy.h
  HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include)
if(GPUFL_CUDA_OCCUPANCY)
  target_compile_definitions(test-unit-capture-occupancy PRIVATE HAVE_CUDA_OCCUPANCY)
  target_include_directories(test-unit-capture-occupancy SYSTEM PRIVATE ${GPUFL_CUDA_OCCUPANCY})
endif()
gpufl_test(session DEPS capture)
gpufl_test(spans DEPS capture)
gpufl_test(scopes DEPS capture)
gpufl_test(marks DEPS capture)
add_test(NAME unit.capture.scopes-million COMMAND test-unit-capture-scopes long
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(unit.capture.scopes-million PROPERTIES TIMEOUT 600 LABELS long)
gpufl_test(sink DEPS capture)
gpufl_test(captures DEPS capture)
gpufl_test(ends DEPS capture)
gpufl_test(cancel DEPS capture)
gpufl_test(sampling DEPS capture)
gpufl_test(samples DEPS capture)
gpufl_test(looks DEPS capture)
gpufl_test(upload DEPS capture)

# The file libgpufl.so, and the C++ header with each compiler and standard.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT GPUFL_SANITIZE)
  add_test(NAME unit.capture.library COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/test_library.py
    $<TARGET_FILE:gpufl-lib> ${PROJECT_SOURCE_DIR}/include/gpufl/gpufl.h)
  set_tests_properties(unit.capture.library PROPERTIES TIMEOUT 60 LABELS unit)
endif()

add_executable(test-unit-capture-hpp ${CMAKE_CURRENT_LIST_DIR}/test_hpp.cpp)
target_link_libraries(test-unit-capture-hpp PRIVATE gpufl-lib)
set_target_properties(test-unit-capture-hpp PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_test(NAME unit.capture.hpp COMMAND test-unit-capture-hpp WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(unit.capture.hpp PROPERTIES TIMEOUT 60 LABELS unit)
foreach(compiler g++ clang++)
  find_program(GPUFL_CXX_${compiler} ${compiler})
  if(NOT GPUFL_CXX_${compiler})
    continue()
  endif()
  foreach(standard 17 20)
    add_test(NAME unit.capture.hpp-${compiler}-${standard}
      COMMAND ${GPUFL_CXX_${compiler}} -std=c++${standard} -Wall -Wextra -Wshadow -Wpedantic -Werror
              -fsyntax-only -I${PROJECT_SOURCE_DIR}/include
              ${CMAKE_CURRENT_LIST_DIR}/test_hpp.cpp)
    set_tests_properties(unit.capture.hpp-${compiler}-${standard} PROPERTIES TIMEOUT 120 LABELS unit)
  endforeach()
endforeach()
gpufl_test(copies DEPS gpufl-lib wire)

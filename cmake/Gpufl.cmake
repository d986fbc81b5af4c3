# Flags and output folders of all targets, and the functions that declare modules and tests.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/archive)

# Binaries find their libraries by relative paths, so that the build folder can be moved.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_BUILD_RPATH "$ORIGIN/../lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# The presets with a sanitizer are compiled in half the time of RelWithDebInfo, and run as fast. Reports of a sanitizer,
# and our own reports of stacks, need only lines and functions.
set(CMAKE_C_FLAGS_SANITIZED "-Og -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_SANITIZED "-Og -g1 -DNDEBUG")

option(GPUFL_WERROR "Warnings are errors; off for compilers that know more of them" ON)
add_compile_options(-Wall -Wextra -Wshadow -Wvla $<$<BOOL:${GPUFL_WERROR}>:-Werror>
                    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
                    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
add_compile_definitions(_GNU_SOURCE)
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

set(GPUFL_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
if(GPUFL_SANITIZE)
  add_compile_options(-fsanitize=${GPUFL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GPUFL_SANITIZE})
  # The file of suppressions says what is reported of libraries that are not instrumented, and why that is no finding.
  if(GPUFL_SANITIZE MATCHES thread)
    # A process that has threads left at its exit waits for their races, by default for a second. The tests start
    # thousands of processes, and a thread that still works shows its races within 50 ms.
    set(GPUFL_TSAN "TSAN_OPTIONS=atexit_sleep_ms=50:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
  endif()
  # These warnings need the ranges of values that -O2 finds: the build without a sanitizer has them.
  if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    add_compile_options(-Wno-format-truncation -Wno-maybe-uninitialized -Wno-stringop-overflow)
  endif()
  # gcc 13 puts variables with alignas(64) on its fake stack with an alignment of 32.
  if(GPUFL_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL GNU AND
     CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
    add_compile_options(--param=asan-use-after-return=0)
  endif()
endif()

# Build folders and branches share compiled files if ccache is installed and works:
# if the home folder is not writable, ccache fails instead of only compiling.
find_program(GPUFL_CCACHE ccache)
if(GPUFL_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/ccache.c "int unused;\n")
  execute_process(COMMAND ${GPUFL_CCACHE} ${CMAKE_C_COMPILER} -c ${CMAKE_BINARY_DIR}/CMakeFiles/ccache.c
                          -o ${CMAKE_BINARY_DIR}/CMakeFiles/ccache.o
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    set(CMAKE_C_COMPILER_LAUNCHER ${GPUFL_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${GPUFL_CCACHE})
  endif()
endif()

# The targets that scripts/test builds ahead, at idle priority: modules and unit tests, but not the dashboard, for whose
# lock a test may wait.
add_custom_target(ahead)

# gpufl_module(NAME SOURCES a.c b.c DEPS base wire)
# A folder of src/ as a static library gpufl-NAME.
function(gpufl_module name)
  cmake_parse_arguments(M "" "" "SOURCES;DEPS" ${ARGN})
  add_library(gpufl-${name} STATIC ${M_SOURCES})
  if(NOT name STREQUAL "server-parts")
    add_dependencies(ahead gpufl-${name})
  endif()
  foreach(dep ${M_DEPS})
    if(TARGET ${dep} OR dep MATCHES "::")
      target_link_libraries(gpufl-${name} PUBLIC ${dep})
    else()
      target_link_libraries(gpufl-${name} PUBLIC gpufl-${dep})
    endif()
  endforeach()
endfunction()

# Tests that scripts/test runs with AddressSanitizer need not run without it: GPUFL_SPARE leaves their programs out of
# `all`. Tests that gpufl_not_under or gpufl_long_under excludes from that build run only in the release build.
option(GPUFL_SPARE "Leave out of all the test programs that AddressSanitizer's build runs" OFF)

function(gpufl_release_has_to_run sanitizer)
  if(address MATCHES "^(${sanitizer})$")
    set_property(GLOBAL APPEND PROPERTY GPUFL_RELEASE_HAS_TO_RUN ${ARGN})
  endif()
endfunction()

# gpufl_release_too(TEST...)
# Tests that AddressSanitizer's build runs only in part: their code asks which build it is in.
function(gpufl_release_too)
  gpufl_release_has_to_run(address ${ARGN})
  foreach(test ${ARGN})
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS release-too)
    endif()
  endforeach()
endfunction()

# gpufl_spare()
# Call it after all tests are declared.
function(gpufl_spare)
  get_property(tests GLOBAL PROPERTY GPUFL_TEST_NAMES)
  get_property(needed GLOBAL PROPERTY GPUFL_RELEASE_HAS_TO_RUN)
  list(REMOVE_ITEM tests ${needed})
  foreach(test ${tests})
    string(REPLACE "." "-" target test-${test})
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endforeach()
endfunction()

# gpufl_not_under(SANITIZER TEST...)
# Leaves tests out of the build with a sanitizer that cannot find anything in them, or does not understand them. Their
# programs are not built there, either: a test that shares one must be left out, too.
function(gpufl_not_under sanitizer)
  gpufl_release_has_to_run(${sanitizer} ${ARGN})
  if(GPUFL_SANITIZE MATCHES ${sanitizer})
    set_tests_properties(${ARGN} PROPERTIES DISABLED TRUE)
    foreach(test ${ARGN})
      string(REPLACE "." "-" target test-${test})
      if(TARGET ${target})
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      endif()
    endforeach()
  endif()
endfunction()

# gpufl_long_under(SANITIZER TEST...)
# Tests that take long in the build with a sanitizer, which finds little more: only scripts/test --all runs them there.
function(gpufl_long_under sanitizer)
  gpufl_release_has_to_run(${sanitizer} ${ARGN})
  if(GPUFL_SANITIZE MATCHES ${sanitizer})
    foreach(test ${ARGN})
      if(TEST ${test})
        set_property(TEST ${test} APPEND PROPERTY LABELS long)
      endif()
    endforeach()
  endif()
endfunction()

# gpufl_alone(TEST...)
# Tests that need a quiet machine: ctest runs no other test meanwhile, and scripts/test builds nothing.
function(gpufl_alone)
  foreach(test ${ARGN})
    set_property(TEST ${test} APPEND PROPERTY LABELS alone)
    set_property(TEST ${test} PROPERTY RUN_SERIAL TRUE)
  endforeach()
endfunction()

# gpufl_first(TEST...)
# Tests that take longest, and mostly wait: ctest starts them before all others, so that none runs alone at the end.
function(gpufl_first)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST 100)
    endif()
  endforeach()
endfunction()

# gpufl_test_code(TARGET...)
# Code of tests is compiled often and runs for a short time. So it is not optimized, and has only lines, which halves the
# time of compilation. The tested code, and programs that tests trace, have the flags of the build.
function(gpufl_test_code)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-O0;-g1>")
  endforeach()
endfunction()

# gold links a program in half of the time of GNU ld; the default linker links the products.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold GPUFL_HAS_GOLD)

# gpufl_fixed_address(TARGET...)
# AddressSanitizer and UBSan describe every variable and every check. In a position-independent program these are 8 MB of
# addresses to relocate at each start: a fifth of the time of a short run, and a third of the time to link it.
function(gpufl_fixed_address)
  if(GPUFL_SANITIZE MATCHES address)
    foreach(target ${ARGN})
      target_link_options(${target} PRIVATE -no-pie)
    endforeach()
  endif()
endfunction()

# gpufl_test(NAME [SOURCES more.c] DEPS base [LABELS unit])
# Declares the test test_NAME.c, in the folder of the calling list, with cmocka. Its name in ctest is its path:
# unit.wire.decode is tests/unit/wire/test_decode.c.
function(gpufl_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  set(here ${CMAKE_CURRENT_LIST_DIR})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${here})
  string(REPLACE "/" "-" target test-${folder}-${name})
  string(REPLACE "/" "." test ${folder}.${name})
  set(sources test_${name}.c ${T_SOURCES})
  list(TRANSFORM sources PREPEND ${here}/ REGEX "^[^/]")
  add_executable(${target} ${sources})
  gpufl_test_code(${target})
  if(GPUFL_HAS_GOLD)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
  if(NOT folder MATCHES "^unit/(stack|symbol)$") # these test where a program is loaded
    gpufl_fixed_address(${target})
  endif()
  target_link_libraries(${target} PRIVATE PkgConfig::CMOCKA)
  if(folder MATCHES "^unit/")
    target_link_libraries(${target} PRIVATE unit-support)
    string(REGEX REPLACE "^unit/" "" unit ${folder}/${name})
    if(NOT T_DEPS MATCHES "server-parts" AND (unit IN_LIST GPUFL_THREADED OR NOT GPUFL_SANITIZE MATCHES "thread"))
      add_dependencies(ahead ${target})
    endif()
    if(NOT unit IN_LIST GPUFL_THREADED AND NOT GPUFL_SANITIZE)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:unit-one-thread>)
      target_link_options(${target} PRIVATE -Wl,--export-dynamic-symbol=pthread_create)
    endif()
  endif()
  foreach(dep ${T_DEPS})
    if(TARGET gpufl-${dep})
      target_link_libraries(${target} PRIVATE gpufl-${dep})
    else()
      target_link_libraries(${target} PRIVATE ${dep})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  set_property(GLOBAL APPEND PROPERTY GPUFL_TEST_NAMES ${test})
  add_test(NAME ${test} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  if(GPUFL_SANITIZE) # tests are several times slower, so timeouts are longer by as much
    math(EXPR T_TIMEOUT "3 * ${T_TIMEOUT}")
  endif()
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  set_tests_properties(${test} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}"
    ENVIRONMENT "GPUFL_SOURCE_DIR=${PROJECT_SOURCE_DIR};GPUFL_BINARY_DIR=${PROJECT_BINARY_DIR};${GPUFL_TSAN}")
  if(folder MATCHES "^unit/" AND NOT unit IN_LIST GPUFL_THREADED)
    gpufl_not_under(thread ${test})
  endif()
endfunction()

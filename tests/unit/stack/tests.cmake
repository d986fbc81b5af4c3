# The native side of src/stack. The programs of tests/stack are compiled with a program's
# usual flags in every build.
set(stack_programs ${PROJECT_SOURCE_DIR}/tests/stack)
set(shapes ${stack_programs}/shapes.c ${stack_programs}/shapes.cpp)
set_source_files_properties(${shapes} ${stack_programs}/library.c PROPERTIES COMPILE_OPTIONS
  "-O2;-fomit-frame-pointer;-fno-sanitize=all")

# Threads that block, with and without frame pointers.
function(stack_blocks name table)
  add_library(${name} OBJECT ${stack_programs}/blocks.c)
  target_compile_definitions(${name} PRIVATE BLOCKS=${table})
  target_compile_options(${name} PRIVATE ${ARGN} -fno-sanitize=all)
endfunction()
stack_blocks(blocks blocks -O2 -fomit-frame-pointer)
stack_blocks(blocks-fp blocks_fp -O1 -fno-omit-frame-pointer)
add_library(prologues OBJECT ${stack_programs}/prologues.c)
target_compile_options(prologues PRIVATE -O1 -fomit-frame-pointer -fno-sanitize=all)

gpufl_test(safe DEPS stack)
gpufl_test(unwind DEPS stack SOURCES ${shapes})
gpufl_test(cfi DEPS stack)
gpufl_test(simulated DEPS stack)
gpufl_test(snapshot DEPS stack)
gpufl_test(join DEPS stack)
gpufl_test(modules DEPS stack)
gpufl_test(stack DEPS stack SOURCES ${shapes} captured.c TIMEOUT 900)
gpufl_test(libraries DEPS stack SOURCES captured.c TIMEOUT 900)
gpufl_test(blocked DEPS stack SOURCES captured.c)
add_library(unit-stack-rests SHARED ${stack_programs}/rests.c)
target_compile_options(unit-stack-rests PRIVATE -O1 -fno-omit-frame-pointer -fno-sanitize=all)
set_target_properties(unit-stack-rests PROPERTIES PREFIX "" OUTPUT_NAME stack-rests
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(test-unit-stack-blocked PRIVATE blocks blocks-fp prologues unit-stack-rests)
add_test(NAME unit.stack.libraries-long COMMAND test-unit-stack-libraries long
         WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(unit.stack.libraries-long PROPERTIES TIMEOUT 600 LABELS long)
gpufl_not_under(thread unit.stack.libraries-long) # one thread, like unit.stack.libraries
set_property(TARGET test-unit-stack-modules PROPERTY ENABLE_EXPORTS ON) # for dladdr in its own file

# test_unwind.c as a program without symbols, and as on a libc that cannot be asked without a lock.
add_executable(test-unit-stack-unwind-stripped ${CMAKE_CURRENT_LIST_DIR}/test_unwind.c ${shapes})
target_link_libraries(test-unit-stack-unwind-stripped PRIVATE gpufl-stack PkgConfig::CMOCKA)
target_link_options(test-unit-stack-unwind-stripped PRIVATE -s)
set_target_properties(test-unit-stack-unwind-stripped PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_test(NAME unit.stack.unwind-stripped COMMAND test-unit-stack-unwind-stripped
         WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(unit.stack.unwind-stripped PROPERTIES TIMEOUT 600 LABELS unit)
foreach(name unwind modules blocked)
  add_test(NAME unit.stack.${name}-snapshot COMMAND test-unit-stack-${name}
           WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  set_tests_properties(unit.stack.${name}-snapshot PROPERTIES TIMEOUT 600 LABELS unit
    ENVIRONMENT "STACK_OWN_SNAPSHOT=1")
endforeach()
gpufl_not_under(thread unit.stack.blocked-snapshot) # the sanitizer does not see the loader's lock

# Different libraries that are loaded at the same address, and one with the driver's name.
function(stack_library name file answer build_id)
  add_library(unit-stack-${name} SHARED ${stack_programs}/library.c)
  target_compile_definitions(unit-stack-${name} PRIVATE LIBRARY_ANSWER=${answer})
  target_link_options(unit-stack-${name} PRIVATE -Wl,--build-id=${build_id} -fno-sanitize=all)
  target_link_libraries(unit-stack-${name} PRIVATE Threads::Threads)
  set_target_properties(unit-stack-${name} PROPERTIES PREFIX "" OUTPUT_NAME ${file} SUFFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  foreach(test modules stack libraries blocked)
    add_dependencies(test-unit-stack-${test} unit-stack-${name})
  endforeach()
endfunction()
stack_library(one stack-one.so 1 0x0102030405060708090a0b0c0d0e0f1011121314)
# Libraries without the table of the unwind entries, and without the entries.
stack_library(nohdr stack-nohdr.so 3 0x3302030405060708090a0b0c0d0e0f1011121314)
target_link_options(unit-stack-nohdr PRIVATE -Wl,--no-eh-frame-hdr)
stack_library(notables stack-notables.so 4 0x4402030405060708090a0b0c0d0e0f1011121314)
target_compile_options(unit-stack-notables PRIVATE -fno-asynchronous-unwind-tables -fno-unwind-tables)
target_link_options(unit-stack-notables PRIVATE -nostartfiles -Wl,--no-eh-frame-hdr)
stack_library(two stack-two.so 2 0x2202030405060708090a0b0c0d0e0f1011121314)
stack_library(none stack-none.so 1 none)
string(REPEAT 0123456789abcdef 4 long_id) # 32 bytes, like SHA-256
stack_library(long stack-long.so 1 0x${long_id})
stack_library(driver stack-driver/libcuda.so.1 3 sha1)

# The Python reader without an interpreter; with real ones: tests/python.
foreach(name common/safe python/code python/dynsym python/find python/lines python/python)
  list(APPEND reader ${PROJECT_SOURCE_DIR}/src/stack/${name}.c)
endforeach()
add_library(python-reader OBJECT ${reader})
gpufl_test(python_lines DEPS python-reader base)
gpufl_test(python_fake DEPS python-reader base)
set_target_properties(test-unit-stack-python_fake PROPERTIES ENABLE_EXPORTS ON) # the test is the interpreter

# A library whose constructor waits while the reader searches for an interpreter.
add_library(unit-python-loads SHARED ${PROJECT_SOURCE_DIR}/tests/stack/waits.c)
target_link_libraries(unit-python-loads PRIVATE Threads::Threads)
set_target_properties(unit-python-loads PROPERTIES PREFIX "" OUTPUT_NAME stack-waits
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
gpufl_test(dynsym DEPS python-reader base)
set_target_properties(test-unit-stack-dynsym PROPERTIES ENABLE_EXPORTS ON) # the library uses its semaphores
add_dependencies(test-unit-stack-dynsym unit-python-loads)

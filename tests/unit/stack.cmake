# The native side of src/stack. The programs of tests/stack are compiled as programs are,
# whatever the build is.
set(shapes ${PROJECT_SOURCE_DIR}/tests/stack/shapes.c ${PROJECT_SOURCE_DIR}/tests/stack/shapes.cpp)
set_source_files_properties(${shapes} PROPERTIES COMPILE_OPTIONS
  "-O2;-fomit-frame-pointer;-fno-sanitize=all;-fno-optimize-sibling-calls")
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/stack/shapes.c PROPERTIES COMPILE_OPTIONS
  "-O2;-fomit-frame-pointer;-fno-sanitize=all")

gpufl_test(safe DEPS stack)
gpufl_test(unwind DEPS stack SOURCES ${shapes})

# The same as a program without symbols, and as on a libc that cannot be asked without a lock.
add_executable(test-unit-unwind-stripped test_unwind.c ${shapes})
target_link_libraries(test-unit-unwind-stripped PRIVATE gpufl-stack PkgConfig::CMOCKA)
target_link_options(test-unit-unwind-stripped PRIVATE -s)
set_target_properties(test-unit-unwind-stripped PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_test(NAME unit.unwind-stripped COMMAND test-unit-unwind-stripped)
add_test(NAME unit.unwind-snapshot COMMAND test-unit-unwind)
set_tests_properties(unit.unwind-stripped unit.unwind-snapshot PROPERTIES TIMEOUT 600 LABELS unit)
set_tests_properties(unit.unwind-snapshot PROPERTIES ENVIRONMENT "STACK_OWN_SNAPSHOT=1")

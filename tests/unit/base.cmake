# One test per file of src/base; queue and ring under threads in test_ring.
foreach(name alloc aside buf cage clock dl err file intern json lines log opt printable queue region ring spawn spelling thread tick)
  gpufl_test(${name} DEPS base)
endforeach()

# The test lets close(2) fail.
target_link_options(test-unit-file PRIVATE -Wl,--wrap=close)

# dl opens this one: a library with some functions and without others.
add_library(unit-dl-sample SHARED dl_sample.c)
set_target_properties(unit-dl-sample PROPERTIES
  PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(test-unit-dl unit-dl-sample)

# One test per file of src/base; queue and ring under threads in test_ring.
foreach(name alloc fd_thread buf sandbox clock dl err file intern json lines log opt plt printable process queue region ring spawn spelling thread tick ungz)
  gpufl_test(${name} DEPS base)
endforeach()

# The test lets close(2) fail.
target_link_options(test-unit-base-file PRIVATE -Wl,--wrap=close)

# The test of dl opens this library, which has some functions and lacks others.
add_library(unit-dl-sample SHARED ${CMAKE_CURRENT_LIST_DIR}/dl_sample.c)
set_target_properties(unit-dl-sample PROPERTIES
  PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(test-unit-base-dl unit-dl-sample)

# The test of plt redirects calls of these: their cells are filled at the first call, or at loading.
function(plt_caller name)
  add_library(unit-plt-${name} SHARED ${CMAKE_CURRENT_LIST_DIR}/plt_caller.c)
  target_link_libraries(unit-plt-${name} PRIVATE unit-dl-sample)
  target_compile_options(unit-plt-${name} PRIVATE -fPIC ${ARGN})
  target_link_options(unit-plt-${name} PRIVATE ${ARGN})
  set_target_properties(unit-plt-${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
    BUILD_RPATH "${PROJECT_BINARY_DIR}/tests")
  add_dependencies(test-unit-base-plt unit-plt-${name})
endfunction()
plt_caller(lazy -Wl,-z,lazy)
plt_caller(now -Wl,-z,now -Wl,-z,relro)
plt_caller(other)
# The test packs with the library that the server links; the product opens it at run time.
find_package(PkgConfig REQUIRED)
pkg_check_modules(TEST_ZSTD REQUIRED IMPORTED_TARGET libzstd)
gpufl_test(unzst DEPS base PkgConfig::TEST_ZSTD)

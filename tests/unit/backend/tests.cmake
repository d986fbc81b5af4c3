# The vendors: a folder for each, declarations against the vendors' own headers, and the code that they share.
foreach(room abi common nvidia amd)
  include(${CMAKE_CURRENT_LIST_DIR}/${room}/tests.cmake)
endforeach()
gpufl_test(registry DEPS backend)

# A build with one more vendor: the registry and the facts are compiled with its rows.
gpufl_test(toy_vendor DEPS capture symbol
  SOURCES toy/toy.c toy/vendor.c
    ${PROJECT_SOURCE_DIR}/src/backend/registry.c ${PROJECT_SOURCE_DIR}/src/backend/vendors.c)
target_compile_definitions(test-unit-backend-toy_vendor PRIVATE GPUFL_BACKENDS_DEF="tests/unit/backend/toy/backends.def")

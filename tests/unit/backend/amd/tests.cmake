# AMD's backend, over libraries that a test simulates, and over the fakes of each release.
foreach(name counter_sets counting devices driver objects occupancy sampling)
  gpufl_test(${name} DEPS backend)
endforeach()
foreach(name devices driver)
  target_compile_definitions(test-unit-backend-amd-${name} PRIVATE FAKES="${PROJECT_BINARY_DIR}/fake")
  add_dependencies(test-unit-backend-amd-${name} fake-amd)
endforeach()

# This test has another vendor in NVIDIA's place, whose GPUs it can add.
gpufl_test(session DEPS capture symbol
  SOURCES ${PROJECT_SOURCE_DIR}/src/backend/registry.c ${PROJECT_SOURCE_DIR}/src/backend/vendors.c)
target_compile_definitions(test-unit-backend-amd-session PRIVATE FAKES="${PROJECT_BINARY_DIR}/fake"
  GPUFL_BACKENDS_DEF="tests/unit/backend/amd/other_backends.def")
add_dependencies(test-unit-backend-amd-session fake-amd)

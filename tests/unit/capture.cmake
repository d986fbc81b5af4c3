# The session log on disk.
gpufl_test(dict DEPS capture)
gpufl_test(part DEPS capture SOURCES parts.c)
gpufl_test(spool DEPS capture SOURCES parts.c)
gpufl_test(compressor DEPS capture SOURCES parts.c)
gpufl_test(writer DEPS capture SOURCES parts.c)

# The session around it.
gpufl_test(options DEPS capture)
gpufl_test(joins DEPS capture)
gpufl_test(occupancy DEPS capture)
find_path(GPUFL_CUDA_OCCUPANCY cuda_occupancy.h
  HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include)
if(GPUFL_CUDA_OCCUPANCY)
  target_compile_definitions(test-unit-occupancy PRIVATE HAVE_CUDA_OCCUPANCY)
  target_include_directories(test-unit-occupancy SYSTEM PRIVATE ${GPUFL_CUDA_OCCUPANCY})
endif()
gpufl_test(session DEPS capture SOURCES session_log.c parts.c)
gpufl_test(scopes DEPS capture SOURCES session_log.c parts.c)
add_test(NAME unit.scopes-million COMMAND test-unit-scopes long
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
set_tests_properties(unit.scopes-million PROPERTIES TIMEOUT 600 LABELS long)
gpufl_test(ends DEPS capture SOURCES session_log.c parts.c)

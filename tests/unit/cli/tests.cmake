# The parts of the command line that can be tested without a process.
foreach(name info_engines info_summary monitor_canvas monitor_screen monitor_source trace_compress trace_exits trace_options trace_place trace_seen trace_session trace_settings trace_why trace_words)
  gpufl_test(${name} DEPS cli)
endforeach()

# A build with one more vendor (tests/unit/backend/toy): the facts are compiled with its rows.
gpufl_test(trace_vendors DEPS cli
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/../backend/toy/vendor.c ${PROJECT_SOURCE_DIR}/src/backend/vendors.c)
target_compile_definitions(test-unit-cli-trace_vendors PRIVATE LIBRARY="$<TARGET_FILE:gpufl-lib>"
  GPUFL_BACKENDS_DEF="tests/unit/backend/toy/backends.def")
add_dependencies(test-unit-cli-trace_vendors gpufl-lib)

# The runner of the overhead benchmarks, with programs that print like the real ones; and the benchmarks without a GPU.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME unit.bench.bench_overhead COMMAND Python3::Interpreter
    ${CMAKE_CURRENT_LIST_DIR}/test_bench_overhead.py ${PROJECT_SOURCE_DIR}/bench/overhead)
  set_tests_properties(unit.bench.bench_overhead PROPERTIES TIMEOUT 900 LABELS unit)
  gpufl_not_under("address|thread" unit.bench.bench_overhead) # only Python
  add_test(NAME unit.bench.bench_builds COMMAND Python3::Interpreter
    ${CMAKE_CURRENT_LIST_DIR}/test_bench_builds.py ${PROJECT_SOURCE_DIR}/bench ${PROJECT_BINARY_DIR})
  set_tests_properties(unit.bench.bench_builds PROPERTIES TIMEOUT 900 LABELS unit)
  gpufl_not_under("address|thread" unit.bench.bench_builds) # the benchmarks are of the release build
endif()

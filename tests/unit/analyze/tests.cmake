# Reading sessions: one folder for each folder of src/analyze.
foreach(room common read model insight report compare)
  include(${CMAKE_CURRENT_LIST_DIR}/${room}/tests.cmake)
endforeach()
gpufl_test(tables DEPS analyze)

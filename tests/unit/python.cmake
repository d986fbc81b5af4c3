# The Python reader without an interpreter; with real ones: tests/python.
foreach(name dynsym python python_code python_find python_lines safe)
  list(APPEND reader ${PROJECT_SOURCE_DIR}/src/stack/${name}.c)
endforeach()
gpufl_test(python_lines DEPS base SOURCES ${PROJECT_SOURCE_DIR}/src/stack/python_lines.c)
gpufl_test(python_fake DEPS base SOURCES ${reader})
set_target_properties(test-unit-python_fake PROPERTIES ENABLE_EXPORTS ON) # it is the interpreter

# A library whose constructor waits, while the reader looks for an interpreter.
add_library(unit-python-loads SHARED ${PROJECT_SOURCE_DIR}/tests/stack/waits.c)
target_link_libraries(unit-python-loads PRIVATE Threads::Threads)
set_target_properties(unit-python-loads PROPERTIES PREFIX "" OUTPUT_NAME stack-waits
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
gpufl_test(dynsym DEPS base SOURCES ${reader})
set_target_properties(test-unit-dynsym PROPERTIES ENABLE_EXPORTS ON) # what the library waits for
add_dependencies(test-unit-dynsym unit-python-loads)

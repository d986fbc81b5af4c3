# The Python reader without an interpreter; with real ones: tests/python.
foreach(name python python_code python_find python_lines safe)
  list(APPEND reader ${PROJECT_SOURCE_DIR}/src/stack/${name}.c)
endforeach()
gpufl_test(python_lines DEPS base SOURCES ${PROJECT_SOURCE_DIR}/src/stack/python_lines.c)
gpufl_test(python_fake DEPS base SOURCES ${reader})
set_target_properties(test-unit-python_fake PROPERTIES ENABLE_EXPORTS ON) # it is the interpreter

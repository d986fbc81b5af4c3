# The public headers in plain C11, with each compiler. (gpufl.hpp: capture.cmake)
foreach(compiler gcc clang)
  find_program(GPUFL_C_${compiler} ${compiler})
  if(GPUFL_C_${compiler})
    add_test(NAME unit.headers-${compiler}
      COMMAND ${GPUFL_C_${compiler}} -std=c11 -pedantic-errors -Wall -Wextra -Wshadow
              -Wstrict-prototypes -Wc++-compat -Werror -fsyntax-only
              -I${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/test_headers.c)
    set_tests_properties(unit.headers-${compiler} PROPERTIES TIMEOUT 60 LABELS unit)
  endif()
endforeach()

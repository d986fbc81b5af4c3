# The server's tables and what reads them.
foreach(name alerts columns openapi origin param route)
  gpufl_test(${name} DEPS server)
endforeach()

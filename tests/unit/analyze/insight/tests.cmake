# Rules, each with its fault and without.
foreach(name kernels launch library memory profile sync)
  gpufl_test(${name} DEPS analyze)
endforeach()

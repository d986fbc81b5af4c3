# What no vendor's library is needed for.
foreach(name buffers code_copies pm_clock range_pick)
  gpufl_test(${name} DEPS backend)
endforeach()

# Tests that need no vendor's library.
foreach(name buffers code_copies pm_clock range_pick)
  gpufl_test(${name} DEPS backend)
endforeach()

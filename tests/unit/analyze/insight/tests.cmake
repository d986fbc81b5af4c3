# Each rule is tested with its fault and without.
foreach(name answer host_lines insights peer_rules ranks kernels launch library memory profile shortage sync watch)
  gpufl_test(${name} DEPS analyze)
endforeach()

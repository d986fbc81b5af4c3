# The report as text and as JSON.
foreach(name occupancy shared merge)
  gpufl_test(${name} DEPS analyze)
endforeach()
foreach(name report made idle profile absurd definitions flame passes runs stack_files sum_known timeline)
  gpufl_test(${name} DEPS analyze PkgConfig::JANSSON)
endforeach()

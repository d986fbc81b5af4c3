# Histograms, statistics, units, JSON out.
foreach(name busy grid histogram stats units words)
  gpufl_test(${name} DEPS analyze)
endforeach()
foreach(name json_out)
  gpufl_test(${name} DEPS analyze PkgConfig::JANSSON)
endforeach()

# Histograms, orders, paths of scopes, statistics, units, JSON output.
foreach(name busy grid histogram order scope_text stats units words)
  gpufl_test(${name} DEPS analyze)
endforeach()
foreach(name json_out)
  gpufl_test(${name} DEPS analyze PkgConfig::JANSSON)
endforeach()

# Reading sessions.
foreach(name histogram busy units grid sum_scopes sum_ledger sum_metrics)
  gpufl_test(${name} DEPS analyze)
endforeach()
foreach(name discover feed load)
  gpufl_test(${name} SOURCES make_log.c DEPS analyze)
endforeach()
gpufl_test(report SOURCES make_log.c DEPS analyze PkgConfig::JANSSON)

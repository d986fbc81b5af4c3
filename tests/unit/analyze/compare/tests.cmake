# Two sessions or runs, and the history of many.
foreach(name history)
  gpufl_test(${name} DEPS analyze)
endforeach()
foreach(name compare digest trees)
  gpufl_test(${name} DEPS analyze PkgConfig::JANSSON)
endforeach()

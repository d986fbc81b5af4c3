# Sessions and parts are found, and their rows are read.
foreach(name discover feed)
  gpufl_test(${name} DEPS analyze)
endforeach()

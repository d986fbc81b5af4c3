# Sessions and parts are found, and their rows fed.
foreach(name discover feed)
  gpufl_test(${name} DEPS analyze)
endforeach()

# Who asks, and what they may.
foreach(name auth auth_limit auth_password auth_secret rights)
  gpufl_test(${name} DEPS auth)
endforeach()

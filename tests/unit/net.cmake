# HTTP without a server: what can be told from texts and threads alone (tests/e2e has the rest).
foreach(name uri workers)
  gpufl_test(${name} DEPS net)
endforeach()
gpufl_test(http SOURCES wire_client.c DEPS net)

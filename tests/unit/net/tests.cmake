# HTTP without a server: everything that needs only texts and threads (tests/e2e has the rest).
foreach(name uri workers)
  gpufl_test(${name} DEPS net-server)
endforeach()
foreach(name http http_header http_limits http_stream http_work)
  gpufl_test(${name} DEPS net-server)
endforeach()
gpufl_test(metrics_page DEPS net-metrics)
if(TARGET PkgConfig::RDKAFKA)
  gpufl_test(kafka DEPS net-kafka PkgConfig::RDKAFKA TIMEOUT 900)
  gpufl_not_under(thread unit.net.kafka) # librdkafka makes C11 threads, which ThreadSanitizer does not support: it ends there
endif()

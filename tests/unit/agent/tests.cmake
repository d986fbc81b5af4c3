# Sending sessions: the parts below the command, without a server (tests/e2e has one).
gpufl_test(backoff DEPS net-client)
gpufl_test(http_client DEPS net-client)
gpufl_test(http_client_proxy DEPS net-client)
gpufl_test(address DEPS net-client)
gpufl_test(part_stream DEPS agent PkgConfig::TEST_ZSTD)
gpufl_test(remote DEPS agent)

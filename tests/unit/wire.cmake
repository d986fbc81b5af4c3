gpufl_test(record DEPS wire)
gpufl_test(encode DEPS wire)
gpufl_test(decode DEPS wire)

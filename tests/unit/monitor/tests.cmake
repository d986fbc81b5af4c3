gpufl_test(host DEPS monitor)
gpufl_test(sampler DEPS monitor)
gpufl_test(roles DEPS monitor)
gpufl_test(traced DEPS monitor)

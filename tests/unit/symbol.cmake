# Names of kernels.
gpufl_test(demangle DEPS symbol)
gpufl_test(shorten DEPS symbol)

# Names of kernels.
gpufl_test(demangle DEPS symbol)

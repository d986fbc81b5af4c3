gpufl_test(owner DEPS monitord)
gpufl_test(processes DEPS monitord)
gpufl_test(page DEPS monitord)
gpufl_test(journal DEPS monitord)

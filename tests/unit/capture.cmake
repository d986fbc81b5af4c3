# The session log on disk.
gpufl_test(dict DEPS capture)
gpufl_test(part DEPS capture SOURCES parts.c)
gpufl_test(spool DEPS capture SOURCES parts.c)
gpufl_test(compressor DEPS capture SOURCES parts.c)
gpufl_test(writer DEPS capture SOURCES parts.c)

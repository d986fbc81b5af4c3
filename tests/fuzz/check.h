/* check.h - has the parts of every fuzz target: its entry, and a check that ends the process. */
#ifndef GPUFL_TESTS_FUZZ_CHECK_H
#define GPUFL_TESTS_FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x))                                                                                  \
            abort();                                                                               \
    } while (0)

/* libFuzzer calls it, and replay.c with the files of a corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif

/* dynsym.h - is a symbol defined by any loaded file, answered without the loader's lock.
 *
 * dlsym waits for every dlopen that another thread is in the middle of, constructors included,
 * and these may run for as long as the program. Code that asks at every flush calls this first. */
#ifndef GPUFL_STACK_PYTHON_DYNSYM_H
#define GPUFL_STACK_PYTHON_DYNSYM_H

#include <stdbool.h>

/* Whether a loaded file, also one opened with RTLD_LOCAL, defines the symbol. [any] */
bool dynsym_is_defined(const char *name);

#endif

/* dynsym.h - finds out whether a loaded file defines a symbol, without the loader's lock.
 *
 * dlsym waits for a dlopen of another thread, whose constructors may run for as long as the
 * program. Code that looks for a symbol at every flush calls this function first. */
#ifndef GPUFL_STACK_PYTHON_DYNSYM_H
#define GPUFL_STACK_PYTHON_DYNSYM_H

#include <stdbool.h>

/* Returns true if a loaded file, also one opened with RTLD_LOCAL, defines the symbol. [any] */
bool dynsym_is_defined(const char *name);

#endif

/* safe.h - reads memory that may not be mapped.
 *
 * Python's objects, and stacks beyond the thread's own limits, are read only with these
 * functions. A page that was recently found readable is read directly; any other page is
 * first probed with a system call, which returns EFAULT where a load would raise a signal. */
#ifndef GPUFL_STACK_COMMON_SAFE_H
#define GPUFL_STACK_COMMON_SAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies n bytes; false: not all of them are readable, *to is then undefined. [hot] */
bool safe_read(void *to, const void *from, size_t n);

/* Does what safe_read does, for eight bytes, cheaper if they are aligned. [hot] */
bool safe_word(uint64_t *to, const void *from);

/* Returns true if this byte, and so its whole page of 4096 bytes, can be read. [hot] */
bool safe_there(const void *at);

/* Does what safe_read does, for memory that another thread may unmap at any moment: makes one
 * system call each time and remembers nothing. [hot, rare] */
bool safe_read_any(void *to, const void *from, size_t n);

/* Ends a generation: pages found readable are probed again. [collector, every flush] */
void safe_age(void);

#endif

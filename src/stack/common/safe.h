/* safe.h - reading memory that may not be there.
 *
 * Every read of Python's objects and of stacks beyond the thread's own limits goes
 * through here: a page that was found readable lately is read directly, another one
 * is probed with a system call, which answers EFAULT instead of a signal. */
#ifndef GPUFL_STACK_COMMON_SAFE_H
#define GPUFL_STACK_COMMON_SAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies n bytes; false: not all of them are readable, *to is then undefined. [hot] */
bool safe_read(void *to, const void *from, size_t n);

/* safe_read of eight bytes, cheaper where they are aligned. [hot] */
bool safe_word(uint64_t *to, const void *from);

/* True where a byte can be read there: then all of its page (4096 bytes) can. [hot] */
bool safe_there(const void *at);

/* safe_read for memory that another thread may unmap at any moment: one system call each time,
 * nothing is remembered. [hot, rare] */
bool safe_read_any(void *to, const void *from, size_t n);

/* Ends a generation: pages found readable are probed again. [collector, every flush] */
void safe_age(void);

#endif

/* safe.h - reads memory that may not be mapped.
 *
 * Python's objects, and stacks beyond the thread's own limits, are read only with these
 * functions. A page that was recently found readable is read directly; any other page is
 * first probed with a system call, which returns EFAULT where a load would raise a signal.
 *
 * A thread that reads memory of other threads reads nothing directly, because the page may be
 * unmapped at any moment: safe_copy_with gives that thread copies made by the kernel. */
#ifndef GPUFL_STACK_COMMON_SAFE_H
#define GPUFL_STACK_COMMON_SAFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies n bytes; false: not all of them are readable, *to is then undefined. [hot] */
bool safe_read(void *to, const void *from, size_t n);

/* Does what safe_read does, for eight bytes, cheaper if they are aligned. [hot] */
bool safe_word(uint64_t *to, const void *from);

/* Returns where these n bytes can be read, n above 0; NULL: not all of them are readable. That is
 * `at` itself, or with a copier its copy. [hot, first sight] */
const void *safe_map(const void *at, size_t n);

/* Copies memory for a thread that reads what belongs to other threads. */
struct safe_copier {
    /* Copies n bytes; false: not all of them are readable. */
    bool (*read)(void *arg, void *to, const void *from, size_t n);
    /* Returns a copy, which the owner of the copier keeps as long as the caller needs the copy;
     * NULL: not all bytes are readable, or there is no room. */
    const void *(*map)(void *arg, const void *at, size_t n);
    void *arg;
};

/* From now on, safe_read, safe_read_any and safe_map of the calling thread use the copier, which
 * the caller keeps. NULL: they read as before. The thread must not use the other functions
 * meanwhile. One thread at a time has a copier. */
void safe_copy_with(const struct safe_copier *copier);

/* Returns true if the calling thread has a copier. */
bool safe_copies(void);

/* Returns true if this byte, and so its whole page of 4096 bytes, can be read. [hot] */
bool safe_there(const void *at);

/* Does what safe_read does, for memory that another thread may unmap at any moment: makes one
 * system call each time and remembers nothing. [hot, rare] */
bool safe_read_any(void *to, const void *from, size_t n);

/* Ends a generation: pages found readable are probed again. [collector, every flush] */
void safe_age(void);

#endif

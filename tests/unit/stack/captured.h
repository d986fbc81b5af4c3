/* captured.h - has, for tests, functions that capture stacks, and checks of the captured stacks. */
#ifndef GPUFL_TESTS_CAPTURED_H
#define GPUFL_TESTS_CAPTURED_H

#include "stack/stack.h"
#include "tests/stack/shapes.h"

#include <stdbool.h>

/* Captures like a callback of the library: the innermost frame is the caller's. arg: a uint32_t *,
 * which gets the id. */
__attribute__((noinline)) void capture(void *arg);

/* Returns the stack that is captured through a shape or a library's function; NULL: none. */
__attribute__((noinline)) const struct stack *stack_of(shape_fn *shape, int n);

bool in_function(const struct stack_place *p, void *function);
bool is_mark(const struct stack_place *p, const char *text);

/* Opens a library and returns its function. The test fails if there is none. */
void *library(const char *path, const char *function, void **handle);

#endif

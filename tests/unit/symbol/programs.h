/* programs.h - makes, for tests of the symbolizer, programs with calls at marked lines, and the
 * addresses of these calls. */
#ifndef GPUFL_TESTS_PROGRAMS_H
#define GPUFL_TESTS_PROGRAMS_H

#include "symbol/elf/file.h"
#include "symbol/symbolizer.h"

#include <stddef.h>
#include <stdint.h>

enum { CALLS = 16 };

/* Holds the places where a program made its calls, as it prints them. */
struct calls {
    struct {
        char mark[32];
        uint64_t address;
    } items[CALLS];
    size_t count;
};

/* Returns the path of a program of tests/symbol. It is valid for three more calls. */
const char *programs_path(const char *name);

/* Runs the program and reads its calls. The test fails if that is not possible. */
void programs_run(const char *path, struct calls *c);

uint64_t programs_address(const struct calls *c, const char *mark);

/* Describes a file of code like a capture; the result refers to *f, which stays open. */
struct symbol_module programs_module(const char *path, struct elf_file *f);

#endif

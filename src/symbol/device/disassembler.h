/* disassembler.h - finds and runs a vendor's program that disassembles device code.
 *
 * The program may be missing or fail, and a file of code may have any content. So the program is
 * killed when the deadline has passed, or when it has printed too much. It never runs in a traced
 * program. Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_DEVICE_DISASSEMBLER_H
#define GPUFL_SYMBOL_DEVICE_DISASSEMBLER_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct vendor_disassembler;

/* Writes the path of the program: that in its variable, else the toolkit's or that in PATH, in the
 * order of struct vendor_disassembler. GPUFL_E_NOENT with a sentence. */
int disassembler_find(const struct vendor_disassembler *d, char *path, size_t size, struct err *e);

struct disassembler_run {
    const char *program;                 /* path */
    char *const *argv;                   /* NULL-terminated */
    const char *file;                    /* what is disassembled, for sentences */
    const char *advice;                  /* what to do if the program refuses the file */
    void (*line)(void *arg, char *line); /* without its LF; may be changed */
    void *arg;
};

/* Limits the bytes of output for each byte of a file; a file with more is damaged. An instruction
 * has at least 4 bytes, and its line and those of its places, 16 at most, are shorter together. */
enum { DISASSEMBLER_TEXT_MOST = 1024 };

/* Runs the program and calls line for each line of its output. deadline: clock_mono, ns.
 * 0; GPUFL_E_NOENT (it cannot be run), _TIMEOUT, _CORRUPT (it fails, crashes, or prints more than
 * such a file can give) or _IO with a sentence. */
int disassembler_run(const struct disassembler_run *r, int64_t deadline, struct err *e);

/* Starts the program of a later disassembler_run, which then reads what this program prints: it
 * reads and parses the file meanwhile, as its output waits in a pipe. At most DISASSEMBLERS_AHEAD
 * are started; more calls do nothing, like calls that fail. Called by the owner's thread, as are
 * the others. */
void disassembler_ahead(const struct disassembler_run *r);
/* Ends programs that were started ahead and not read. */
void disassembler_forget(void);

enum { DISASSEMBLERS_AHEAD = 4 };

#endif

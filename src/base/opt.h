/* opt.h - reads command-line options, with help and errors, from a table.
 *
 * One table a command. Long options take `--name value` and `--name=value`,
 * short ones `-x value`, `-xvalue` and `-x=value`; a value that begins with `--` takes the form
 * with `=`. Parsing stops at `--` or, with OPT_STOP_AT_OPERAND, at the first operand. */
#ifndef GPUFL_BASE_OPT_H
#define GPUFL_BASE_OPT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_kind {
    OPT_FLAG,     /* bool *: true when given */
    OPT_STRING,   /* const char **: inside argv */
    OPT_SWITCH,   /* const char **: what follows '=', inside argv; "true" if there is none */
    OPT_INT,      /* int64_t *: decimal, not negative */
    OPT_DURATION, /* int64_t *: ns; "500ms", "2s", "3m", "1h", bare = seconds */
    OPT_MILLIS,   /* the same, bare = milliseconds */
    OPT_SIZE,     /* int64_t *: bytes; "64M", "4G", 1024-based */
    OPT_CHOICE,   /* int *: index into choices, matched without regard to case */
    OPT_LIST,     /* struct opt_list *: may be given several times; a value each */
    OPT_FOREIGN,  /* an option that this program does not have: refused with the sentence in arg */
};

/* This is the target of an OPT_LIST; a value too many is GPUFL_E_FULL with a sentence. */
struct opt_list {
    const char **items; /* caller's array; the texts lie inside argv */
    size_t max;         /* room in items */
    size_t count;       /* values given so far */
};

struct opt {
    const char *name; /* long name without dashes; NULL ends the table */
    char letter;      /* short form, 0: none */
    enum opt_kind kind;
    void *target;
    const char *arg;            /* name of the value in help: "DIR" */
    const char *const *choices; /* OPT_CHOICE: NULL-terminated */
    const char *help;           /* one sentence; NULL: another name for a row, not listed */
};

enum { OPT_STOP_AT_OPERAND = 1 };

/* Parses argv[1..argc); operands are moved to the front of argv + 1 and counted
 * in *operands; everything after `--` counts as operands. An unknown
 * option or bad value: GPUFL_E_INVAL and a sentence that names it, the nearest
 * known one, and what is allowed. */
int opt_parse(const struct opt *table, int flags, int argc, char **argv, int *operands,
              struct err *e);

/* Prints the help of a table, aligned and wrapped at 80 columns. */
void opt_help(const struct opt *table, FILE *out);

/* Parse the kinds of values, also those of the environment and of config files. 0 or
 * GPUFL_E_INVAL. */
int opt_int(const char *s, int64_t *v);
int opt_duration(const char *s, int64_t *ns);
int opt_size(const char *s, int64_t *bytes);
/* Sets one option of a table from a text as the command line would; a string's text must outlive
 * its target. where: the origin that the sentence names, such as "GPUFL_SERVER_LISTEN". 0 or INVAL.
 * [any] */
int opt_set(const struct opt *row, const char *value, const char *where, struct err *e);

int opt_bool(const char *s, bool *v); /* 1 true yes on / 0 false no off */
/* Returns the index of s among names, without regard to case, '-' and '_'; or -1. *near gets the
 * closest name. */
int opt_choice(const char *s, const char *const *names, const char **near);

#endif

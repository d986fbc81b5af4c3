/* place.h - makes what identifies a run: the library to inject, the directory of its sessions, its
 * id and its name. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_PLACE_H
#define GPUFL_CLI_TRACE_PROGRAM_PLACE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>

enum { PLACE_ID_SIZE = 37, PLACE_NAME_SIZE = 129 };

struct place {
    char library[PATH_MAX];     /* libgpufl.so, absolute */
    char dir[PATH_MAX];         /* of the sessions, absolute; "" until place_make_dir */
    char shown[PATH_MAX];       /* dir as a user would type it from here */
    bool created;               /* this run made dir: it is removed if it stays empty */
    char run[PLACE_ID_SIZE];    /* UUID that ties the sessions of this run together */
    char name[PLACE_NAME_SIZE]; /* of the run */
};

/* Chooses run and name. given: --name or NULL; command: NULL-terminated argv. */
int place_identify(struct place *p, const char *given, char *const *command, struct err *e);

/* Finds libgpufl.so: GPUFL_LIBRARY, next to this executable, the installed one. */
int place_find_library(struct place *p, struct err *e);

/* Makes the directory `output`; NULL: a new one in the current directory. */
int place_make_dir(struct place *p, const char *output, struct err *e);

/* Makes the place of a pass: a new directory "NUMBER-ENGINE" in the run's, which must not hold one
 * of that name yet. */
int place_make_pass(const struct place *run, unsigned number, const char *engine, struct place *p,
                    struct err *e);

/* Removes the directory if this run made it and it stayed empty. */
void place_drop_empty(struct place *p);

/* Writes the name of a run of this command: its base name, or that of an interpreter's script:
 * "python3 -u dir/train.py" gives "train". size >= 2. */
void place_name_command(char *const *command, char *out, size_t size);

#endif

/* why.h - finds why a run has no session: one reason, based on evidence, with what to do. It loads
 * libraries to try them: call it in a helper process. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_WHY_H
#define GPUFL_CLI_TRACE_OUTCOME_WHY_H

#include "base/buf.h"
#include "cli/trace/options/options.h"
#include "cli/trace/program/marks.h"
#include "cli/trace/program/place.h"
#include "cli/trace/program/seen.h"

/* Holds facts about the program beyond its sessions. */
struct evidence {
    struct marks marks;
    struct seen seen;
};

struct why {
    const struct trace_request *request;
    const struct place *place;
    const struct evidence *evidence; /* NULL: none */
    unsigned blank;                  /* sessions that ended before their first record */
    int status;                      /* wait status of the program */
};

/* Appends one or two sentences. */
void why_no_session(const struct why *w, struct buf *out);

/* Lists kinds of executables, as far as injection is concerned. */
enum why_binary {
    WHY_UNKNOWN, /* not readable, or no ELF file or script */
    WHY_DYNAMIC, /* the usual case: libraries can be loaded */
    WHY_STATIC,  /* no dynamic loader */
    WHY_MUSL,    /* musl's loader: glibc libraries do not load */
    WHY_FOREIGN, /* of another architecture or word size */
};

/* Returns the kind of a file. path: an ELF file, or a script, of which the interpreter counts. */
enum why_binary why_look_at(const char *path);

/* Finds the file that execvp(command) runs; false: none. size: PATH_MAX. */
bool why_resolve(const char *command, char *out, size_t size);

#endif

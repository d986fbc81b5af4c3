/* fold.h - decides whose code a frame is, and which frame of a stack is shown to a person.
 *
 * The rule: a stack is read from its innermost frame outwards, every inlined function by itself.
 * Frames of the driver, of the CUDA runtime (also if it is linked in), of libraries and
 * frameworks, of Python's own modules and of its interpreter are skipped. The first frame left is
 * the user's, in Python or native code. If there is none, the first of these that exists is taken:
 *   1. the innermost frame of generated Python that has a line: `python -c` has no other,
 *   2. the innermost frame of Python that has a line,
 *   3. the innermost native frame of a library or the interpreter that has a line,
 *   4. the innermost of them that has a name,
 *   5. the innermost frame of the program's own file, which has no name,
 *   6. the innermost of the others that is in a known file,
 *   7. none: <driver-internal>, or <unknown> if a native frame is in no known file. The C library
 *      and functions that start threads do not count, because the driver's own threads end with
 *      them, too.
 * A native frame counts as the user's if it has a line in a file that is not a library's, or if it
 * is in the program itself. A library (lib*.so) without lines is never the user's, because no line
 * of it could be shown. The rule is a table, in which the first match counts: see fold.c. [any] */
#ifndef GPUFL_SYMBOL_FOLD_H
#define GPUFL_SYMBOL_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fold_kind {
    FOLD_USER,
    FOLD_GENERATED,   /* Python code from a text: of a dataclass, or of `python -c` */
    FOLD_LIBRARY,     /* frameworks, packages, the system's libraries */
    FOLD_STDLIB,      /* Python's own modules */
    FOLD_INTERPRETER, /* Python's interpreter */
    FOLD_RUNTIME,     /* the CUDA runtime, and the stubs that its compiler makes for kernels */
    FOLD_SYSTEM,      /* C and C++ library, which start programs and threads */
    FOLD_DRIVER,      /* libcuda, CUPTI, GPUFlight itself */
    FOLD_UNKNOWN,     /* no name, in the program's own file or in no file */
    FOLD_MARK,        /* <driver-internal>, <truncated>: no frame */
};

/* Lists the values of frame.kind. */
enum fold_language { FOLD_NATIVE = 1, FOLD_PYTHON = 2, FOLD_NOTE = 3 };

/* Describes a frame, or one level of an inlined one. A text that is NULL or "" is unknown. */
struct fold_frame {
    enum fold_language language;
    const char *function; /* mangled or not */
    const char *module;   /* native: path of the file of code */
    const char *file;     /* source file */
    int64_t line;         /* below 1: unknown */
};

/* Returns true if the frame is in the program's own file and has neither a name nor a line. Such a
 * frame counts neither as the user's nor as a library's. */
bool fold_is_nameless_program(const struct fold_frame *f);

#define FOLD_NONE SIZE_MAX

enum fold_kind fold_classify(const struct fold_frame *f);

/* Returns "user", "library" and so on. [tests] */
const char *fold_name(enum fold_kind k);

/* Returns the index of the frame to show, frames innermost first; FOLD_NONE: <driver-internal>. */
size_t fold_user(const struct fold_frame *frames, size_t n);

#endif

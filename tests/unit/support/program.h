/* program.h - makes, for tests, a program with stacks, waits and kernels, as the rows of its log.
 *
 * Rows collect as lines of text; program_read decodes them into a model like the
 * parts of a session. Names are passed as text, and the helper interns them. */
#ifndef GPUFL_TESTS_PROGRAM_H
#define GPUFL_TESTS_PROGRAM_H

#include "analyze/model/model.h"
#include "base/intern.h"
#include "tests/unit/support/make_log.h"

#include <stdbool.h>

struct program {
    struct make_log log;
    uint32_t names;       /* last id of a name */
    int64_t ids;          /* last id of a module, frame or stack */
    int64_t configs;      /* last id of program_config */
    int64_t correlation;  /* last one */
    int64_t launches[16]; /* by thread */
    int64_t now;          /* ns on the host */
    int64_t gpu;          /* ns, until which the GPU has work */
    bool reported;        /* kernel rows have the thread that launched them */
};

struct program_kernel {
    int64_t ns;     /* its time on the GPU */
    int64_t config; /* id of program_config or make_log_config; 0: unknown */
    int64_t thread;
    int64_t stack;
    int64_t scope; /* instance of program_scope; 0: none */
};

void program_init(struct program *p, const char *session);
void program_fini(struct program *p);

int64_t program_name(struct program *p, const char *text);

/* Adds a Python frame, called by stack `parent` (0: outermost); returns the stack's id. */
int64_t program_python(struct program *p, int64_t parent, const char *file, const char *function,
                       int64_t line);
/* Adds a native frame at an offset of a module; returns the stack's id. *frame gets the frame's id,
 * if frame is not NULL. */
int64_t program_native(struct program *p, int64_t parent, const char *module, int64_t offset,
                       int64_t *frame);
/* Adds a mark in place of frames, called by stack `parent`; returns the stack's id. */
int64_t program_mark(struct program *p, int64_t parent, const char *text);
/* Adds a symbol row of a native frame. */
void program_symbol(struct program *p, int64_t frame, int64_t level, const char *function,
                    const char *file, int64_t line, int64_t status);

/* Adds a launch configuration of a kernel: blocks of 128 threads, no occupancy. Returns its id. */
int64_t program_config(struct program *p, const char *kernel, int64_t blocks);
/* Launches a kernel: the host takes 2 us; the GPU begins after 3 us, or later if it has work. */
void program_launch(struct program *p, struct program_kernel k);
/* Adds the captured stack of the next launch (record launch). why: 1 long, 2 summed. */
void program_capture(struct program *p, int64_t why, int64_t thread, int64_t stack);
/* Adds a sample of a thread (record host_sample). stack 0: it ran no Python. Blocked: in futex. */
void program_look(struct program *p, int64_t time, int64_t thread, int64_t stack, int64_t state);
/* Adds a sample of a thread that is blocked outside of any system call. */
void program_look_fault(struct program *p, int64_t time, int64_t thread, int64_t stack);
/* Adds a sample of a thread without Python, with its native frames if it is blocked (in futex). */
void program_look_native(struct program *p, int64_t time, int64_t thread, int64_t stack);
/* Adds a sample of a thread that continued while it was read. */
void program_look_torn(struct program *p, int64_t time, int64_t thread);
/* Adds a scope with that instance, inside of another one (0: none). */
void program_scope(struct program *p, int64_t instance, int64_t parent, const char *name);
/* Reports the architecture of a device ("gfx942"); 1 is the one of the program's kernels. */
void program_arch(struct program *p, int64_t device, const char *arch);

/* From now on that many processes have a context on the device (record device_metric). */
void program_processes(struct program *p, int64_t processes);
/* Adds a copy to memory of the host that is not pinned, after all launched work. */
enum { PROGRAM_COPY_BACK = 2 /* memcpy.kind */ };
void program_copy_back(struct program *p, int64_t ns);

/* The host works for ns. */
void program_work(struct program *p, int64_t ns);
/* Adds a call that waits until the GPU has no work, and returns 5 us after that; if there was no
 * work, it takes 1 us. */
void program_sync(struct program *p, int64_t call, int64_t stack, int64_t thread);
/* Does what program_sync does, with a wait of any length, which the row has. */
void program_call(struct program *p, struct wait_row w);
/* Adds the end of a clean session. */
void program_end(struct program *p);
/* Ends a clean session, writes its log to the test's directory as device.log, and frees p. */
void program_write(struct program *p);

/* Returns a visitor that puts what a decoder reads into a model. */
struct wire_visitor program_visitor(struct model *m);

/* Reads the log into m, which is initialized, and finishes m. */
void program_read(struct program *p, struct model *m);
/* Does what program_read does, with the lines in another order, which seed chooses; headers and
 * names stay in front. */
void program_read_shuffled(struct program *p, struct model *m, unsigned seed);

#endif

/* runner.h - `gpufl trace` over the fake libraries: a run, the lines that its program printed, and
 * its `gpufl report --json`. Called by one thread only. */
#ifndef GPUFL_TESTS_FAKE_RUNNER_H
#define GPUFL_TESTS_FAKE_RUNNER_H

#include "tests/e2e/child.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

struct run_setup {
    const char *const *env;     /* "NAME=value" beyond the defaults; NULL: none */
    const char *const *options; /* of `gpufl trace`; NULL: none */
    const char *const *program; /* arguments of the program; NULL: "1000" */
    const char *binary;         /* below the build directory; NULL: fake_program or, linked: */
    bool linked;                /* the program that calls libgpufl itself */
    bool alone;                 /* without `gpufl trace` */
    bool own_library; /* a copy of libgpufl.so that no other test opens: `gpufl trace` takes
                                   note of who opens the file, and does not know whose processes those are */
    const char *top;  /* rows of the report's tables of kernels and scopes; NULL: all */
    bool reported;    /* `gpufl trace` prints its report, too: the test reads it on stderr */
};

struct run {
    struct world w;
    struct child c;
    char logs[PATH_MAX];
    const char *top;
    int code;       /* exit code */
    json_t *said;   /* what the program printed, an array of its lines */
    json_t *report; /* owned; NULL if there is no session */
};

/* Starts a run; run_end waits for it, reads the program's lines, and makes the report. */
void run_start(struct run *r, const struct run_setup *s);
void run_end(struct run *r);
void run_free(struct run *r);

/* Starts a run and ends it. */
void run_all(struct run *r, const struct run_setup *s);

/* Returns the report of what is on disk now, NULL if there is none; caller frees. It lacks the
 * message that the machine was too busy to sample in time, which is not about the run. */
json_t *run_report(const struct run *r);

/* Waits until the report has this number, or more, at the path. */
void run_expect(struct run *r, const char *path, int64_t least);

/* Returns a value of a document by its path: "ledger.launches", "devices.1.metrics". Fails if there
 * is none; int_at also fails if it is no integer. */
json_t *at(json_t *document, const char *path);
int64_t int_at(json_t *document, const char *path);
bool unknown_at(json_t *document, const char *path); /* it is null */
const char *text_at(json_t *document, const char *path);

/* Returns the ns that GPUs were idle because an engine kept the program, before its first step and
 * after. */
int64_t idle_of_engine(const struct run *r);

/* Returns the text of the session's first message of that code; NULL: there is none. */
const char *message_of(const struct run *r, const char *code);

/* Returns "status" or "reason" of a capability, "" if there is none. */
const char *capability_of(const struct run *r, const char *feature, const char *key);

/* Returns the last value of a setting of an engine, "" if there is none. */
const char *setting_of_engine(const struct run *r, const char *engine, const char *name);

/* Fails, and prints all output, if the text is not in it. */
void check_contains(const struct run *r, const char *where, const char *text);
/* Checks that the text report's section of that name contains the sentence, in whichever lines it
 * is. */
void check_section(const struct run *r, const char *section, const char *text);

/* Checks that the program ended by itself: its exit code, its stdout, no sanitizer's report. */
void check_program(const struct run *r, int code);

/* Checks that the capture is complete, and that every number is the program's own. */
void check_complete(const struct run *r);

/* Checks that kernels were recorded, as many as the program launched. */
void check_every_kernel(const struct run *r);

/* Describes an engine that was asked for and is not available, so that another one runs instead. */
struct engine_case {
    const char *engine;   /* "PcSampling" */
    const char *feature;  /* its capability */
    const char *code;     /* of its message, before ".unavailable"; NULL: as the feature */
    const char *script;   /* the variable or option that makes it so: "FAKE_CUPTI=…" */
    const char *sentence; /* in the message, the capability's reason and the setting "why" */
    const char *instead;  /* the engine that runs; NULL: Trace */
};

/* Checks that the program ended with that exit code, that the session says why the engine is not
 * available, and which engine ran instead. */
void check_instead(const struct run *r, const struct engine_case *c, int exit_code);

/* Does what check_instead does, and checks that Trace has every kernel. */
void check_refused(const struct run *r, const struct engine_case *c, int exit_code);

/* This is the name of a row of a table of CUPTI's functions, as in
 * CUPTI_PC_FUNCTIONS(FUNCTION_NAME). */
#define FUNCTION_NAME(required, result, name, arguments) #name,

enum { EVERY_CALL = 0 };

/* Calls one(script) for each of the functions, up to NULL, and for each of its calls that fails:
 * call 1 to last, and all of them (EVERY_CALL). If the program does not make the call of a number,
 * higher numbers are left out. */
void each_fault(const char *const *functions, int last, void (*one)(const char *script));

/* Returns the path of a file of the build directory; one of 8 buffers in turn. */
const char *built_file(const char *name);

#endif

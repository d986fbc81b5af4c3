/* words.h - which programs a command line starts, as far as its text shows: "env A=1 sudo -u
 * x prog" and "bash -c 'cd x && sudo prog'" start sudo. A guess for sentences, not a shell. One
 * thread. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_WORDS_H
#define GPUFL_CLI_TRACE_OUTCOME_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Programs that start others in an environment of their own. */
enum word_wrapper {
    WORD_NONE,
    WORD_ENV,    /* env -i and its like, on this host */
    WORD_USER,   /* sudo and its like, on this host */
    WORD_REMOTE, /* elsewhere: in a container, on another host */
};

/* The first wrapper that the command starts; its name, as typed, goes to name (size bytes). */
enum word_wrapper words_wrapper(char *const *command, char *name, size_t size);

#endif

/* words.h - finds which programs a command line starts, as far as its text shows: "env A=1 sudo -u
 * x prog" and "bash -c 'cd x && sudo prog'" start sudo. The result is a guess for messages: this is
 * no parser of shell scripts. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_WORDS_H
#define GPUFL_CLI_TRACE_OUTCOME_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Lists programs that start other programs in another environment. */
enum word_wrapper {
    WORD_NONE,
    WORD_ENV,    /* env -i and similar ones, on this host */
    WORD_USER,   /* sudo and similar ones, on this host */
    WORD_REMOTE, /* elsewhere: in a container, on another host */
};

/* Returns the first wrapper that the command starts; its name, as typed, goes to name (size
 * bytes). */
enum word_wrapper words_wrapper(char *const *command, char *name, size_t size);

#endif

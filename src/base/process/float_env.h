/* float_env.h - the floating-point environment of work that we do on a program's thread.
 *
 * A program may have turned floating-point traps on (feenableexcept), or round and flush to zero in
 * its own way. A thread inherits that from the thread that creates it. A conversion of ours that is
 * inexact would then kill the program with SIGFPE, and its rounding would change our numbers.
 *
 * Our own threads begin with the default environment (thread.c). Hot callbacks on the program's
 * threads use integers only. All other work on the program's threads (init, windows, ranges,
 * report, upload, the exit handlers) stands inside FLOAT_ENV_DEFAULT: the default environment is
 * in force until the end of the block, then the program's own one again, its sticky flags
 * included. [any] */
#ifndef GPUFL_BASE_FLOAT_ENV_H
#define GPUFL_BASE_FLOAT_ENV_H

#include <fenv.h>

struct float_env {
    fenv_t kept; /* the program's */
};

static inline struct float_env float_env_enter(void)
{
    struct float_env e;
    fegetenv(&e.kept);
    fesetenv(FE_DFL_ENV);
    return e;
}

/* fesetenv raises nothing: flags that were set before are set again, traps are on again. */
static inline void float_env_leave(struct float_env *e)
{
    fesetenv(&e->kept);
}

/* A declaration: in force from there to the end of the block, however the block is left. */
#define FLOAT_ENV_DEFAULT                                                                          \
    struct float_env float_env_kept __attribute__((cleanup(float_env_leave), unused)) =            \
        float_env_enter()

#endif

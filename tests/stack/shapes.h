/* shapes.h - has functions with different kinds of frames, which call a callback.
 *
 * These functions are compiled with -O2 -fomit-frame-pointer in every build, like most programs. */
#ifndef TESTS_STACK_SHAPES_H
#define TESTS_STACK_SHAPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void shape_probe(void *arg);
typedef int shape_fn(shape_probe *probe, void *arg, int n);

struct shape {
    const char *name;
    shape_fn *call;
    int n;
};

extern const struct shape shapes[]; /* ends with a name of NULL */

int shape_plain(shape_probe *probe, void *arg, int n);
int shape_deep(shape_probe *probe, void *arg, int n); /* calls itself n times */
int shape_path(shape_probe *probe, void *arg, int n); /* a stack of its own for each n < 2^16 */
int shape_cxx(shape_probe *probe, void *arg, int n);
int shape_keeps_fp(shape_probe *probe, void *arg, int n); /* rbp points to its frame at the call */

#ifdef __cplusplus
}
#endif

#endif

/* observe.h - for the programs with which symbols are tested: prints where it was called.
 *
 * observe("mark") prints the mark and the address of the call in the file's own numbering;
 * the test looks the address up and compares with the line that has the comment @mark. */
#ifndef GPUFL_TESTS_OBSERVE_H
#define GPUFL_TESTS_OBSERVE_H

#ifdef __cplusplus
extern "C" {
#endif

void observe(const char *mark);

#ifdef __cplusplus
}
#endif

/* Put this after a call, so that the call is not in tail position. */
#define STAY      __asm__ volatile("")
#define IN_LINE   static inline __attribute__((always_inline))
#define OUT_LINE  __attribute__((noinline, noclone))
#define OUT_LINED __attribute__((noinline))

#endif

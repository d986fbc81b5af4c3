/* abi.h - for tests that compare our declarations of a library with its own headers: the compiler
 * does the checks. For C and C++. */
#ifndef GPUFL_TESTS_ABI_H
#define GPUFL_TESTS_ABI_H

#include <assert.h>
#include <stddef.h>

#define SAME(ours, theirs)                                                                         \
    static_assert((long long)(ours) == (long long)(theirs), #ours " is " #theirs)

/* Checks that a field has the same offset and size in both. */
#define FIELD(ours, member, theirs, their_member)                                                  \
    SAME(offsetof(struct ours, member), offsetof(theirs, their_member));                           \
    SAME(sizeof(((struct ours *)0)->member), sizeof(((theirs *)0)->their_member))

#endif

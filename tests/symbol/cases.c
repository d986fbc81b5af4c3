/* cases.c - calls in C: in a function, inlined once and twice, after #line. */
#include "observe.h"

IN_LINE void inner(int n)
{
    for (int i = 0; i < n; i++)
        observe("c_inner"); /* @c_inner */
    STAY;
}

IN_LINE void outer(int n)
{
    inner(n); /* @c_outer */
    STAY;
}

OUT_LINED void plain(void)
{
    observe("c_plain"); /* @c_plain */
    STAY;
}

OUT_LINED void twice(int n)
{
    outer(n); /* @c_twice */
    STAY;
}

static OUT_LINED void hidden(void)
{
    observe("c_hidden"); /* @c_hidden */
    STAY;
}

int main(int argc, char **argv)
{
    (void)argv;
    plain();
    twice(argc);
    hidden();
    STAY;
    return 0;
}

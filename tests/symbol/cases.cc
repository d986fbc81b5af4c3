// cases.cc - calls in C++: members, templates, lambdas, an anonymous namespace, inlined or not.
#include "observe.h"

namespace train
{

template <typename T, int N> IN_LINE void fill(T value)
{
    for (T i = 0; i < value + N; i++)
        observe("template"); /* @template */
    STAY;
}

struct Step {
    OUT_LINED void run(int n);
    void inlined(int n) __attribute__((always_inline))
    {
        fill<int, 0>(n); /* @in_member */
        STAY;
    }
};

OUT_LINED void Step::run(int n)
{
    inlined(n); /* @in_run */
    STAY;
}

namespace
{

OUT_LINED void unnamed()
{
    observe("unnamed"); /* @unnamed */
    STAY;
}

IN_LINE void unnamed_inline()
{
    observe("unnamed_inline"); /* @unnamed_inline */
    STAY;
}

} // namespace

OUT_LINED void with_lambda(int n)
{
    auto body = [n](int k) __attribute__((always_inline))
    {
        if (k <= n)
            observe("lambda"); /* @lambda */
        STAY;
    };
    body(1); /* @with_lambda */
    auto called = [n](int k) __attribute__((noinline))
    {
        if (k <= n)
            observe("lambda_out"); /* @lambda_out */
        STAY;
    };
    called(n); /* @calls_lambda */
    STAY;
}

} // namespace train

int main(int argc, char **)
{
    train::Step step;
    step.run(argc);
    train::unnamed();
    train::unnamed_inline(); /* @in_main */
    train::with_lambda(argc);
    STAY;
    return 0;
}

// shapes.cpp - C++ frames: templates, lambdas, a functor through std::function, inlined functions.
#include "tests/stack/shapes.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace
{
template <int Levels> struct nested {
    template <class F> static __attribute__((noinline)) int call(F &&f, int n)
    {
        return nested<Levels - 1>::call(std::forward<F>(f), n + Levels) + 1;
    }
};

template <> struct nested<0> {
    template <class F> static __attribute__((noinline)) int call(F &&f, int n)
    {
        return f(n) + 1;
    }
};

inline int inlined(shape_probe *probe, void *arg, int n)
{
    return shape_plain(probe, arg, n) * 3;
}

struct guard { // its destructor gives unwinding work
    std::vector<int> v;
    explicit guard(int n) : v(static_cast<size_t>(n), n)
    {
    }
    ~guard()
    {
        std::reverse(v.begin(), v.end());
    }
};
} // namespace

extern "C" int shape_cxx(shape_probe *probe, void *arg, int n)
{
    guard g(n);
    std::function<int(int)> f = [=](int m) { return inlined(probe, arg, m) + m; };
    int sum = 0;
    std::for_each(g.v.begin(), g.v.begin() + 1,
                  [&](int m) { sum += nested<4>::call([&](int k) { return f(k + m); }, m); });
    return sum + g.v.front();
}

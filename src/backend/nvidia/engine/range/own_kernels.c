/* own_kernels.c - see range/own_kernels.h. For a program without a kernel with these names, nothing
 * is kept. Otherwise it is kept which of the latest million ids were launches of such a kernel:
 * records come before so many launches. */
#include "backend/nvidia/engine/range/own_kernels.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { WORDS = 1 << 15, BITS = 32 };

/* Lists the names in CUDA 13.0; those of other versions are not known. */
static const char *const names[] = {"WaitNs"};

/* This is a word for 32 ids: the upper half tells which ids, the lower has a bit for each that was
 * launched. */
static _Atomic uint64_t launched[WORDS];

static bool is_named(const char *name)
{
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Returns the upper half of an id's word. Halves count from 1, because a word that was never
 * written has the half 0. */
static uint64_t half_of(uint32_t correlation)
{
    return (uint64_t)(correlation / BITS + 1) << BITS;
}

static uint64_t bit_of(uint32_t correlation)
{
    return UINT64_C(1) << correlation % BITS;
}

static _Atomic uint64_t *word_of(uint32_t correlation)
{
    return &launched[correlation / BITS % WORDS];
}

void own_kernels_launch(const char *name, uint32_t correlation)
{
    if (__builtin_expect(!is_named(name), 1))
        return;
    _Atomic uint64_t *word = word_of(correlation);
    uint64_t half = half_of(correlation), is = atomic_load_explicit(word, memory_order_relaxed);
    uint64_t then;
    do
        then = (is >> BITS == half >> BITS ? is : half) | bit_of(correlation);
    while (!atomic_compare_exchange_weak_explicit(word, &is, then, memory_order_release,
                                                  memory_order_relaxed));
}

bool own_kernels_is(const char *name, uint32_t correlation)
{
    if (!is_named(name))
        return false;
    uint64_t is = atomic_load_explicit(word_of(correlation), memory_order_acquire);
    return is >> BITS != half_of(correlation) >> BITS || !(is & bit_of(correlation));
}

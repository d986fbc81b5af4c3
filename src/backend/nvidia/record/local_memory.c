/* local_memory.c - see local_memory.h.
 *
 * Two tables of atomic words with linear probing, from which nothing is removed: the functions that
 * were met, by handle and name (because a handle may be given to another function when a module is
 * unloaded); and what the driver returned, by a hash of the name. For a known function one look-up
 * is enough. Functions for which there is no room stay unknown. */
#include "backend/nvidia/record/local_memory.h"

#include "backend/nvidia/library/cuda.h"
#include "base/intern.h"
#include "wire/record.h"

#include <stdatomic.h>
#include <string.h>

enum { FUNCTIONS = 1 << 14, KERNELS = 1 << 14, PROBES = 16 };

static struct {
    _Atomic uint64_t functions[FUNCTIONS]; /* handle and name, mixed; 0: free; written once */

    struct {
        _Atomic uint64_t name;  /* hash; 0: free; written once */
        _Atomic uint32_t bytes; /* + 1; 0: not known yet */
    } kernels[KERNELS];
} me;

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 31) * 0x9E3779B97F4A7C15u;
    return (h ^ h >> 29) | 1; /* never 0 */
}

static uint64_t hash_of(const char *text)
{
    return mix(intern_hash(text, strlen(text)));
}

static _Atomic uint64_t *slot_of(uint64_t key, size_t probe)
{
    return &me.functions[((key >> 20) + probe) & (FUNCTIONS - 1)];
}

/* Returns true if the key is new; it is added if there is room. */
static bool first_time(uint64_t key)
{
    for (size_t i = 0; i < PROBES; i++) {
        _Atomic uint64_t *slot = slot_of(key, i);
        uint64_t at = atomic_load_explicit(slot, memory_order_relaxed);
        if (at == key)
            return false;
        if (at == 0 && atomic_compare_exchange_strong_explicit(slot, &at, key, memory_order_relaxed,
                                                               memory_order_relaxed))
            return true;
        if (at == key) /* another thread was faster with the same one */
            return false;
    }
    return false;
}

static void put(uint64_t name, uint32_t bytes)
{
    for (size_t i = 0; i < PROBES; i++) {
        size_t slot = ((name >> 20) + i) & (KERNELS - 1);
        uint64_t at = 0;
        if (!atomic_compare_exchange_strong_explicit(&me.kernels[slot].name, &at, name,
                                                     memory_order_relaxed, memory_order_relaxed) &&
            at != name)
            continue;
        uint32_t known = atomic_load_explicit(&me.kernels[slot].bytes, memory_order_relaxed);
        while (known < bytes + 1 &&
               !atomic_compare_exchange_weak_explicit(&me.kernels[slot].bytes, &known, bytes + 1,
                                                      memory_order_release, memory_order_relaxed))
            ;
        return;
    }
}

/* Asks the driver. A launch starts a function or, from the CUDA runtime, a kernel of a library: the
 * driver launches both, but returns attributes of functions only. */
static bool ask(const struct cuda *cuda, void *launched, int *bytes)
{
    void *function;
    if (cuda->cuFuncGetAttribute(bytes, CUDA_FUNCTION_LOCAL_SIZE, launched) == CUDA_OK)
        return true;
    return cuda->cuKernelGetFunction && cuda->cuKernelGetFunction(&function, launched) == CUDA_OK &&
           cuda->cuFuncGetAttribute(bytes, CUDA_FUNCTION_LOCAL_SIZE, function) == CUDA_OK;
}

static __attribute__((noinline)) void launch_of(uint64_t key, void *launched, const char *symbol)
{
    int bytes = 0;
    if (!first_time(key))
        return;
    const struct cuda *cuda = cuda_loaded();
    if (cuda && cuda->cuFuncGetAttribute && ask(cuda, launched, &bytes) && bytes >= 0)
        put(hash_of(symbol), (uint32_t)bytes);
}

void local_memory_launch(void *launched, const char *symbol)
{
    uint64_t key = mix((uintptr_t)launched * 0x9E3779B97F4A7C15u ^ (uintptr_t)symbol);
    bool seen = atomic_load_explicit(slot_of(key, 0), memory_order_relaxed) == key;
    if (launched && symbol && !seen)
        launch_of(key, launched, symbol);
}

int64_t local_memory_find(const char *symbol)
{
    uint64_t name = hash_of(symbol);
    for (size_t i = 0; i < PROBES; i++) {
        size_t slot = ((name >> 20) + i) & (KERNELS - 1);
        uint64_t at = atomic_load_explicit(&me.kernels[slot].name, memory_order_relaxed);
        if (at == name) {
            uint32_t bytes = atomic_load_explicit(&me.kernels[slot].bytes, memory_order_acquire);
            return bytes ? (int64_t)bytes - 1 : CELL_NULL;
        }
        if (at == 0)
            break;
    }
    return CELL_NULL;
}

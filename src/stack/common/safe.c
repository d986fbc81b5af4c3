/* safe.c - makes a copy that returns false if a load would fault.
 *
 * A page is probed with a system call that reads eight bytes of it and does nothing else:
 * rt_sigprocmask with an operation that does not exist first copies the mask (EFAULT if it cannot
 * read it) and then refuses the operation (EINVAL). It takes a fifth of the time of
 * process_vm_readv, needs no process id, which a forked child would have to renew, and no
 * permission that containers may lack. If a sandbox returns other errors, which the first use
 * finds out, process_vm_readv is used.
 *
 * Readable pages are remembered in a table shared by all threads: one word per page, its number
 * and the generation in which it was probed, so that readers see a whole entry or none. A read of a
 * remembered page that another thread has unmapped would fault: so callers read only what belongs
 * to the calling thread, and every flush begins a new generation. */
#include "stack/common/safe.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    SAFE_PAGE_BITS = 12, /* of the smallest page; larger ones are probed in parts */
    SAFE_PAGES = 4096,   /* pages remembered */
    SAFE_GENERATION_BITS = 16,
    SAFE_ADDRESS_BITS = 60, /* of an address that a word has room for; no processor has more */
    SAFE_SIGSET_BYTES = 8,  /* the kernel's, not libc's */
};

enum probe { PROBE_UNKNOWN, PROBE_SIGPROCMASK, PROBE_READV };

/* Holds page number << generation bits | generation. Relaxed: a word is complete in itself. */
static _Atomic uint64_t pages[SAFE_PAGES];
static _Atomic uint64_t generation = 1; /* never 0: an empty word matches none */
static _Atomic int probe;               /* enum probe; every thread finds the same one */

/* Holds the copier of the one thread that has one, and that thread. Not in thread-local storage, of
 * which a library that is loaded late gets little. Release: who sees the copier sees its thread. */
static _Atomic(const struct safe_copier *) the_copier;
static _Atomic uintptr_t copier_thread;

/* Returns the calling thread's copier; NULL: it has none. */
static inline const struct safe_copier *safe_copier(void)
{
    const struct safe_copier *c = atomic_load_explicit(&the_copier, memory_order_acquire);
    if (__builtin_expect(c != NULL, 0) &&
        atomic_load_explicit(&copier_thread, memory_order_relaxed) != (uintptr_t)pthread_self())
        c = NULL;
    return c;
}

void safe_copy_with(const struct safe_copier *c)
{
    if (c)
        atomic_store_explicit(&copier_thread, (uintptr_t)pthread_self(), memory_order_relaxed);
    atomic_store_explicit(&the_copier, c, memory_order_release);
}

bool safe_copies(void)
{
    return safe_copier() != NULL;
}

static bool safe_ask_sigprocmask(uintptr_t page)
{
    return syscall(SYS_rt_sigprocmask, -1, (const void *)page, NULL, SAFE_SIGSET_BYTES) == -1 &&
           errno == EINVAL;
}

static bool safe_ask_readv(uintptr_t page)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {(void *)page, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

static enum probe safe_probe_find(void)
{
    static const uint64_t there[2];
    uintptr_t nowhere = ~(uintptr_t)0 << SAFE_PAGE_BITS; /* belongs to the kernel */
    bool good = safe_ask_sigprocmask((uintptr_t)there) && !safe_ask_sigprocmask(nowhere);
    enum probe found = good ? PROBE_SIGPROCMASK : PROBE_READV;
    atomic_store_explicit(&probe, found, memory_order_relaxed);
    return found;
}

static __attribute__((noinline, cold)) bool safe_ask(uintptr_t page)
{
    int saved = errno;
    enum probe how = atomic_load_explicit(&probe, memory_order_relaxed);
    if (how == PROBE_UNKNOWN)
        how = safe_probe_find();
    bool there = how == PROBE_SIGPROCMASK ? safe_ask_sigprocmask(page) : safe_ask_readv(page);
    errno = saved;
    return there;
}

static inline bool safe_page(uintptr_t number, uint64_t now)
{
    _Atomic uint64_t *slot = &pages[(number ^ number >> 12) % SAFE_PAGES];
    uint64_t want = (uint64_t)number << SAFE_GENERATION_BITS | now;
    if (__builtin_expect(atomic_load_explicit(slot, memory_order_relaxed) == want, 1))
        return true;
    if (!safe_ask(number << SAFE_PAGE_BITS))
        return false;
    atomic_store_explicit(slot, want, memory_order_relaxed);
    return true;
}

/* Words are copied without memcpy, and without a loop that the compiler makes a memcpy: sanitizers
 * would check memory that is not an object of this program. */
typedef uint64_t __attribute__((aligned(1), may_alias)) safe_word64;

static __attribute__((no_sanitize("address", "thread", "undefined"))) void
safe_copy(void *to, const void *from, size_t n)
{
    char *t = to;
    const char *f = from;
    for (; n >= sizeof(safe_word64); n -= sizeof(safe_word64)) {
        *(safe_word64 *)t = *(const safe_word64 *)f;
        t += sizeof(safe_word64);
        f += sizeof(safe_word64);
        __asm__ volatile("" ::: "memory");
    }
    for (; n; n--) {
        *t++ = *f++;
        __asm__ volatile("" ::: "memory");
    }
}

/* Returns true if n bytes are readable, n above 0. */
static inline bool safe_pages(const void *from, size_t n)
{
    uintptr_t first = (uintptr_t)from, last = first + n - 1;
    if (last < first || last >> SAFE_ADDRESS_BITS)
        return false;
    uint64_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    for (uintptr_t p = first >> SAFE_PAGE_BITS; p <= last >> SAFE_PAGE_BITS; p++)
        if (!safe_page(p, now))
            return false;
    return true;
}

bool safe_read(void *to, const void *from, size_t n)
{
    if (n == 0)
        return true;
    const struct safe_copier *copier = safe_copier();
    if (__builtin_expect(copier != NULL, 0))
        return copier->read(copier->arg, to, from, n);
    if (!safe_pages(from, n))
        return false;
    safe_copy(to, from, n);
    return true;
}

const void *safe_map(const void *at, size_t n)
{
    const struct safe_copier *copier = safe_copier();
    if (copier)
        return copier->map(copier->arg, at, n);
    return safe_pages(at, n) ? at : NULL;
}

bool safe_there(const void *at)
{
    uintptr_t here = (uintptr_t)at;
    return !(here >> SAFE_ADDRESS_BITS) &&
           safe_page(here >> SAFE_PAGE_BITS,
                     atomic_load_explicit(&generation, memory_order_relaxed));
}

__attribute__((no_sanitize("address", "thread", "undefined"))) bool safe_word(uint64_t *to,
                                                                              const void *from)
{
    uintptr_t at = (uintptr_t)from;
    if (__builtin_expect(at % sizeof *to || !safe_there(from), 0))
        return safe_read(to, from, sizeof *to);
    *to = *(const safe_word64 *)from;
    return true;
}

bool safe_read_any(void *to, const void *from, size_t n)
{
    const struct safe_copier *copier = safe_copier();
    if (copier)
        return n == 0 || copier->read(copier->arg, to, from, n);
    int saved = errno;
    struct iovec local = {to, n}, remote = {(void *)from, n};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    bool refused = got < 0 && errno != EFAULT;
    errno = saved;
    if (!refused)
        return got >= 0 && (size_t)got == n;
    /* in a sandbox the page can be unmapped between the probe and the copy */
    uintptr_t first = (uintptr_t)from, last = first + n - 1;
    if (last < first || last >> SAFE_ADDRESS_BITS)
        return n == 0;
    for (uintptr_t p = first >> SAFE_PAGE_BITS; p <= last >> SAFE_PAGE_BITS; p++)
        if (!safe_ask(p << SAFE_PAGE_BITS))
            return false;
    safe_copy(to, from, n);
    return true;
}

void safe_age(void)
{
    uint64_t next = atomic_load_explicit(&generation, memory_order_relaxed) + 1;
    if (next >> SAFE_GENERATION_BITS) { /* every few hours: old words would become valid again */
        for (int i = 0; i < SAFE_PAGES; i++)
            atomic_store_explicit(&pages[i], 0, memory_order_relaxed);
        next = 1;
    }
    atomic_store_explicit(&generation, next, memory_order_relaxed);
}

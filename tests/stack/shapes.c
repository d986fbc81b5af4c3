/* shapes.c - has c functions with frames of every kind that gcc makes. */
#include "tests/stack/shapes.h"

#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile int sink;

NOINLINE int shape_plain(shape_probe *probe, void *arg, int n)
{
    probe(arg);
    return n + 1;
}

NOINLINE int shape_deep(shape_probe *probe, void *arg, int n)
{
    if (n == 0)
        return shape_plain(probe, arg, n);
    int r = shape_deep(probe, arg, n - 1);
    __asm__ volatile("" : "+r"(r)); /* no loop */
    return r + 1;
}

/* Every bit of n chooses one of two functions, so that each n has a stack of its own. */
static NOINLINE int shape_one(shape_probe *probe, void *arg, int n);

static NOINLINE int shape_zero(shape_probe *probe, void *arg, int n)
{
    if (n <= 1)
        return shape_plain(probe, arg, n);
    return (n & 1 ? shape_one : shape_zero)(probe, arg, n >> 1) + 2;
}

static NOINLINE int shape_one(shape_probe *probe, void *arg, int n)
{
    if (n <= 1)
        return shape_plain(probe, arg, n) + 1;
    return (n & 1 ? shape_one : shape_zero)(probe, arg, n >> 1) + 3;
}

NOINLINE int shape_path(shape_probe *probe, void *arg, int n)
{
    return shape_zero(probe, arg, n | 1 << 16) + 1;
}

static NOINLINE int shape_tail(shape_probe *probe, void *arg, int n)
{
    sink = n;
    return shape_plain(probe, arg, n + 1); /* a jump */
}

static NOINLINE int shape_tails(shape_probe *probe, void *arg, int n)
{
    return shape_tail(probe, arg, n) * 2;
}

static NOINLINE int shape_alloca(shape_probe *probe, void *arg, int n)
{
    char *p = alloca((size_t)n);
    memset(p, n, (size_t)n);
    sink = p[n / 2];
    int r = shape_plain(probe, arg, n);
    sink = p[n / 3];
    return r;
}

/* All callee-saved registers are in use, and are pushed one by one. */
int shape_registers(shape_probe *probe, void *arg, int n);

NOINLINE int shape_registers(shape_probe *probe, void *arg, int n)
{
    long a = n + 1, b = n * 3, c = n ^ 5, d = n / 7, e = n - 9, f = n * n;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    int r = shape_plain(probe, arg, n);
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    return (int)(a + b + c + d + e + f) + r;
}

static NOINLINE int shape_large(shape_probe *probe, void *arg, int n)
{
    volatile char room[400000]; /* too large for a row of 64 bits */
    room[n] = (char)n;
    int r = shape_plain(probe, arg, n);
    return r + room[n];
}

NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) int shape_keeps_fp(shape_probe *probe,
                                                                               void *arg, int n)
{
    volatile int here = n;
    probe(arg);
    return here + 1;
}

static NOINLINE int shape_many_arguments(shape_probe *probe, void *arg, int n, int a, int b, int c,
                                         int d, int e, int f)
{
    return shape_plain(probe, arg, n) + a + b + c + d + e + f;
}

static NOINLINE int shape_pushes(shape_probe *probe, void *arg, int n)
{
    return shape_many_arguments(probe, arg, n, 1, 2, 3, 4, 5, n) * 2;
}

static struct {
    shape_probe *probe;
    void *arg;
} now;

static int shape_compare(const void *a, const void *b)
{
    if (now.probe)
        shape_plain(now.probe, now.arg, 0);
    now.probe = NULL;
    return *(const int *)a - *(const int *)b;
}

/* Calls the probe through a function of libc. */
static NOINLINE int shape_libc(shape_probe *probe, void *arg, int n)
{
    int numbers[] = {3, n, 1, 2};
    now.probe = probe;
    now.arg = arg;
    qsort(numbers, 4, sizeof numbers[0], shape_compare);
    return numbers[0];
}

static void shape_handler(int signal)
{
    (void)signal;
    shape_plain(now.probe, now.arg, 0);
}

static NOINLINE int shape_signal_with(shape_probe *probe, void *arg, int flags)
{
    static char other[64 * 1024];
    stack_t stack = {.ss_sp = other, .ss_size = sizeof other}, old_stack;
    struct sigaction sa = {.sa_handler = shape_handler, .sa_flags = flags}, old;
    now.probe = probe;
    now.arg = arg;
    sigaltstack(&stack, &old_stack);
    sigaction(SIGUSR1, &sa, &old);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
    sigaltstack(&old_stack, NULL);
    return 1;
}

static NOINLINE int shape_signal(shape_probe *probe, void *arg, int n)
{
    return shape_signal_with(probe, arg, 0) + n;
}

static NOINLINE int shape_signal_stack(shape_probe *probe, void *arg, int n)
{
    return shape_signal_with(probe, arg, SA_ONSTACK) + n;
}

/* A trap in the middle of a function that has moved its stack pointer: the interrupted
 * instruction is no call. */
static NOINLINE int shape_trap(shape_probe *probe, void *arg, int n)
{
    struct sigaction sa = {.sa_handler = shape_handler}, old;
    volatile char room[200];
    now.probe = probe;
    now.arg = arg;
    sigaction(SIGTRAP, &sa, &old);
    room[n] = 1;
#if defined(__x86_64__)
    __asm__ volatile("int3" ::: "memory");
#else
    raise(SIGTRAP);
#endif
    sigaction(SIGTRAP, &old, NULL);
    return room[n];
}

#if defined(__x86_64__)
/* Locals that are aligned to 64 bytes: the low bits of the stack pointer are cleared, and the
 * caller's frame is found through a register that is saved in this one. */
static NOINLINE int shape_realigned(shape_probe *probe, void *arg, int n)
{
    volatile int a[16] __attribute__((aligned(64)));
    a[n % 16] = n;
    int r = shape_plain(probe, arg, n);
    return r + a[n % 16];
}

static NOINLINE int shape_realigned_alloca(shape_probe *probe, void *arg, int n)
{
    volatile int a[16] __attribute__((aligned(64)));
    volatile char *p = alloca((size_t)n);
    a[n % 16] = n;
    p[n / 2] = 1;
    int r = shape_realigned(probe, arg, n);
    return r + a[n % 16] + p[n / 2];
}
#endif

#if defined(__x86_64__)
/* Some compilers and hand-written code find the CFA through rbx, whose value is in the frame of the
 * called function. */
int shape_rbx(shape_probe *probe, void *arg, int n);
__asm__(".text\n"
        ".type shape_rbx, @function\n"
        "shape_rbx:\n"
        ".cfi_startproc\n"
        "push %rbx\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset rbx, -16\n"
        "mov %rsp, %rbx\n"
        ".cfi_def_cfa_register rbx\n"
        "and $-64, %rsp\n"
        "sub $256, %rsp\n"
        "call shape_registers\n" /* saves rbx, and uses it */
        "mov %rbx, %rsp\n"
        "pop %rbx\n"
        ".cfi_def_cfa rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size shape_rbx, . - shape_rbx\n");
#endif

static ucontext_t outer, inner;

static void shape_in_context(void)
{
    sink = shape_deep(now.probe, now.arg, 3);
}

/* A coroutine has a stack that is not the thread's. */
static NOINLINE int shape_context(shape_probe *probe, void *arg, int n)
{
    enum { SIZE = 128 * 1024 };
    char *stack = malloc(SIZE);
    if (!stack)
        abort();
    now.probe = probe;
    now.arg = arg;
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = SIZE;
    inner.uc_link = &outer;
    makecontext(&inner, shape_in_context, 0);
    swapcontext(&outer, &inner);
    free(stack);
    return n;
}

const struct shape shapes[] = {
    {"plain", shape_plain, 1},
    {"deep", shape_deep, 40},
    {"path", shape_path, 0x5a3c},
    {"tail calls", shape_tails, 4},
    {"alloca", shape_alloca, 3000},
    {"registers", shape_registers, 5},
    {"large frame", shape_large, 1234},
    {"frame pointer", shape_keeps_fp, 7},
    {"pushed arguments", shape_pushes, 8},
    {"through libc", shape_libc, 9},
    {"signal", shape_signal, 1},
    {"signal on its own stack", shape_signal_stack, 1},
    {"trap", shape_trap, 11},
    {"coroutine", shape_context, 1},
    {"C++", shape_cxx, 6},
#if defined(__x86_64__)
    {"CFA in rbx", shape_rbx, 21},
    {"realigned", shape_realigned, 100},
    {"realigned with alloca", shape_realigned_alloca, 300},
#endif
    {0},
};

/* cpu.h - has the parts that differ between processors: DWARF's register numbers, and how to read
 * the current registers.
 *
 * The tests run on x86-64. The aarch64 part was run only in an emulator, where it
 * agrees with libgcc's unwinder on all shapes of tests/stack except one: in a signal handler the
 * stack ends with a mark, because the trampoline there has no table. */
#ifndef GPUFL_STACK_NATIVE_CPU_H
#define GPUFL_STACK_NATIVE_CPU_H

#include <stdint.h>

#if defined(__x86_64__)
enum {
    CPU_FP = 6,    /* rbp */
    CPU_SP = 7,    /* rsp */
    CPU_RA = 16,   /* the return address's column */
    CPU_REGS = 17, /* columns kept; higher ones hold no addresses */
    CPU_RED = 128, /* bytes below the stack pointer that belong to a function */
    CPU_KEPT = 1 << 3 | 1 << 6 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15, /* callee-saved */
};
#elif defined(__aarch64__)
enum {
    CPU_FP = 29,
    CPU_SP = 31,
    CPU_RA = 30,
    CPU_REGS = 32,
    CPU_RED = 0,
    CPU_KEPT = 0x7ff << 19, /* x19 to x29 */
};
#else
#error "no unwinder for this processor"
#endif

struct cpu_regs {
    uintptr_t pc;            /* an instruction, not a return address */
    uintptr_t reg[CPU_REGS]; /* by DWARF number; a register that a callee may change is undefined */
};

/* Returns a return address without the bits that mark it as signed. */
static inline uintptr_t cpu_address(uintptr_t ra)
{
#if defined(__aarch64__)
    register uintptr_t lr __asm__("x30") = ra;
    __asm__("hint #7" : "+r"(lr)); /* xpaclri: does nothing on older processors */
    return lr;
#else
    return ra;
#endif
}

/* This is a macro, so that it reads the registers of the function in which it is expanded. */
#if defined(__x86_64__)
static inline __attribute__((always_inline)) void cpu_here(struct cpu_regs *r)
{
    __asm__ volatile("leaq 0(%%rip), %%rax\n\t"
                     "movq %%rax, (%0)\n\t"
                     "movq %%rbx, 8+8*3(%0)\n\t"
                     "movq %%rbp, 8+8*6(%0)\n\t"
                     "movq %%rsp, 8+8*7(%0)\n\t"
                     "movq %%r12, 8+8*12(%0)\n\t"
                     "movq %%r13, 8+8*13(%0)\n\t"
                     "movq %%r14, 8+8*14(%0)\n\t"
                     "movq %%r15, 8+8*15(%0)\n\t"
                     :
                     : "r"(r)
                     : "rax", "memory");
}
#else
static inline __attribute__((always_inline)) void cpu_here(struct cpu_regs *r)
{
    __asm__ volatile("adr x9, .\n\t"
                     "str x9, [%0]\n\t"
                     "stp x19, x20, [%0, #8+8*19]\n\t"
                     "stp x21, x22, [%0, #8+8*21]\n\t"
                     "stp x23, x24, [%0, #8+8*23]\n\t"
                     "stp x25, x26, [%0, #8+8*25]\n\t"
                     "stp x27, x28, [%0, #8+8*27]\n\t"
                     "stp x29, x30, [%0, #8+8*29]\n\t"
                     "mov x9, sp\n\t"
                     "str x9, [%0, #8+8*31]\n\t"
                     :
                     : "r"(r)
                     : "x9", "memory");
}
#endif

#endif

/* prologues.c - see prologues.h. */
#include "tests/stack/prologues.h"

#include "tests/stack/blocks.h"

#if defined(__x86_64__)
#define FUNCTION(name, body)                                                                       \
    __asm__(".text\n.p2align 9\n.globl " #name "\n.hidden " #name "\n.type " #name                 \
            ", @function\n" #name ":\n.cfi_startproc\n" body ".cfi_endproc\n.size " #name          \
            ", . - " #name "\n")
#define PUSH_RBP "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
#define SET_RBP  "mov %rsp, %rbp\n.cfi_def_cfa_register 6\n"
#define PUSH_R15 "push %r15\n.cfi_offset 15, -24\n"
#define PUSH_R14 "push %r14\n.cfi_offset 14, -32\n"
#define READ     "xor %eax, %eax\nmov $1, %edx\nsyscall\n"
#define POP      "pop %r14\npop %r15\npop %rbp\n.cfi_def_cfa 7, 8\nret\n"

/* Other instructions stand between, as in pthread_cond_wait of a libc with frame pointers. */
FUNCTION(prologue_mixed, "endbr64\n" PUSH_RBP SET_RBP PUSH_R15 "mov %rsi, %r15\n" PUSH_R14
                         "sub $0x98, %rsp\n" READ "add $0x98, %rsp\n" POP);
/* A path without a frame is tried first, as in poll. */
FUNCTION(prologue_late,
         "endbr64\ntest %edi, %edi\njns 1f\nret\n1:\n" PUSH_RBP SET_RBP PUSH_R15 PUSH_R14
         "sub $0x20, %rsp\n" READ "add $0x20, %rsp\n" POP);
/* The frame needs no more room than its registers. */
FUNCTION(prologue_bare, PUSH_RBP "mov %rdi, %rdi\n" SET_RBP PUSH_R15 PUSH_R14 READ POP);
/* A large frame is taken page by page, and each page is touched. */
FUNCTION(prologue_paged, PUSH_RBP SET_RBP PUSH_R15 PUSH_R14
         "sub $0x1000, %rsp\norq $0, (%rsp)\nsub $0x1000, %rsp\norq $0, (%rsp)\n"
         "sub $0x98, %rsp\n" READ "add $0x2098, %rsp\n" POP);
/* A function jumps to it, as pthread_join does. */
FUNCTION(prologue_jumps, "endbr64\nxor %ecx, %ecx\njmp prologue_jumped\n");
FUNCTION(prologue_jumped, PUSH_RBP "xor %edx, %edx\n" SET_RBP PUSH_R15 PUSH_R14
                                   "sub $0x18, %rsp\n" READ "add $0x18, %rsp\n" POP);
/* The linker's table has the address of the called function (-fno-plt). */
FUNCTION(prologue_through_word, "sub $8, %rsp\n.cfi_def_cfa_offset 16\ncall *prologue_word(%rip)\n"
                                "add $8, %rsp\n.cfi_def_cfa_offset 8\nret\n");
__asm__(".data\n.p2align 3\nprologue_word: .quad prologue_mixed\n.text\n");
/* What an earlier call has left fits as well: the return address lies a second time where it would
 * be without the room of 0x98 bytes. */
FUNCTION(prologue_unclear, PUSH_RBP SET_RBP PUSH_R15
         "mov %rsi, %r15\n" PUSH_R14 "sub $0x98, %rsp\nmov 8(%rbp), %rax\n"
         "mov %rax, 24(%rsp)\n" READ "add $0x98, %rsp\n" POP);

prologue_fn prologue_mixed, prologue_late, prologue_bare, prologue_paged, prologue_jumps,
    prologue_jumped, prologue_through_word, prologue_unclear;

/* The call must not be the last one of the function, or the function has no frame. */
#define CALLER(name)                                                                               \
    static BLOCKS_FUNCTION long calls_##name(int fd, char *byte)                                   \
    {                                                                                              \
        long n = prologue_##name(fd, byte);                                                        \
        __asm__ volatile("" ::: "memory");                                                         \
        return n;                                                                                  \
    }
CALLER(mixed)
CALLER(late)
CALLER(bare)
CALLER(paged)
CALLER(jumps)
CALLER(unclear)

const struct prologue_shape prologue_shapes[] = {
    {"mixed", prologue_mixed, calls_mixed, false},
    {"late", prologue_late, calls_late, false},
    {"bare", prologue_bare, calls_bare, false},
    {"paged", prologue_paged, calls_paged, false},
    {"jumped", prologue_jumped, calls_jumps, false},
    {"word", prologue_mixed, prologue_through_word, false},
    {"unclear", prologue_unclear, calls_unclear, true},
};
const size_t prologue_shapes_count = sizeof prologue_shapes / sizeof prologue_shapes[0];
#else
const struct prologue_shape prologue_shapes[1];
const size_t prologue_shapes_count = 0;
#endif

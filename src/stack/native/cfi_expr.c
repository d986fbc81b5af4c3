/* cfi_expr.c - DWARF expressions of call frame information, evaluated without registers.
 *
 * Compilers write few kinds of expressions: a register plus a number, one load (realigned frames,
 * signal frames), and arithmetic on the instruction's own address (PLT entries of the linker),
 * which is known. A cfi_value can express all of these; any other expression is refused, and its
 * frame has no row. */
#include "stack/native/cfi.h"

enum { EXPR_DEPTH = 16 };

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_SWAP = 0x16,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_MUL = 0x1e,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_NOP = 0x96,
};

struct stack_of_values {
    struct cfi_value v[EXPR_DEPTH];
    unsigned n;
    bool bad;
};

static void expr_push(struct stack_of_values *s, struct cfi_value v)
{
    if (s->n == EXPR_DEPTH)
        s->bad = true;
    else
        s->v[s->n++] = v;
}

static struct cfi_value expr_pop(struct stack_of_values *s)
{
    if (s->n)
        return s->v[--s->n];
    s->bad = true;
    return (struct cfi_value){.reg = CFI_NO_REG};
}

static struct cfi_value expr_number(int64_t n)
{
    return (struct cfi_value){.reg = CFI_NO_REG, .offset = n};
}

static bool expr_is_number(struct cfi_value v)
{
    return v.reg == CFI_NO_REG && !v.load;
}

/* Adds with wrapping, as the DWARF machine does. */
static struct cfi_value expr_add(struct cfi_value v, int64_t n)
{
    int64_t *to = v.load ? &v.after : &v.offset;
    *to = (int64_t)((uint64_t)*to + (uint64_t)n);
    return v;
}

static int64_t expr_arithmetic(struct stack_of_values *s, uint8_t op, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case OP_AND:
        return a & b;
    case OP_OR:
        return a | b;
    case OP_MINUS:
        return (int64_t)(ua - ub);
    case OP_MUL:
        return (int64_t)(ua * ub);
    case OP_SHL:
        return ub < 64 ? (int64_t)(ua << ub) : 0;
    case OP_SHR:
        return ub < 64 ? (int64_t)(ua >> ub) : 0;
    case OP_EQ:
        return a == b;
    case OP_GE:
        return a >= b;
    case OP_GT:
        return a > b;
    case OP_LE:
        return a <= b;
    case OP_LT:
        return a < b;
    case OP_NE:
        return a != b;
    default:
        s->bad = true;
        return 0;
    }
}

/* Runs an operation on the two topmost values. */
static void expr_binary(struct stack_of_values *s, uint8_t op)
{
    struct cfi_value b = expr_pop(s), a = expr_pop(s);
    if (op == OP_PLUS && expr_is_number(b))
        expr_push(s, expr_add(a, b.offset));
    else if (op == OP_PLUS && expr_is_number(a))
        expr_push(s, expr_add(b, a.offset));
    else if (op == OP_MINUS && expr_is_number(b))
        expr_push(s, expr_add(a, (int64_t)(0 - (uint64_t)b.offset)));
    else if (expr_is_number(a) && expr_is_number(b))
        expr_push(s, expr_number(expr_arithmetic(s, op, a.offset, b.offset)));
    else
        s->bad = true;
}

static void expr_load(struct stack_of_values *s)
{
    struct cfi_value v = expr_pop(s);
    if (v.load || v.reg == CFI_NO_REG)
        s->bad = true;
    v.load = true;
    expr_push(s, v);
}

static void expr_register(struct stack_of_values *s, uint64_t reg, int64_t offset, uintptr_t pc)
{
    if (reg == CPU_RA && CPU_RA == 16) /* rip: the instruction itself */
        expr_push(s, expr_number((int64_t)(pc + (uint64_t)offset)));
    else if (reg < CPU_REGS)
        expr_push(s, (struct cfi_value){.reg = (uint8_t)reg, .offset = offset});
    else
        s->bad = true;
}

static void expr_constant(struct stack_of_values *s, struct cfi_bytes *b, uint8_t op)
{
    unsigned bytes = 1u << (op - OP_CONST1U) / 2;
    uint64_t n = cfi_take(b, bytes);
    if ((op - OP_CONST1U) % 2 && bytes < 8) { /* signed */
        uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
        n = (n ^ sign) - sign;
    }
    expr_push(s, expr_number((int64_t)n));
}

static void expr_stack(struct stack_of_values *s, uint8_t op)
{
    struct cfi_value top = expr_pop(s);
    if (op == OP_DROP)
        return;
    if (op == OP_DUP) {
        expr_push(s, top);
        expr_push(s, top);
        return;
    }
    struct cfi_value below = expr_pop(s);
    if (op == OP_OVER)
        expr_push(s, below);
    expr_push(s, top);
    expr_push(s, below);
}

static void expr_step(struct stack_of_values *s, struct cfi_bytes *b, uint8_t op, uintptr_t pc)
{
    if (op >= OP_LIT0 && op <= OP_LIT31)
        expr_push(s, expr_number(op - OP_LIT0));
    else if (op >= OP_BREG0 && op <= OP_BREG31)
        expr_register(s, op - OP_BREG0, cfi_sleb(b), pc);
    else if (op >= OP_CONST1U && op <= OP_CONST8S)
        expr_constant(s, b, op);
    else if (op == OP_BREGX) {
        uint64_t reg = cfi_uleb(b);
        expr_register(s, reg, cfi_sleb(b), pc);
    } else if (op == OP_CONSTU)
        expr_push(s, expr_number((int64_t)cfi_uleb(b)));
    else if (op == OP_CONSTS)
        expr_push(s, expr_number(cfi_sleb(b)));
    else if (op == OP_PLUS_UCONST)
        expr_push(s, expr_add(expr_pop(s), (int64_t)cfi_uleb(b)));
    else if (op == OP_DEREF)
        expr_load(s);
    else if (op == OP_DUP || op == OP_DROP || op == OP_OVER || op == OP_SWAP)
        expr_stack(s, op);
    else if (op != OP_NOP)
        expr_binary(s, op);
}

bool cfi_expression(struct cfi_bytes b, uintptr_t pc, bool cfa, struct cfi_value *out)
{
    struct stack_of_values s = {.n = 0};
    if (cfa)
        expr_push(&s, (struct cfi_value){.reg = CFI_CFA});
    while (b.at < b.end && !b.bad && !s.bad)
        expr_step(&s, &b, (uint8_t)cfi_take(&b, 1), pc);
    *out = expr_pop(&s);
    return !b.bad && !s.bad;
}

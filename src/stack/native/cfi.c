/* cfi.c - leads from an instruction to its row: .eh_frame_hdr, FDE, CIE, and their program.
 *
 * The header's table is sorted by first instruction; a binary search finds the FDE. It and its CIE
 * contain a program, whose instructions up to pc are run. For a file without a header, cfi_index.c
 * has made a table. Everything is read from the mapped segment with the header, never beyond its
 * end, and with the functions of safe.h: a damaged table gives no row, and no fault. All this takes
 * a few hundred ns, so rows.c keeps the result. */
#include "stack/native/cfi.h"

#include "stack/common/safe.h"
#include "stack/native/cfi_index.h"

#include <string.h>

enum {
    CFI_LENGTH_MAX = 1 << 20, /* bytes of an entry; the longest seen are 40 KB */
    CFI_SAVED = 4,            /* depth of remember_state */
    HDR_TABLE = 0x3b,         /* encoding of the table, as all linkers write it: datarel | sdata4 */
};

enum { /* pointer encodings of .eh_frame */
       ENC_OMIT = 0xff,
       ENC_FORM = 0x0f,
       ENC_ULEB = 0x01,
       ENC_UDATA2 = 0x02,
       ENC_UDATA4 = 0x03,
       ENC_UDATA8 = 0x04,
       ENC_SLEB = 0x09,
       ENC_SDATA2 = 0x0a,
       ENC_SDATA4 = 0x0b,
       ENC_SDATA8 = 0x0c,
       ENC_BASE = 0x70,
       ENC_PCREL = 0x10,
       ENC_DATAREL = 0x30,
};

/* Holds the contents of an FDE and its CIE. */
struct entry {
    uintptr_t begin, end; /* instructions it covers */
    uint64_t code_align;
    int64_t data_align;
    uint8_t ra, encoding;
    bool signal, sized; /* augmentation "S"; "z" */
    struct cfi_bytes cie_program, fde_program;
};

/* ---- bytes ---- */

uint64_t cfi_take(struct cfi_bytes *b, unsigned bytes)
{
    uint64_t n = 0;
    if ((uintptr_t)(b->end - b->at) < bytes) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    memcpy(&n, b->at, bytes);
    b->at += bytes;
    return n;
}

uint64_t cfi_uleb(struct cfi_bytes *b)
{
    uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = cfi_take(b, 1);
        if (shift < 64)
            n |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
}

int64_t cfi_sleb(struct cfi_bytes *b)
{
    uint64_t n = 0;
    for (unsigned shift = 0;;) {
        uint64_t byte = cfi_take(b, 1);
        if (shift < 64)
            n |= (byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift < 64)
            n |= ~(uint64_t)0 << shift;
        return (int64_t)n;
    }
}

/* Skips a block and returns its bytes; NULL: fewer bytes are left. */
static const uint8_t *cfi_block(struct cfi_bytes *b, uint64_t bytes)
{
    const uint8_t *at = b->at;
    if ((uintptr_t)(b->end - b->at) < bytes) {
        b->bad = true;
        b->at = b->end;
        return NULL;
    }
    b->at += bytes;
    return at;
}

/* Returns bytes of the module's table segment. */
static struct cfi_bytes cfi_map(const struct module *m, uintptr_t at, uint64_t bytes)
{
    struct cfi_bytes none = {.bad = true};
    if (at < m->pub.begin || at >= m->eh_end || bytes > m->eh_end - at || !bytes)
        return none;
    const uint8_t *there = safe_map((const void *)at, bytes);
    if (!there)
        return none;
    return (struct cfi_bytes){.at = there, .end = there + bytes, .moved = at - (uintptr_t)there};
}

/* Returns the address in the module of the next byte. */
static uintptr_t cfi_address(const struct cfi_bytes *b)
{
    return (uintptr_t)b->at + b->moved;
}

static uint64_t cfi_pointer(struct cfi_bytes *b, uint8_t encoding, uintptr_t data)
{
    uintptr_t here = cfi_address(b);
    uint64_t n;
    switch (encoding & ENC_FORM) {
    case 0:
    case ENC_UDATA8:
    case ENC_SDATA8:
        n = cfi_take(b, 8);
        break;
    case ENC_ULEB:
        n = cfi_uleb(b);
        break;
    case ENC_SLEB:
        n = (uint64_t)cfi_sleb(b);
        break;
    case ENC_UDATA2:
        n = cfi_take(b, 2);
        break;
    case ENC_SDATA2:
        n = (uint64_t)(int64_t)(int16_t)cfi_take(b, 2);
        break;
    case ENC_UDATA4:
        n = cfi_take(b, 4);
        break;
    case ENC_SDATA4:
        n = (uint64_t)(int64_t)(int32_t)cfi_take(b, 4);
        break;
    default:
        b->bad = true;
        return 0;
    }
    if ((encoding & ENC_BASE) == ENC_PCREL)
        return n + here;
    if ((encoding & ENC_BASE) == ENC_DATAREL)
        return n + data;
    b->bad |= (encoding & ENC_BASE) != 0;
    return n;
}

/* ---- entries ---- */

/* Returns the bytes of a CIE or FDE at this address, after its length. */
static struct cfi_bytes entry_bytes(const struct module *m, uintptr_t at, bool *wide)
{
    struct cfi_bytes head = cfi_map(m, at, 4);
    uint64_t length = cfi_take(&head, 4);
    *wide = length == 0xffffffff;
    at += 4;
    if (*wide) {
        head = cfi_map(m, at, 8);
        length = cfi_take(&head, 8);
        at += 8;
    }
    if (head.bad || !length || length > CFI_LENGTH_MAX)
        return (struct cfi_bytes){.bad = true};
    return cfi_map(m, at, length);
}

static bool entry_augmentation(struct entry *e, struct cfi_bytes *b, const char *text)
{
    if (!text[0])
        return true;
    if (text[0] != 'z')
        return false; /* no linker writes others today */
    e->sized = true;
    uint64_t length = cfi_uleb(b);
    const uint8_t *at = cfi_block(b, length);
    if (!at)
        return false;
    struct cfi_bytes data = {.at = at, .end = at + length};
    for (const char *c = text + 1; *c; c++) {
        if (*c == 'R') {
            e->encoding = (uint8_t)cfi_take(&data, 1);
        } else if (*c == 'P') {
            uint8_t encoding = (uint8_t)cfi_take(&data, 1);
            cfi_pointer(&data, encoding & ENC_FORM, 0);
        } else if (*c == 'L') {
            cfi_take(&data, 1);
        } else if (*c == 'S') {
            e->signal = true;
        } else if (*c != 'B') { /* B: signed return addresses; the program says so, too */
            return false;
        }
    }
    return !data.bad;
}

static bool entry_cie(const struct module *m, uintptr_t at, struct entry *e)
{
    bool wide;
    struct cfi_bytes b = entry_bytes(m, at, &wide);
    if (b.bad || cfi_take(&b, wide ? 8 : 4) != 0)
        return false;
    uint8_t version = (uint8_t)cfi_take(&b, 1);
    if (version != 1 && version != 3)
        return false;
    const char *text = (const char *)b.at;
    const void *nul = memchr(text, 0, (size_t)(b.end - b.at));
    if (!nul)
        return false;
    b.at = (const uint8_t *)nul + 1;
    e->code_align = cfi_uleb(&b);
    e->data_align = cfi_sleb(&b);
    uint64_t ra = version == 1 ? cfi_take(&b, 1) : cfi_uleb(&b);
    if (ra >= CPU_REGS || !entry_augmentation(e, &b, text) || b.bad)
        return false;
    e->ra = (uint8_t)ra;
    e->cie_program = b;
    return true;
}

static bool entry_read(const struct module *m, uintptr_t fde, struct entry *e)
{
    *e = (struct entry){0};
    bool wide;
    struct cfi_bytes b = entry_bytes(m, fde, &wide);
    if (b.bad)
        return false;
    uintptr_t here = cfi_address(&b);
    uint64_t back = cfi_take(&b, wide ? 8 : 4);
    if (!back || !entry_cie(m, here - back, e))
        return false;
    e->begin = cfi_pointer(&b, e->encoding, m->eh_hdr);
    e->end = e->begin + cfi_pointer(&b, e->encoding & ENC_FORM, 0);
    if (e->sized)
        cfi_block(&b, cfi_uleb(&b));
    e->fde_program = b;
    return !b.bad;
}

/* Returns the FDE that the header's table gives for pc; 0: none. */
static uintptr_t entry_search(const struct module *m, uintptr_t pc)
{
    uint8_t head[4];
    if (!m->eh_hdr || !safe_read(head, (const void *)m->eh_hdr, 4) || head[0] != 1 ||
        head[1] == ENC_OMIT || head[2] == ENC_OMIT || head[3] != HDR_TABLE)
        return 0;
    struct cfi_bytes b = cfi_map(m, m->eh_hdr + 4, m->eh_end - m->eh_hdr < 24 ? 8 : 20);
    cfi_pointer(&b, head[1], m->eh_hdr);
    uint64_t count = cfi_pointer(&b, head[2], m->eh_hdr);
    uintptr_t table = cfi_address(&b);
    if (b.bad || !count || count > (m->eh_end - table) / 8)
        return 0;
    int64_t want = (int64_t)(pc - m->eh_hdr);
    uint64_t low = 0, high = count;
    int32_t row[2];
    while (low < high) { /* the first that begins beyond pc */
        uint64_t mid = (low + high) / 2;
        if (!safe_read(row, (const void *)(table + 8 * mid), sizeof row))
            return 0;
        if (row[0] <= want)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || !safe_read(row, (const void *)(table + 8 * (low - 1)), sizeof row))
        return 0;
    return m->eh_hdr + (uintptr_t)(intptr_t)row[1];
}

static bool entry_find(const struct module *m, uintptr_t pc, struct entry *e)
{
    uintptr_t fde = m->index ? cfi_index_find(m, pc) : entry_search(m, pc);
    return fde && entry_read(m, fde, e) && pc >= e->begin && pc < e->end;
}

/* ---- the program ---- */

/* Holds the state of a running program. */
struct machine {
    const struct entry *entry;
    struct cfi_row row;
    const struct cfi_row *initial; /* the result of the CIE's program; NULL while that runs */
    struct cfi_row saved[CFI_SAVED];
    unsigned saves;
    uintptr_t at, pc; /* the instruction the row is for so far; the one wanted */
    bool bad;
};

enum {
    CFA_ADVANCE = 0x40, /* with an operand in the lower six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC,
    CFA_ADVANCE1,
    CFA_ADVANCE2,
    CFA_ADVANCE4,
    CFA_OFFSET_EXTENDED,
    CFA_RESTORE_EXTENDED,
    CFA_UNDEFINED,
    CFA_SAME_VALUE,
    CFA_REGISTER,
    CFA_REMEMBER,
    CFA_RESTORE_STATE,
    CFA_DEF_CFA,
    CFA_DEF_CFA_REGISTER,
    CFA_DEF_CFA_OFFSET,
    CFA_DEF_CFA_EXPRESSION,
    CFA_EXPRESSION,
    CFA_OFFSET_EXTENDED_SF,
    CFA_DEF_CFA_SF,
    CFA_DEF_CFA_OFFSET_SF,
    CFA_VAL_OFFSET,
    CFA_VAL_OFFSET_SF,
    CFA_VAL_EXPRESSION,
    CFA_NEGATE_RA = 0x2d, /* aarch64: return addresses are signed from here on, or no longer */
    CFA_ARGS_SIZE = 0x2e,
    CFA_NEGATIVE_OFFSET = 0x2f,
};

/* Offsets of a damaged program may overflow: they wrap, as addresses do. */
static int64_t machine_scaled(struct machine *m, int64_t n)
{
    return (int64_t)((uint64_t)n * (uint64_t)m->entry->data_align);
}

static void machine_place(struct machine *m, uint64_t reg, enum cfi_rule rule, uint8_t base,
                          int64_t offset)
{
    if (reg < CPU_REGS) /* higher registers hold no addresses */
        m->row.reg[reg] = (struct cfi_place){rule, {.reg = base, .offset = offset}};
}

static void machine_restore(struct machine *m, uint64_t reg)
{
    if (!m->initial)
        m->bad = true;
    else if (reg < CPU_REGS)
        m->row.reg[reg] = m->initial->reg[reg];
}

static void machine_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
    m->bad |= reg >= CPU_REGS;
    m->row.cfa = (struct cfi_value){.reg = (uint8_t)reg, .offset = offset};
}

static void machine_expression(struct machine *m, struct cfi_bytes *b, uint8_t op)
{
    uint64_t reg = op == CFA_DEF_CFA_EXPRESSION ? 0 : cfi_uleb(b);
    uint64_t length = cfi_uleb(b);
    const uint8_t *at = cfi_block(b, length);
    struct cfi_value v;
    if (!at)
        return;
    bool known = cfi_expression((struct cfi_bytes){.at = at, .end = at + length}, m->pc,
                                op != CFA_DEF_CFA_EXPRESSION, &v);
    if (op == CFA_DEF_CFA_EXPRESSION) {
        m->row.cfa = v;
        m->bad |= !known;
    } else if (reg < CPU_REGS) { /* a register that nobody reads may be higher */
        enum cfi_rule rule = op == CFA_EXPRESSION ? CFI_AT : CFI_IS;
        m->row.reg[reg] = (struct cfi_place){known ? rule : CFI_UNDEFINED, v};
    }
}

static void machine_state(struct machine *m, bool remember)
{
    if (remember ? m->saves == CFI_SAVED : m->saves == 0) {
        m->bad = true;
        return;
    }
    if (remember)
        m->saved[m->saves++] = m->row;
    else
        m->row = m->saved[--m->saves];
}

/* Runs an operation on one register. */
static void machine_register(struct machine *m, struct cfi_bytes *b, uint8_t op)
{
    uint64_t reg = cfi_uleb(b);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        machine_place(m, reg, CFI_AT, CFI_CFA, machine_scaled(m, (int64_t)cfi_uleb(b)));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        machine_place(m, reg, CFI_AT, CFI_CFA, machine_scaled(m, cfi_sleb(b)));
        break;
    case CFA_NEGATIVE_OFFSET:
        machine_place(m, reg, CFI_AT, CFI_CFA, -machine_scaled(m, (int64_t)(cfi_uleb(b) >> 1)));
        break;
    case CFA_VAL_OFFSET:
        machine_place(m, reg, CFI_IS, CFI_CFA, machine_scaled(m, (int64_t)cfi_uleb(b)));
        break;
    case CFA_VAL_OFFSET_SF:
        machine_place(m, reg, CFI_IS, CFI_CFA, machine_scaled(m, cfi_sleb(b)));
        break;
    case CFA_REGISTER: {
        uint64_t in = cfi_uleb(b);
        machine_place(m, reg, in < CPU_REGS ? CFI_IS : CFI_UNDEFINED, (uint8_t)in, 0);
        break;
    }
    case CFA_RESTORE_EXTENDED:
        machine_restore(m, reg);
        break;
    case CFA_UNDEFINED:
        machine_place(m, reg, CFI_UNDEFINED, 0, 0);
        break;
    default: /* CFA_SAME_VALUE */
        machine_place(m, reg, CFI_SAME, 0, 0);
        break;
    }
}

static void machine_advance(struct machine *m, uint64_t by)
{
    m->at += by * m->entry->code_align;
}

/* Runs an operation that defines the CFA. */
static void machine_define_cfa(struct machine *m, struct cfi_bytes *b, uint8_t op)
{
    switch (op) {
    case CFA_DEF_CFA: {
        uint64_t reg = cfi_uleb(b);
        machine_cfa(m, reg, (int64_t)cfi_uleb(b));
        break;
    }
    case CFA_DEF_CFA_SF: {
        uint64_t reg = cfi_uleb(b);
        machine_cfa(m, reg, machine_scaled(m, cfi_sleb(b)));
        break;
    }
    case CFA_DEF_CFA_REGISTER:
        m->bad |= m->row.cfa.load;
        machine_cfa(m, cfi_uleb(b), m->row.cfa.offset);
        break;
    default: /* CFA_DEF_CFA_OFFSET, CFA_DEF_CFA_OFFSET_SF */
        m->bad |= m->row.cfa.load;
        m->row.cfa.offset =
            op == CFA_DEF_CFA_OFFSET ? (int64_t)cfi_uleb(b) : machine_scaled(m, cfi_sleb(b));
        break;
    }
}

static void machine_step(struct machine *m, struct cfi_bytes *b, uint8_t op)
{
    switch (op) {
    case CFA_NOP:
    case CFA_NEGATE_RA:
        break;
    case CFA_SET_LOC:
        m->at = cfi_pointer(b, m->entry->encoding, 0);
        break;
    case CFA_ADVANCE1:
        machine_advance(m, cfi_take(b, 1));
        break;
    case CFA_ADVANCE2:
        machine_advance(m, cfi_take(b, 2));
        break;
    case CFA_ADVANCE4:
        machine_advance(m, cfi_take(b, 4));
        break;
    case CFA_REMEMBER:
    case CFA_RESTORE_STATE:
        machine_state(m, op == CFA_REMEMBER);
        break;
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
    case CFA_DEF_CFA_REGISTER:
    case CFA_DEF_CFA_OFFSET:
    case CFA_DEF_CFA_OFFSET_SF:
        machine_define_cfa(m, b, op);
        break;
    case CFA_DEF_CFA_EXPRESSION:
    case CFA_EXPRESSION:
    case CFA_VAL_EXPRESSION:
        machine_expression(m, b, op);
        break;
    case CFA_ARGS_SIZE:
        cfi_uleb(b);
        break;
    case CFA_OFFSET_EXTENDED:
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_NEGATIVE_OFFSET:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
    case CFA_REGISTER:
    case CFA_RESTORE_EXTENDED:
    case CFA_UNDEFINED:
    case CFA_SAME_VALUE:
        machine_register(m, b, op);
        break;
    default:
        m->bad = true;
    }
}

/* Runs the part of the program that applies to m->pc: up to the first advance beyond m->pc. */
static bool machine_run(struct machine *m, struct cfi_bytes b)
{
    while (b.at < b.end && !b.bad && !m->bad) {
        uint8_t op = (uint8_t)cfi_take(&b, 1);
        uint8_t operand = op & 0x3f;
        switch (op & 0xc0) {
        case CFA_ADVANCE:
            machine_advance(m, operand);
            break;
        case CFA_OFFSET:
            machine_place(m, operand, CFI_AT, CFI_CFA, machine_scaled(m, (int64_t)cfi_uleb(&b)));
            break;
        case CFA_RESTORE:
            machine_restore(m, operand);
            break;
        default:
            machine_step(m, &b, op);
        }
        if (m->at > m->pc) /* only an advance moves m->at, and that changes no rule */
            break;
    }
    return !b.bad && !m->bad;
}

bool cfi_find(const struct module *mod, uintptr_t pc, struct cfi_row *out)
{
    struct entry e;
    if (!entry_find(mod, pc, &e))
        return false;
    struct machine m = {.entry = &e, .at = e.begin, .pc = pc};
    m.row.cfa.reg = CFI_NO_REG;
    m.row.ra = e.ra;
    m.row.signal = e.signal;
    if (!machine_run(&m, e.cie_program))
        return false;
    struct cfi_row initial = m.row;
    m.initial = &initial;
    m.at = e.begin;
    if (!machine_run(&m, e.fde_program) || m.row.cfa.reg == CFI_NO_REG)
        return false;
    *out = m.row;
    return true;
}

bool cfi_range(const struct module *m, uintptr_t pc, uintptr_t *begin, uintptr_t *end)
{
    struct entry e;
    if (!entry_find(m, pc, &e))
        return false;
    *begin = e.begin;
    *end = e.end;
    return true;
}

bool cfi_entry_at(const struct module *m, uintptr_t at, struct cfi_entry *out)
{
    struct cfi_bytes head = cfi_map(m, at, 4);
    uint64_t length = cfi_take(&head, 4);
    *out = (struct cfi_entry){0};
    if (head.bad || !length)
        return !head.bad;
    bool wide;
    struct cfi_bytes b = entry_bytes(m, at, &wide);
    struct entry e;
    if (b.bad)
        return false;
    out->next = (uintptr_t)b.end + b.moved;
    if (entry_read(m, at, &e)) {
        out->begin = e.begin;
        out->end = e.end;
    }
    return true;
}

/* prologue.c - reads the code of x86-64 functions with frame pointers.
 *
 * The usual beginning is endbr64; push rbp; mov rbp, rsp; push ...; sub rsp, N. Compilers mix other
 * instructions with these, or set up the frame later, on the only path that needs one. Instructions
 * have no fixed length, so each place that looks like a subtraction is taken for one: the caller
 * must check each distance by what the stack has there. */
#include "stack/native/prologue.h"

#include "stack/common/safe.h"
#include "stack/native/cfi.h"

#include <string.h>

#if defined(__x86_64__)
enum {
    CODE_BYTES = 256,     /* of the function's beginning that are searched */
    ROOM_MOST = 64 << 10, /* bytes of a frame */
};

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, begins[] = {0x55, 0x48, 0x89, 0xe5},
                     sub_short[] = {0x48, 0x83, 0xec}, sub_long[] = {0x48, 0x81, 0xec};

/* Returns N if sub rsp, N stands at the beginning of these bytes; 0: something else does. */
static size_t room_at(const uint8_t *code, size_t n)
{
    uint32_t room = 0;
    if (n >= sizeof sub_short + 1 && memcmp(code, sub_short, sizeof sub_short) == 0)
        room = code[sizeof sub_short] < 0x80 ? code[sizeof sub_short] : 0; /* else it is negative */
    else if (n >= sizeof sub_long + sizeof room && memcmp(code, sub_long, sizeof sub_long) == 0)
        memcpy(&room, code + sizeof sub_long, sizeof room);
    return room <= ROOM_MOST ? room : 0;
}

/* Adds up what the usual beginning takes below the frame pointer. False: it is another one. */
static bool usual(const uint8_t *code, size_t n, size_t *below)
{
    size_t at =
        n > sizeof endbr64 && memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    *below = 0;
    if (n - at < sizeof begins || memcmp(code + at, begins, sizeof begins) != 0)
        return false;
    at += sizeof begins;
    for (; at + 2 <= n; *below += sizeof(uintptr_t)) { /* push of one register */
        if ((code[at] & 0xf8) == 0x50)
            at++;
        else if (code[at] == 0x41 && (code[at + 1] & 0xf8) == 0x50)
            at += 2;
        else
            break;
    }
    size_t room = room_at(code + at, n - at);
    *below += room;
    return room != 0;
}

/* Returns the bytes between the frame pointer and the lowest register that the row has saved. */
static size_t saved_below(const struct cfi_row *row)
{
    int64_t lowest = -row->cfa.offset; /* the saved frame pointer, from the CFA */
    for (int i = 0; i < CPU_REGS; i++) {
        const struct cfi_place *p = &row->reg[i];
        if (p->rule == CFI_AT && p->value.reg == CFI_CFA && !p->value.load &&
            p->value.offset < lowest)
            lowest = p->value.offset;
    }
    int64_t below = -row->cfa.offset - lowest;
    return below <= ROOM_MOST ? (size_t)below : 0;
}

static void add(struct prologue *p, size_t below)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->below[i] == below)
            return;
    if (p->n < PROLOGUE_MOST)
        p->below[p->n++] = below;
}

void prologue_find(const struct module *m, uintptr_t at, struct prologue *out)
{
    uint8_t code[CODE_BYTES];
    struct cfi_row row;
    uintptr_t end;
    size_t below, sum = 0;
    *out = (struct prologue){0};
    if (!m || !cfi_range(m, at, &out->begin, &end) || !cfi_find(m, at, &row) ||
        row.cfa.reg != CPU_FP || row.cfa.load || row.cfa.offset < 0)
        return;
    size_t n = at - out->begin < sizeof code ? (size_t)(at - out->begin) : sizeof code;
    if (!n || !safe_read(code, (const void *)out->begin, n))
        return;
    size_t saved = saved_below(&row), rooms = 0;
    for (size_t i = 0; i < n; i++) {
        size_t room = room_at(code + i, n - i);
        if (!room)
            continue;
        rooms++;
        sum = sum + room <= ROOM_MOST ? sum + room : sum;
        add(out, saved + room);
        add(out, saved + sum); /* a large room is taken page by page */
    }
    add(out, saved);
    if (rooms == 1 && usual(code, n, &below)) {
        out->exact = true;
        out->n = 1;
        out->below[0] = below;
    }
}
#else
void prologue_find(const struct module *m, uintptr_t at, struct prologue *out)
{
    (void)m, (void)at;
    *out = (struct prologue){0};
}
#endif

/* calls.c - recognizes calls by the bytes before a return address, and functions with frame
 * pointers.
 *
 * Instructions of x86 that are read backwards are ambiguous: a result of true means that the bytes
 * fit, and every caller checks it by other means as well. */
#include "stack/native/calls.h"

#include "stack/common/safe.h"
#include "stack/native/cfi.h"
#include "stack/native/modules.h"

#include <stddef.h>
#include <string.h>

/* Code of a file stays where it is; generated code may be freed by another thread. A copy needs no
 * such distinction. */
static bool calls_read(void *to, uintptr_t from, size_t n)
{
    return safe_copies() || modules_find(from) ? safe_read(to, (const void *)from, n)
                                               : safe_read_any(to, (const void *)from, n);
}

#if defined(__x86_64__)
enum {
    LONGEST = 7, /* call *disp32(base,index): FF, ModRM, SIB, 4 bytes */
    CALL_NEAR = 0xe8,
    CALL_NEAR_BYTES = 5,
    CALL_GROUP = 0xff, /* with 2 in ModRM's middle field */
    RETURN = 0xc3,
    JUMP = 0xe9,
    JUMP_BYTES = 5,
    JUMPS_WITHIN = 512,     /* bytes of a function that are searched for a jump to another one */
    PROLOGUE_WITHIN = 1024, /* bytes searched backwards for a function's beginning */
};

/* Returns the length of FF /2 with this ModRM and SIB; 0: it is not a call. */
static size_t calls_group_bytes(uint8_t modrm, uint8_t sib)
{
    unsigned mod = modrm >> 6, rm = modrm & 7;
    if ((modrm >> 3 & 7) != 2)
        return 0;
    if (mod == 3)
        return 2;
    size_t n = rm == 4 ? 3 : 2;
    if (mod == 1)
        return n + 1;
    if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
        return n + 4;
    return n;
}

bool calls_before(uintptr_t ra, uintptr_t *target)
{
    uint8_t b[LONGEST + 1] = {0}; /* one more: the byte of a SIB is read also if there is no SIB */
    *target = 0;
    if (!calls_read(b, ra - LONGEST, LONGEST))
        return false;
    if (b[LONGEST - CALL_NEAR_BYTES] == CALL_NEAR) {
        int32_t distance;
        memcpy(&distance, b + LONGEST - 4, sizeof distance);
        *target = ra + (uintptr_t)(intptr_t)distance;
        return true;
    }
    for (size_t n = 2; n <= LONGEST; n++) {
        const uint8_t *at = b + LONGEST - n;
        if (at[0] == CALL_GROUP && calls_group_bytes(at[1], at[2]) == n)
            return true;
    }
    return false;
}

bool calls_frame(uintptr_t at)
{
    static const uint8_t prologues[][4] = {
        {0x55, 0x48, 0x89, 0xe5}, /* push rbp; mov rbp, rsp */
        {0x55, 0x48, 0x8b, 0xec}, /* the same, in the encoding of other compilers */
    };
    uint8_t b[64 + 3] = {0}; /* an aligned piece, and the beginning of the next one */
    for (uintptr_t end = at; at - end < PROLOGUE_WITHIN;) {
        size_t n = ((end - 1) & 63) + 1;
        memmove(b + n, b, 3);
        if (!calls_read(b, end - n, n))
            return false;
        for (size_t i = n; i-- > 0;) {
            if (memcmp(b + i, prologues[0], 4) == 0 || memcmp(b + i, prologues[1], 4) == 0)
                return true;
            if (b[i] == RETURN) /* maybe the end of another function */
                return false;
        }
        end -= n;
    }
    return false;
}
/* Returns the word of a table of the module, at a distance from an instruction's end; 0: none. */
static uintptr_t calls_slot(uintptr_t end, const uint8_t *distance_at)
{
    int32_t distance;
    uint64_t word;
    memcpy(&distance, distance_at, sizeof distance);
    uintptr_t slot = end + (uintptr_t)(intptr_t)distance;
    const struct module *m = modules_get(modules_find(end));
    bool there = m && slot >= m->data && slot < m->data_end;
    return there && safe_read(&word, (const void *)slot, sizeof word) ? (uintptr_t)word : 0;
}

/* Returns the function that a call of this address reaches: a PLT jumps to another one. */
static uintptr_t calls_after_plt(uintptr_t target)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, jmp[] = {0xff, 0x25};
    uint8_t code[16];
    if (!modules_find(target) || !safe_read(code, (const void *)target, sizeof code))
        return target;
    size_t n = memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    n += code[n] == 0xf2; /* bnd */
    if (memcmp(code + n, jmp, sizeof jmp) != 0)
        return target;
    return calls_slot(target + n + sizeof jmp + 4, code + n + sizeof jmp);
}

/* Returns true if the function at `from` has a jump to `begin`: its last call, without a frame. */
static bool calls_jumps(uintptr_t from, uintptr_t begin)
{
    uint8_t code[JUMPS_WITHIN];
    uintptr_t first, end;
    const struct module *m = modules_get(modules_find(from));
    if (!m || !cfi_range(m, from, &first, &end) || first != from)
        return false;
    size_t n = end - from < sizeof code ? (size_t)(end - from) : sizeof code;
    if (!safe_read(code, (const void *)from, n))
        return false;
    for (size_t i = 0; i + JUMP_BYTES <= n; i++) {
        int32_t distance;
        memcpy(&distance, code + i + 1, sizeof distance);
        if (code[i] == JUMP && from + i + JUMP_BYTES + (uintptr_t)(intptr_t)distance == begin)
            return true;
    }
    return false;
}

enum calls_of calls_of(uintptr_t ra, uintptr_t begin)
{
    static const uint8_t call_word[] = {0xff, 0x15};
    uintptr_t target;
    uint8_t code[6];
    if (!calls_before(ra, &target))
        return CALLS_OF_OTHER;
    if (!target && calls_read(code, ra - sizeof code, sizeof code) &&
        memcmp(code, call_word, sizeof call_word) == 0)
        target = calls_slot(ra, code + sizeof call_word);
    if (!target)
        return CALLS_OF_ANY;
    if (target != begin)
        target = calls_after_plt(target);
    return target && (target == begin || calls_jumps(target, begin)) ? CALLS_OF_IT : CALLS_OF_OTHER;
}
#else
enum calls_of calls_of(uintptr_t ra, uintptr_t begin)
{
    uintptr_t target;
    if (!calls_before(ra, &target))
        return CALLS_OF_OTHER;
    return !target ? CALLS_OF_ANY : target == begin ? CALLS_OF_IT : CALLS_OF_OTHER;
}

bool calls_frame(uintptr_t at)
{
    (void)at;
    return false;
}

bool calls_before(uintptr_t ra, uintptr_t *target)
{
    uint32_t w;
    *target = 0;
    if (ra % 4 || !calls_read(&w, ra - 4, sizeof w))
        return false;
    if ((w & 0xfc000000) == 0x94000000) { /* BL: 26 bits, signed, in words */
        int64_t words = (int32_t)(w << 6) >> 6;
        *target = ra - 4 + (uintptr_t)(words * 4);
        return true;
    }
    return (w & 0xfffffc1f) == 0xd63f0000 || (w & 0xfefff800) == 0xd63f0800; /* BLR, BLRA* */
}
#endif

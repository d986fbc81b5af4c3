/* calls.c - recognizes calls by the bytes before a return address, and functions with frame
 * pointers.
 *
 * Instructions of x86 that are read backwards are ambiguous: a result of true means that the bytes
 * fit, and every caller checks it by other means as well. */
#include "stack/native/calls.h"

#include "stack/common/safe.h"
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
#else
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

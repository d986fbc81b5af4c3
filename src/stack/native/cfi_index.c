/* cfi_index.c - see cfi_index.h.
 *
 * Linkers write entries nearly in the order of the code. A heap sort in place does the rest:
 * libc's qsort may allocate. */
#include "stack/native/cfi_index.h"

#include "base/alloc.h"
#include "stack/native/cfi.h"

#include <stddef.h>

/* Counts the entries with code, and stores them if rows is not NULL. SIZE_MAX: the section is
 * damaged. */
static size_t walk(const struct module *m, uintptr_t at, uintptr_t end, struct cfi_index_row *rows,
                   size_t most)
{
    size_t n = 0;
    while (at < end) {
        struct cfi_entry e;
        if (!cfi_entry_at(m, at, &e))
            return SIZE_MAX;
        if (!e.next) /* the terminator */
            break;
        if (e.next > end)
            return SIZE_MAX;
        if (e.begin < e.end && e.begin >= m->pub.begin && e.end <= m->pub.end) {
            if (rows && n < most)
                rows[n] = (struct cfi_index_row){(uint32_t)(e.begin - m->pub.begin),
                                                 (uint32_t)(at - m->pub.begin)};
            if (++n > CFI_INDEX_MOST)
                return SIZE_MAX;
        }
        at = e.next;
    }
    return n;
}

static void sift(struct cfi_index_row *rows, size_t at, size_t n)
{
    struct cfi_index_row row = rows[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && rows[child + 1].begin > rows[child].begin;
        if (rows[child].begin <= row.begin)
            break;
        rows[at] = rows[child];
    }
    rows[at] = row;
}

static void sort(struct cfi_index_row *rows, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = rows[i - 1].begin <= rows[i].begin;
    if (sorted)
        return;
    for (size_t i = n / 2; i-- > 0;)
        sift(rows, i, n);
    for (size_t i = n; i-- > 1;) {
        struct cfi_index_row largest = rows[0];
        rows[0] = rows[i];
        rows[i] = largest;
        sift(rows, 0, i);
    }
}

struct cfi_index *cfi_index_make(const struct module *m, uintptr_t at, size_t size)
{
    if (m->pub.end - m->pub.begin > UINT32_MAX || at < m->pub.begin || size > m->pub.end - at)
        return NULL;
    size_t n = walk(m, at, at + size, NULL, 0);
    struct cfi_index *x = n && n != SIZE_MAX ? mem_alloc(sizeof *x + n * sizeof *x->rows) : NULL;
    if (!x)
        return NULL;
    if (walk(m, at, at + size, x->rows, n) != n) {
        mem_free(x);
        return NULL;
    }
    x->count = (uint32_t)n;
    sort(x->rows, n);
    return x;
}

uintptr_t cfi_index_find(const struct module *m, uintptr_t pc)
{
    const struct cfi_index *x = m->index;
    uint32_t low = 0, high = x->count;
    while (low < high) { /* the first that begins beyond pc */
        uint32_t mid = (low + high) / 2;
        if (m->pub.begin + x->rows[mid].begin <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? m->pub.begin + x->rows[low - 1].fde : 0;
}

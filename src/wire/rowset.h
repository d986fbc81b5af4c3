/* rowset.h - is a hash set of short rows of int64_t, found by their leading cells.
 *
 * Used to give ids to things that are known only by their values (launch configurations of a
 * foreign log), and to look things up by a foreign id (open scopes). Row pointers are valid until
 * the next rowset_put. Called by the owner's thread only.
 *
 * Why not base/keyed.h: rows are removed one by one, for instance when a scope ends. Items of a
 * keyed array stay until all are forgotten, because their indexes are ids. */
#ifndef GPUFL_WIRE_ROWSET_H
#define GPUFL_WIRE_ROWSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rowset {
    unsigned key;        /* leading cells that identify a row */
    unsigned width;      /* cells of a row */
    int64_t *rows;       /* owned: row_cap rows */
    uint32_t *slots;     /* owned: slot_count of row index + 1, 0: free */
    size_t row_cap;      /* rows allocated */
    size_t slot_count;   /* a power of two, or 0 */
    uint32_t row_count;  /* rows ever used, removed ones included */
    uint32_t live;       /* rows now in the set */
    uint32_t free_index; /* head of the list of removed rows, index + 1 in their first cell */
};

void rowset_init(struct rowset *s, unsigned key, unsigned width); /* allocates nothing */
void rowset_fini(struct rowset *s);
void rowset_clear(struct rowset *s); /* removes all, keeps the memory */

int64_t *rowset_find(const struct rowset *s, const int64_t *key); /* NULL: not there */

/* Returns the row with that key. A missing row is added, with its other cells 0. NULL: out of
 * memory. */
int64_t *rowset_put(struct rowset *s, const int64_t *key, bool *added);

void rowset_remove(struct rowset *s, int64_t *row);

/* Returns the position of a row, from 0: dense as long as nothing is removed. */
static inline uint32_t rowset_index(const struct rowset *s, const int64_t *row)
{
    return (uint32_t)((size_t)(row - s->rows) / s->width);
}

#endif

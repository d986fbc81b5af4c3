/* range_pick.c - see range_pick.h. Only a hash of 64 bits is kept for each name. */
#include "backend/common/range_pick.h"

#include "base/intern.h"

#include <string.h>

enum { FULL = RANGE_PICK_NAMES / 4 * 3 }; /* so that searches for absent names stay short */

void range_pick_init(struct range_pick *p, uint32_t most)
{
    memset(p, 0, sizeof *p);
    p->most = most;
}

static uint64_t hash_of(const char *name)
{
    uint64_t h = intern_hash(name, strlen(name));
    return h ? h : 1;
}

uint32_t *range_pick(struct range_pick *p, const char *name)
{
    uint64_t hash = hash_of(name);
    uint32_t at = (uint32_t)(hash >> 32) % RANGE_PICK_NAMES;
    while (p->slots[at].hash && p->slots[at].hash != hash)
        at = (at + 1) % RANGE_PICK_NAMES;
    if (!p->slots[at].hash && p->names == FULL) {
        p->passed_by++;
        return NULL;
    }
    if (!p->slots[at].hash) {
        p->names++;
        p->slots[at].hash = hash;
        p->slots[at].left = p->most;
    }
    return p->slots[at].left ? &p->slots[at].left : NULL;
}

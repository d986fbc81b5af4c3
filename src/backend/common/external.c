/* external.c - see external.h: a direct-mapped table. */
#include "backend/common/external.h"

#include "base/alloc.h"

enum { SLOTS = 1 << 16 };

struct slot {
    uint32_t correlation;
    int32_t kind; /* 0: free */
    uint64_t id;
};

struct external {
    struct slot slots[SLOTS];
};

struct external *external_open(void)
{
    return mem_zalloc(sizeof(struct external));
}

void external_close(struct external *x)
{
    mem_free(x);
}

void external_put(struct external *x, uint32_t correlation, int32_t kind, uint64_t id)
{
    struct slot *s = &x->slots[correlation % SLOTS];
    if (s->kind && s->correlation == correlation && s->kind < kind)
        return;
    *s = (struct slot){.correlation = correlation, .kind = kind, .id = id};
}

bool external_find(const struct external *x, uint32_t correlation, int32_t *kind, uint64_t *id)
{
    const struct slot *s = &x->slots[correlation % SLOTS];
    if (!s->kind || s->correlation != correlation)
        return false;
    *kind = s->kind;
    *id = s->id;
    return true;
}

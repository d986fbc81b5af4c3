/* collector.c - see collector.h. The offset of the flag differs by version. 3.14 publishes it, and
 * its struct differs between releases. Before, the struct has a pointer to one of its own members
 * (generation0, which points to the head of generations[0]), at the same distance in all versions:
 * if that pointer has another value, the flag is not used. */
#include "stack/other/collector.h"

#include "stack/other/read.h"

enum {
    TO_FIRST = 104, /* bytes from generation0 to the flag */
    TO_LIST = 176,  /* bytes from generations[0] to the flag */
    LOCKED = 8,     /* bytes from the thread that took the GIL to the int that says it has it */
    GIL_BYTES = LOCKED + 4,
};

static uintptr_t flag_of(uintptr_t interp, const struct python_layout *l)
{
    return interp + l->collector + l->collecting;
}

static uintptr_t collector_gil(const struct collector *c, const struct python_layout *l)
{
    return l->interp_gil ? c->interp + l->interp_gil : l->runtime + l->runtime_gil;
}

/* Finds the main interpreter, and checks that the flag has the offset of this version. */
static void collector_find(struct collector *c, struct other_reader *r)
{
    const struct python_layout *l = r->l;
    const struct python_reader *d = &r->direct;
    uint64_t interp, first;
    c->tried = true;
    c->interp = c->state = 0;
    if (!l->collecting || (!l->runtime_gil && !l->interp_gil) ||
        !d->read(d->with, &interp, l->runtime + l->main_interp, sizeof(interp)) || !interp)
        return;
    uintptr_t flag = flag_of((uintptr_t)interp, l);
    if (l->collector ||
        (d->read(d->with, &first, flag - TO_FIRST, sizeof(first)) && first == flag - TO_LIST))
        c->interp = (uintptr_t)interp;
}

void collector_ask(struct collector *c, struct other_reader *r)
{
    c->main = c->flag = c->gil = -1;
    if (!c->tried)
        collector_find(c, r);
    if (!c->interp)
        return;
    c->main = other_ask(r, r->l->runtime + r->l->main_interp, sizeof(uint64_t));
    c->flag = other_ask(r, flag_of(c->interp, r->l), sizeof(int));
    c->gil = other_ask(r, collector_gil(c, r->l), GIL_BYTES);
}

bool collector_runs(struct collector *c, const struct other_reader *r, uintptr_t state)
{
    const char *main = other_piece(r, c->main), *flag = other_piece(r, c->flag);
    const char *gil = other_piece(r, c->gil);
    uint64_t interp, holder;
    int collecting, locked;
    if (!main || !flag || !gil)
        return false;
    memcpy(&interp, main, sizeof(interp));
    memcpy(&collecting, flag, sizeof(collecting));
    memcpy(&holder, gil, sizeof(holder));
    memcpy(&locked, gil + LOCKED, sizeof(locked));
    if (interp != c->interp) { /* the interpreter ended, and another one began */
        *c = (struct collector){.tried = false};
        return false;
    }
    if (collecting != 1)
        c->state = 0;
    else if (!c->state && locked == 1)
        c->state = (uintptr_t)holder;
    return c->state && c->state == state;
}

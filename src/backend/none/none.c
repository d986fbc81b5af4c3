/* none.c - stands for no GPU: sessions still have scopes, host metrics and a ledger. */
#include "backend/backend.h"

#include <stdio.h>

static void none_probe(struct probe *out)
{
    *out = (struct probe){.usable = true, .fact_count = 1};
    struct probe_fact *f = &out->facts[0];
    snprintf(f->name, sizeof f->name, "none");
    snprintf(f->value, sizeof f->value, "scopes and host metrics only");
    f->works = true;
}

const struct backend backend_none = {
    .name = "none",
    .probe = none_probe,
};

/* ids.h - which dictionary rows a session already has, so that each is written once.
 *
 * A set of pairs (dictionary, id). Pairs that were added since the last commit are at its end, and
 * a rollback removes them. Called by the owner's thread only. */
#ifndef GPUFL_STORE_IDS_H
#define GPUFL_STORE_IDS_H

#include "wire/rowset.h"

struct ids {
    struct rowset set;  /* rows: dictionary, id */
    uint32_t committed; /* number of committed rows of the set */
};

void ids_init(struct ids *s);
void ids_fini(struct ids *s);

/* Adds a row; *added: the row is new. 0 or GPUFL_E_NOMEM. */
int ids_add(struct ids *s, int64_t dictionary, int64_t id, bool *added);
void ids_commit(struct ids *s);
void ids_rollback(struct ids *s);

#endif

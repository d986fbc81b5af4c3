/* ids.h - the dictionary rows that a session has already, so that each is kept once.
 *
 * A set of (dictionary, id) with what has been added since the last commit on top:
 * a rollback takes that back. Owner's thread. */
#ifndef GPUFL_STORE_IDS_H
#define GPUFL_STORE_IDS_H

#include "wire/rowset.h"

struct ids {
    struct rowset set;  /* rows: dictionary, id */
    uint32_t committed; /* rows of the set that a commit has confirmed */
};

void ids_init(struct ids *s);
void ids_fini(struct ids *s);

/* Adds a row; *added: it was new. 0 or GPUFL_E_NOMEM. */
int ids_add(struct ids *s, int64_t dictionary, int64_t id, bool *added);
void ids_commit(struct ids *s);
void ids_rollback(struct ids *s);

#endif

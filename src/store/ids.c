/* ids.c - see ids.h. A rowset keeps the order in which rows came as long as rows are removed only
 * from its end, as here. */
#include "store/ids.h"

#include "base/err.h"

void ids_init(struct ids *s)
{
    rowset_init(&s->set, 2, 2);
    s->committed = 0;
}

void ids_fini(struct ids *s)
{
    rowset_fini(&s->set);
    s->committed = 0;
}

int ids_add(struct ids *s, int64_t dictionary, int64_t id, bool *added)
{
    int64_t key[2] = {dictionary, id};
    return rowset_put(&s->set, key, added) ? 0 : GPUFL_E_NOMEM;
}

void ids_commit(struct ids *s)
{
    s->committed = s->set.row_count;
}

void ids_rollback(struct ids *s)
{
    while (s->set.row_count > s->committed) {
        rowset_remove(&s->set, s->set.rows + (size_t)(s->set.row_count - 1) * s->set.width);
        s->set.row_count--;
        s->set.free_index = 0; /* only rows after the last one are free */
    }
}

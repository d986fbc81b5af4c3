/* sum_windows.c - see sum_windows.h. Rows come in order. */
#include "analyze/sum_windows.h"

#include "analyze/cells.h"
#include "analyze/model.h"

#include <string.h>

void sum_windows_init(struct model *m)
{
    (void)m;
}

void sum_windows_fini(struct model *m)
{
    memset(&m->windows, 0, sizeof m->windows);
}

int sum_windows_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_windows *s = &m->windows;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t time = cells_get(b, COL_window_time, i);
        if (cells_or(b, COL_window_capture, i, 0) != 1 || !cells_time_ok(time))
            continue;
        bool opens = cells_or(b, COL_window_phase, i, 0) == 0;
        if (opens && s->open++ == 0) {
            s->opened++;
            s->since = time;
        } else if (!opens && s->open > 0 && --s->open == 0 && time > s->since) {
            s->ns = cells_sum(s->ns, time - s->since);
        }
    }
    return 0;
}

int sum_windows_merge(struct model *into, const struct model *from, int64_t shift)
{
    (void)shift;
    into->windows.opened += from->windows.opened;
    into->windows.ns = cells_sum(into->windows.ns, from->windows.ns);
    return 0;
}

int sum_windows_finish(struct model *m)
{
    (void)m;
    return 0;
}

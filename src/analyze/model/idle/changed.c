/* changed.c - see changed.h. Configurations are visited in the order of their first kernels, and
 * those between two samples of a compiler are what the compilation brought. */
#include "analyze/model/idle/changed.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/kinds.h"

#include <stdlib.h>
#include <string.h>

struct met {               /* a kernel, or a kernel with a grid */
    int64_t name, x, y, z; /* the key; x, y, z: 0 for the kernel alone */
    int64_t first;         /* ns: its first run */
    int64_t blocks;        /* of the kernel's newest grid */
};

struct search {
    const struct idle_looks *looks;
    const uint8_t *nodes;
    const struct kernel_config **configs; /* owned; by their first kernel */
    size_t count, at;                     /* the next look */
    struct keyed met;
    int64_t began;         /* ns: the first run of any of them; INT64_MAX: none yet */
    int64_t compiled;      /* ns: the newest sample of a compiler; INT64_MIN: none */
    uint8_t activity;      /* of that sample */
    bool counted, resized; /* this compilation is in times, in grids */
};

static bool is_compiler(uint8_t a)
{
    return a >= ACTIVITY_COMPILE_TORCH && a <= ACTIVITY_COMPILE_OTHER;
}

/* Returns the blocks of a grid; 0: not known. */
static int64_t blocks_of(const struct config_row *c)
{
    if (c->grid_x <= 0 || c->grid_y <= 0 || c->grid_z <= 0)
        return 0;
    return cells_whole((double)c->grid_x * (double)c->grid_y * (double)c->grid_z);
}

static int by_first(const void *a, const void *b)
{
    const struct kernel_config *x = *(const struct kernel_config *const *)a,
                               *y = *(const struct kernel_config *const *)b;
    if (x->first_start != y->first_start)
        return x->first_start < y->first_start ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Returns true for a kernel that a compiler may have made as the program ran: it has no library, or
 * the library is such a compiler. */
static bool may_be_compiled(const struct kernel_config *c)
{
    const char *library = kinds_library(c->kinds);
    return !library || !strcmp(library, "torch.compile") || !strcmp(library, "XLA");
}

/* Lists the configurations of such kernels, by their first row. */
static int list_configs(const struct model *m, struct search *s)
{
    const struct sum_kernels *k = &m->kernels;
    s->configs = mem_array(k->configs.count + 1, sizeof(*s->configs));
    if (!s->configs)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < k->configs.count; i++) {
        const struct kernel_config *c = sum_kernels_config(k, i);
        if (c->time.count && c->row.name && may_be_compiled(c))
            s->configs[s->count++] = c;
    }
    qsort(s->configs, s->count, sizeof(*s->configs), by_first);
    return 0;
}

/* Goes on to the newest sample of a compiler before t (ns). */
static void look_on(const struct model *m, struct search *s, struct idle_changed *of, int64_t t)
{
    for (; s->at < s->looks->count && s->looks->rows[s->at].time < t; s->at++) {
        const struct idle_look *look = &s->looks->rows[s->at];
        uint8_t a = s->nodes[stacks_node_of(&m->stacks, look->stack)];
        if (!is_compiler(a))
            continue;
        s->compiled = look->time;
        s->activity = a;
        s->counted = s->resized = false;
        of[a].looks += s->began < look->time;
    }
}

/* Counts a kernel that ran for the first time with its grid, or at all, after the newest
 * compilation. before: the kernel as it was known then; NULL: not known. */
static void count_new(struct search *s, struct idle_changed *to, const struct kernel_config *c,
                      const struct met *before)
{
    to->times += !s->counted;
    s->counted = true;
    if (!before)
        return;
    to->grids += !s->resized;
    s->resized = true;
    to->kernel = (uint32_t)c->row.name;
    to->before = before->blocks;
    to->after = blocks_of(&c->row);
}

static int visit(const struct model *m, struct search *s, struct idle_changed *of,
                 const struct kernel_config *c)
{
    struct met name = {.name = c->row.name},
               grid = {
                   .name = c->row.name, .x = c->row.grid_x, .y = c->row.grid_y, .z = c->row.grid_z};
    uint32_t at_name, at_grid;
    bool new_name, new_grid;
    look_on(m, s, of, c->first_start);
    int rc = keyed_put(&s->met, &name, &at_name, &new_name);
    rc = rc ? rc : keyed_put(&s->met, &grid, &at_grid, &new_grid);
    if (rc || !at_name || !at_grid)
        return rc;
    struct met *k = keyed_at(&s->met, at_name);
    bool after = s->compiled > s->began, known = !new_name && k->first < s->compiled;
    if (after && (new_name || (known && new_grid)))
        count_new(s, &of[s->activity], c, new_name ? NULL : k);
    if (new_name)
        k->first = c->first_start;
    k->blocks = blocks_of(&c->row);
    s->began = c->first_start < s->began ? c->first_start : s->began;
    return 0;
}

int idle_changed_find(struct model *m, const uint8_t *nodes)
{
    struct search s = {
        .looks = &m->idle.looks, .nodes = nodes, .began = INT64_MAX, .compiled = INT64_MIN};
    if (m->kernels.configs.count > IDLE_CHANGED_MOST)
        return 0;
    keyed_init(&s.met, sizeof(struct met), offsetof(struct met, first), 2 * IDLE_CHANGED_MOST);
    int rc = list_configs(m, &s);
    for (size_t i = 0; !rc && i < s.count; i++)
        rc = visit(m, &s, m->idle.changed, s.configs[i]);
    if (!rc)
        look_on(m, &s, m->idle.changed, INT64_MAX);
    keyed_fini(&s.met);
    mem_free(s.configs);
    return rc;
}

void idle_changed_merge(struct model *into, const struct model *from)
{
    for (int a = 0; a < ACTIVITIES; a++) {
        struct idle_changed *to = &into->idle.changed[a];
        const struct idle_changed *o = &from->idle.changed[a];
        to->times += o->times;
        to->grids += o->grids;
        to->looks += o->looks;
        if (o->kernel) {
            to->kernel = o->kernel;
            to->before = o->before;
            to->after = o->after;
        }
    }
}

/* nameless.c - counts frames by module and by the status of their symbols. */
#include "analyze/model/nameless.h"

#include "analyze/common/units.h"
#include "analyze/model/model.h"

#include <string.h>

static const struct {
    const char *why, *what, *todo; /* todo: "" or a sentence */
} texts[] = {
    [STACKS_FILE_MISSING] = {"the file is gone, and the session has no copy of it", "no name", ""},
    [STACKS_FILE_REPLACED] = {"the file is another one now", "no name", ""},
    [STACKS_FILE_UNREADABLE] = {"the file cannot be read or is damaged", "no name", ""},
    [STACKS_SPLIT_MISSING] =
        {"its split debug information is missing", "a line but no function",
         ". Keep the .dwo files where the compiler wrote them (a .dwp file is not read), or build "
         "without -gsplit-dwarf"},
};

static bool is_reason(enum stacks_status s)
{
    return (size_t)s < sizeof texts / sizeof *texts && texts[s].why;
}

static void count(struct nameless *list, size_t *n, size_t *more, uint32_t module,
                  enum stacks_status status)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i].module == module && list[i].status == status) {
            list[i].frames++;
            return;
        }
    if (*n == NAMELESS_MOST)
        ++*more;
    else
        list[(*n)++] = (struct nameless){module, status, 1};
}

size_t nameless_find(const struct model *m, struct nameless list[NAMELESS_MOST], size_t *more)
{
    const struct stacks *s = &m->stacks;
    size_t n = 0;
    *more = 0;
    for (size_t i = 1; i < s->frames.count; i++) {
        const struct stacks_frame *f = keyed_at(&s->frames, i);
        enum stacks_status status =
            f->symbols ? (enum stacks_status)s->symbols[f->symbol].status : STACKS_NOT_LOOKED_UP;
        if (f->kind == STACKS_NATIVE && f->module && is_reason(status))
            count(list, &n, more, f->module, status);
    }
    for (size_t i = 1; i < n; i++) /* insertion sort, since there are few */
        for (size_t k = i; k && list[k].frames > list[k - 1].frames; k--) {
            struct nameless other = list[k];
            list[k] = list[k - 1];
            list[k - 1] = other;
        }
    return n;
}

void nameless_put(const struct model *m, const struct nameless *n, struct buf *out)
{
    const char *path = stacks_module_path(m, n->module), *slash = strrchr(path, '/');
    char places[UNITS_TEXT];
    buf_printf(out, "%s: %s: %s place%s in it %s %s%s", slash ? slash + 1 : path,
               texts[n->status].why, units_count(places, (int64_t)n->frames),
               n->frames == 1 ? "" : "s", n->frames == 1 ? "has" : "have", texts[n->status].what,
               texts[n->status].todo);
}

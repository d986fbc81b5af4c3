/* stacks_text.c - prints lines, functions and frames as text, as compilers write them. */
#include "analyze/model/stacks.h"

#include "analyze/model/model.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <string.h>

enum { PLACE_WIDTH = 40 /* columns of a function that is shown as a place */ };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *stacks_module_path(const struct model *m, uint32_t module)
{
    if (!module || module >= m->stacks.modules.count)
        return "";
    const struct stacks_module *at = keyed_at(&m->stacks.modules, module);
    return model_text(m, at->path);
}

static void put_where(const struct model *m, uint32_t file, int64_t line, uint32_t module,
                      int64_t offset, struct buf *out)
{
    const char *path = stacks_module_path(m, module);
    if (file && line)
        buf_printf(out, "%s:%lld", base_name(model_text(m, file)), (long long)line);
    else if (file)
        buf_printf(out, "%s", base_name(model_text(m, file)));
    else if (offset)
        buf_printf(out, "%s+0x%llx", *path ? base_name(path) : "(no file)",
                   (unsigned long long)offset);
    else
        buf_printf(out, "%s", *path ? base_name(path) : "(unknown)");
}

void stacks_put_place(const struct model *m, uint32_t place, struct buf *out)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    if (p && p->mark)
        buf_str(out, model_text(m, p->mark));
    else if (p && stacks_place_is_function(p))
        stacks_put_function(m, p->symbol, PLACE_WIDTH, out);
    else if (p)
        put_where(m, p->file, p->line, p->module, p->offset, out);
}

void stacks_put_function(const struct model *m, uint32_t function, size_t width, struct buf *out)
{
    const char *name = model_text(m, function);
    struct buf full;
    size_t from = out->len;
    if (!*name)
        return;
    buf_init(&full, DEMANGLE_ROOM);
    demangle_put(&full, name);
    shorten_put(out, buf_cstr(&full), width);
    if (buf_error(&full))
        out->error = buf_error(&full);
    buf_fini(&full);
    bool plain = *name != '<' && !buf_error(out) && !memchr(out->data + from, '(', out->len - from);
    if (plain)
        buf_str(out, "()");
}

void stacks_put_step(const struct model *m, const struct stacks_step *step, size_t width,
                     struct buf *out)
{
    if (step->kind == STACKS_MARK) {
        buf_str(out, model_text(m, step->function));
        return;
    }
    bool nameless = !step->function;
    if (nameless || !stacks_step_nowhere(step))
        put_where(m, step->file, step->line, step->module, nameless ? step->offset : 0, out);
    if (!nameless) {
        buf_str(out, stacks_step_nowhere(step) ? "" : " ");
        stacks_put_function(m, step->function, width, out);
    }
    if (step->inlined)
        buf_str(out, " (inlined)");
}

/* path.c - see path.h. */
#include "analyze/model/scopes/path.h"

#include "analyze/common/scope_text.h"
#include "analyze/model/model.h"
#include "analyze/model/scopes/inherited.h"
#include "analyze/model/scopes/tree.h"
#include "base/err.h"

#include <string.h>

enum { DEPTH_MAX = 64, PATH_MAX_BYTES = 64 << 10 };

int scope_path_handle(struct model *m, int64_t instance, bool inherited, uint32_t *handle)
{
    uint32_t node = 0;
    int rc = sum_scopes_ensure(m);
    if (!rc)
        rc = inherited ? scope_inherited_node(&m->scopes, instance, &node)
                       : scope_tree_instance(&m->scopes, instance, &node);
    *handle = rc || !node ? 0 : m->scopes.nodes[node].handle;
    return rc;
}

/* Adds a name to a path. A path that has no room for the name says so. */
static void put_name(struct buf *path, const char *name)
{
    size_t size = scope_text_size(name);
    if (buf_reserve(path, size))
        return;
    scope_text_put(path->data + path->len, name);
    path->len += size;
}

int scope_path_name(struct model *m, uint32_t handle, uint32_t *name)
{
    struct sum_scopes *s = &m->scopes;
    uint32_t nodes[DEPTH_MAX], node = handle ? scope_tree_node(s, handle) : 0;
    struct buf path;
    int depth = 0;
    *name = 0;
    for (; node && depth < DEPTH_MAX; node = s->nodes[node].parent)
        nodes[depth++] = node;
    if (!depth)
        return 0;
    buf_init(&path, PATH_MAX_BYTES);
    for (int i = depth; i--;) {
        put_name(&path, model_text(m, s->nodes[nodes[i]].name));
        if (i)
            buf_char(&path, '|');
    }
    *name = intern_id(m->names, path.data, path.len);
    int rc = *name || (!path.len && !buf_error(&path)) ? 0 : GPUFL_E_NOMEM;
    if (buf_error(&path) == GPUFL_E_FULL)
        rc = 0; /* such a long path gets no name */
    buf_fini(&path);
    return rc;
}

/* Returns the child whose name the first bytes of a path's text mean; 0: none. */
static uint32_t find_child(const struct model *m, uint32_t parent, const char *text, size_t len)
{
    const struct sum_scopes *s = &m->scopes;
    uint32_t node = s->nodes[parent].child;
    while (node && !scope_text_is(text, len, model_text(m, s->nodes[node].name)))
        node = s->nodes[node].next;
    return node;
}

uint32_t scope_path_node(const struct model *m, uint32_t name)
{
    const char *at = model_text(m, name);
    uint32_t node = 0;
    if (!*at || !m->scopes.node_count)
        return 0;
    for (size_t left = strlen(at);;) {
        size_t len = scope_text_first(at, left);
        node = find_child(m, node, at, len);
        if (!node || len == left)
            return node;
        at += len + 1;
        left -= len + 1;
    }
}

/* trees.c - see trees.h. */
#include "analyze/compare/trees.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/intern.h"

#include <string.h>

enum { ROOT = 1, LEAST_PART = 2000 };

int trees_open(struct trees *t)
{
    struct trees_node root = {0};
    uint32_t index;
    *t = (struct trees){0};
    keyed_init(&t->nodes, sizeof root, offsetof(struct trees_node, ns), TREES_NODES);
    int rc = intern_open(&t->names, TREES_NODES, TREES_TEXT);
    return rc ? rc : keyed_put(&t->nodes, &root, &index, NULL);
}

void trees_close(struct trees *t)
{
    keyed_fini(&t->nodes);
    if (t->names)
        intern_close(t->names);
    *t = (struct trees){0};
}

static struct trees_node *node_at(const struct trees *t, uint32_t index)
{
    return (struct trees_node *)keyed_at(&t->nodes, index);
}

static int64_t sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Finds or makes the child of a node; *child 0: there is no room. */
static int child_of(struct trees *t, uint32_t parent, struct trees_frame frame, uint32_t *child)
{
    struct trees_node key;
    uint64_t before = intern_overflows(t->names);
    memset(&key, 0, sizeof key);
    *child = 0;
    key.parent = parent;
    key.name = frame.len ? intern_id(t->names, frame.text, frame.len) : intern_str(t->names, "?");
    if (!key.name)
        return GPUFL_E_NOMEM;
    if (intern_overflows(t->names) != before)
        return 0;
    return keyed_put(&t->nodes, &key, child, NULL);
}

int trees_add(struct trees *t, unsigned side, const struct trees_frame *frames, size_t n,
              int64_t ns)
{
    uint32_t at = ROOT;
    if (ns <= 0)
        return 0;
    for (size_t i = 0;; i++) {
        struct trees_node *node = node_at(t, at);
        node->ns[side] = sum(node->ns[side], ns);
        if (i == n || i == TREES_DEPTH)
            return 0;
        int rc = child_of(t, at, frames[i], &at);
        if (rc)
            return rc;
        if (!at) {
            t->cut = sum(t->cut, ns);
            return 0;
        }
    }
}

/* ---- out ------------------------------------------------------------------------------------- */

static bool is_shown(const struct trees *t, const struct trees_node *n)
{
    const struct trees_node *root = node_at(t, ROOT);
    int64_t most = n->ns[0] > n->ns[1] ? n->ns[0] : n->ns[1];
    int64_t all = root->ns[0] > root->ns[1] ? root->ns[0] : root->ns[1];
    return most > 0 && most >= all / LEAST_PART;
}

static void put_node(const struct trees *t, const struct trees_node *n, uint32_t parent,
                     const size_t counts[COMPARE_SIDES], struct json_out *j)
{
    const char *name = intern_text(t->names, n->name, NULL);
    json_out_array(j, NULL);
    json_out_int(j, NULL, parent);
    json_out_text(j, NULL, name ? name : "");
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        json_out_int(j, NULL, n->ns[side] / (int64_t)counts[side]);
    json_out_close_array(j);
}

void trees_put(const struct trees *t, const size_t counts[COMPARE_SIDES], struct json_out *j)
{
    static const char *const names[COMPARE_SIDES] = {"a_ns", "b_ns"};
    uint32_t *places = mem_array(t->nodes.count, sizeof *places); /* in the answer, from 1 */
    uint32_t shown = 0;
    if (!places) {
        json_out_fail(j, GPUFL_E_NOMEM);
        return;
    }
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        json_out_int(j, names[side], node_at(t, ROOT)->ns[side] / (int64_t)counts[side]);
    json_out_int(j, "cut_ns", t->cut);
    json_out_array(j, "nodes");
    /* A caller comes before what it calls. */
    for (uint32_t i = ROOT + 1; i < t->nodes.count && shown < TREES_SHOWN; i++) {
        const struct trees_node *n = node_at(t, i);
        if (!is_shown(t, n) || (n->parent != ROOT && !places[n->parent]))
            continue;
        places[i] = ++shown;
        put_node(t, n, places[n->parent], counts, j);
    }
    json_out_close_array(j);
    mem_free(places);
}

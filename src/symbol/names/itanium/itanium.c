/* itanium.c - parses a whole mangled name: _Z, its encoding, and a compiler's suffix. */
#include "symbol/names/itanium/itanium.h"

#include "base/err.h"
#include "symbol/names/itanium/parser.h"

#include <string.h>

static struct node *parse_mangled(struct parser *p)
{
    if (!eat_word(p, "_Z") && !eat_word(p, "__Z"))
        return NULL;
    struct node *n = parse_encoding(p);
    if (n && look(p, 0) == '.') {
        struct node *suffix = node_text(p, p->at, (size_t)(p->end - p->at));
        p->at = p->end;
        n = node_format(p, MARK_A " (" MARK_B ")", n, suffix);
    }
    return p->at == p->end ? n : NULL;
}

int itanium_put(struct buf *out, const char *mangled, size_t len, size_t most)
{
    struct parser p;
    size_t before = out->len;
    parser_init(&p, mangled, len);
    const struct node *n = len < UINT32_MAX ? parse_mangled(&p) : NULL;
    int rc = n ? node_print(n, out, most) : p.error ? p.error : GPUFL_E_CORRUPT;
    if (rc)
        out->len = before;
    parser_fini(&p);
    return rc;
}

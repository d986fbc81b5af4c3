/* operators.c - see operators.h. */
#include "analyze/model/idle/operators.h"

#include "analyze/model/model.h"
#include "base/buf.h"
#include "base/err.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { DEPTH_MOST = 32 /* operators of a stack, from the innermost one */, PATH_MOST = 4096 };

/* Lists the functions, mangled: a prefix, the length and the letters of the operator's name, and
 * the function's own name. */
static const struct {
    const char *prefix, *functions[2], *lead;
} kinds[] = {
    {"_ZN5torch8autograd9generated", {"5applyE", NULL}, ""},
    {"_ZN2at4_ops", {"4callE", "10redispatchE"}, "aten::"},
};

struct operator
{
    const char *lead, *name; /* borrowed: of the function's text */
    size_t length;
};

/* Reads a number in front of that many letters. Returns the letters, and their number in *length;
 * NULL: there are none. */
static const char *counted(const char *text, size_t *length)
{
    *length = 0;
    for (; isdigit((unsigned char)*text); text++)
        if ((*length = *length * 10 + (size_t)(*text - '0')) > PATH_MOST)
            return NULL;
    return *length && strnlen(text, *length) == *length ? text : NULL;
}

static bool read_operator(const char *function, struct operator* out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t prefix = strlen(kinds[i].prefix);
        if (strncmp(function, kinds[i].prefix, prefix) != 0)
            continue;
        out->name = counted(function + prefix, &out->length);
        out->lead = kinds[i].lead;
        for (int k = 0; out->name && k < 2 && kinds[i].functions[k]; k++)
            if (!strncmp(out->name + out->length, kinds[i].functions[k],
                         strlen(kinds[i].functions[k])))
                return true;
    }
    return false;
}

/* Appends a name as the framework writes it: the C++ name "mul_Tensor" is overload Tensor of mul.
 * Overloads begin with an upper-case letter; those in lower case stay as they are. */
static void put(struct buf *path, const struct operator* o)
{
    bool aten = *o->lead, overload = false;
    buf_str(path, o->lead);
    for (size_t i = 0; i < o->length; i++) {
        bool begins = aten && !overload && i && o->name[i] == '_' && i + 1 < o->length &&
                      isupper((unsigned char)o->name[i + 1]);
        overload |= begins;
        buf_char(path, begins ? '.' : o->name[i]);
    }
}

static bool is_same(const struct operator* a, const struct operator* b)
{
    return a->lead == b->lead && a->length == b->length && !memcmp(a->name, b->name, a->length);
}

int operators_find(struct model *m, uint32_t node, uint32_t *path)
{
    struct operator found[DEPTH_MOST];
    struct stacks_walk w = {.node = node};
    struct stacks_step step;
    size_t n = 0;
    struct buf text;
    *path = 0;
    while (n < DEPTH_MOST && node && stacks_next(&m->stacks, &w, &step)) {
        if (step.kind != STACKS_NATIVE || !read_operator(model_text(m, step.function), &found[n]))
            continue;
        if (!n || !is_same(&found[n], &found[n - 1])) /* redispatch is called by call */
            n++;
    }
    if (!n)
        return 0;
    buf_init(&text, PATH_MOST);
    for (size_t i = n; i--;) {
        put(&text, &found[i]);
        if (i)
            buf_char(&text, '|');
    }
    int rc = buf_error(&text) == GPUFL_E_FULL ? 0 : buf_error(&text);
    if (!buf_error(&text))
        *path = intern_id(m->names, text.data, text.len);
    buf_fini(&text);
    return rc;
}

void operators_put_innermost(const struct model *m, uint32_t path, size_t bytes, struct buf *out)
{
    const char *text = model_text(m, path);
    size_t from = bytes;
    while (from && text[from - 1] != '|')
        from--;
    buf_put(out, text + from, bytes - from);
}

/* symbols.c - see symbols.h. */
#include "backend/amd/trace/symbols.h"

#include "base/alloc.h"
#include "base/keyed.h"

#include <pthread.h>
#include <string.h>

enum { KERNELS_MOST = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct keyed table; /* of struct symbol; guarded by lock */

static char *keep_name(const char *name)
{
    static const char ending[] = ".kd";
    size_t length = name ? strlen(name) : 0, cut = sizeof ending - 1;
    if (length > cut && strcmp(name + length - cut, ending) == 0)
        length -= cut;
    return length ? mem_strndup(name, length) : NULL;
}

static bool add(const struct rocp_symbol *s)
{
    uint32_t index = 0;
    bool added = false;
    if (!table.max)
        keyed_init(&table, sizeof(struct symbol), sizeof(uint64_t), KERNELS_MOST);
    if (keyed_put(&table, &s->kernel, &index, &added) || !index)
        return false;
    struct symbol *to = keyed_at(&table, index);
    if (!added)
        return true;
    to->name = keep_name(s->name);
    to->code_object = s->code_object;
    to->group_bytes = s->group_bytes;
    to->private_bytes = s->private_bytes;
    to->sgprs = s->sgprs;
    to->arch_vgprs = s->arch_vgprs;
    to->accum_vgprs = s->accum_vgprs;
    return to->name != NULL;
}

bool symbols_add(const struct rocp_symbol *s)
{
    pthread_mutex_lock(&lock);
    bool ok = add(s);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool symbols_of_runtime(const char *name)
{
    static const char begins[] = "__amd_rocclr_";
    return strncmp(name, begins, strlen(begins)) == 0;
}

bool symbols_find(uint64_t kernel, struct symbol *out)
{
    pthread_mutex_lock(&lock);
    uint32_t index = table.max ? keyed_find(&table, &kernel) : 0;
    if (index)
        memcpy(out, keyed_at(&table, index), sizeof *out);
    pthread_mutex_unlock(&lock);
    return index != 0;
}

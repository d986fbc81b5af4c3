/* simulated.c - see simulated.h. The list only grows. It is searched with the lock, and entries are
 * read without. */
#include "stack/simulated.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { FIRST_CODE = 1 << 24 /* numbers begin above those of the interpreter's code objects */ };

struct simulated {
    struct stack stack;
    struct stack_place places[SIMULATED_DEPTH]; /* innermost first */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct simulated *)
    list[SIMULATED_MOST];                        /* release when added, partner: simulated_get */
static uint32_t count;                           /* guarded by lock */
static struct stack_code *codes[SIMULATED_MOST]; /* guarded by lock; what they hold is constant */
static uint32_t code_count;                      /* guarded by lock */

static const struct stack_code *code_add(const struct simulated_frame *f)
{
    struct stack_code *c = code_count < SIMULATED_MOST ? mem_alloc(sizeof *c) : NULL;
    char *name = mem_strdup(f->function), *file = mem_strdup(f->file);
    if (!c || !name || !file) {
        mem_free(c);
        mem_free(name);
        mem_free(file);
        return NULL;
    }
    *c = (struct stack_code){
        .number = FIRST_CODE + code_count, .first_line = 1, .name = name, .file = file};
    return codes[code_count++] = c;
}

/* [lock held] */
static const struct stack_code *code_of(const struct simulated_frame *f)
{
    for (uint32_t i = 0; i < code_count; i++)
        if (!strcmp(codes[i]->name, f->function) && !strcmp(codes[i]->file, f->file))
            return codes[i];
    return code_add(f);
}

/* [lock held] */
static struct simulated *find(const struct stack_place *places, unsigned depth)
{
    for (uint32_t i = 0; i < count; i++) {
        struct simulated *t = atomic_load_explicit(&list[i], memory_order_relaxed);
        bool same = t->stack.depth == depth;
        for (unsigned k = 0; same && k < depth; k++)
            same = t->places[k].code == places[k].code && t->places[k].line == places[k].line;
        if (same)
            return t;
    }
    return NULL;
}

/* [lock held] */
static struct simulated *add(const struct stack_place *places, unsigned depth)
{
    struct simulated *t = count < SIMULATED_MOST ? mem_zalloc(sizeof *t) : NULL;
    if (!t)
        return NULL;
    memcpy(t->places, places, depth * sizeof *places);
    t->stack =
        (struct stack){.id = STACK_DISTINCT + 1 + count, .depth = depth, .places = t->places};
    atomic_store_explicit(&list[count++], t, memory_order_release);
    return t;
}

uint32_t simulated_stack(const struct simulated_frame *frames, unsigned depth)
{
    struct stack_place places[SIMULATED_DEPTH] = {0};
    bool known = depth > 0 && depth <= SIMULATED_DEPTH;
    struct simulated *t = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; known && i < depth; i++) {
        struct stack_place *p = &places[depth - 1 - i];
        *p = (struct stack_place){
            .kind = STACK_PYTHON, .code = code_of(&frames[i]), .line = frames[i].line};
        known = p->code != NULL;
    }
    if (known)
        t = find(places, depth);
    if (known && !t)
        t = add(places, depth);
    pthread_mutex_unlock(&lock);
    return t ? t->stack.id : 0;
}

const struct stack *simulated_get(uint32_t id)
{
    uint32_t i = id - STACK_DISTINCT - 1;
    struct simulated *t = id > STACK_DISTINCT && i < SIMULATED_MOST
                              ? atomic_load_explicit(&list[i], memory_order_acquire)
                              : NULL;
    return t ? &t->stack : NULL;
}

void simulated_forget(void)
{
    pthread_mutex_init(&lock, NULL); /* a thread that held it is not in the child */
}

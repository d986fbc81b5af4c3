/* join.c - folds and cuts native stacks, and joins them with Python's frames.
 *
 * Inner end: the stack begins at the caller of `from`, without frames whose module is a library of
 * the vendor, this library or the dynamic linker. A CUDA runtime that is linked into the program's
 * own file has no module of its own: its functions (cuda*, cudart::*, __cuda*) stay here and are
 * folded later, when names are known.
 *
 * Python: the loop of the interpreter runs in a native frame, and each Python frame has an address
 * inside that frame, so it belongs to the native frame below whose CFA the address lies. Native
 * frames of the interpreter itself are left out if a Python frame was found. Python frames without
 * an address follow those before them; if no frame has an address, they take the place of the
 * interpreter's first native frame. In Python 3.9, where each frame has a call of the loop and no
 * address, frames and calls are matched by order, if their numbers agree. */
#include "stack/join.h"

#include "stack/native/modules.h"

#include <stdatomic.h>

enum { FROM_WITHIN = 64 }; /* frames in which `from` is searched */

struct joining {
    const struct join_walk *walk;
    struct join_item *items;
    uint16_t *sources;
    size_t n;
    size_t python; /* index of the next one */
    bool counted;  /* one Python frame at each call of the loop */
};

static _Atomic uintptr_t loop_begin, loop_end;

void join_loop_at(uintptr_t begin, uintptr_t end)
{
    atomic_store_explicit(&loop_begin, begin, memory_order_relaxed);
    atomic_store_explicit(&loop_end, end, memory_order_relaxed);
}

static bool join_is_loop(const struct unwind_frame *f)
{
    uintptr_t begin = atomic_load_explicit(&loop_begin, memory_order_relaxed);
    return f->at - begin < atomic_load_explicit(&loop_end, memory_order_relaxed) - begin;
}

/* Returns true if there are as many calls of the loop as Python frames. */
static bool join_counts(const struct join_walk *w)
{
    size_t loops = 0;
    if (!w->pythons || w->python[0].native != PYTHON_OWN_LOOP)
        return false;
    for (size_t i = 0; i < w->natives; i++)
        loops += join_is_loop(&w->native[i]);
    return loops == w->pythons;
}

static inline bool join_add(struct joining *j, uint64_t what, uint32_t where, uint32_t kind,
                            size_t source)
{
    if (__builtin_expect(j->n >= STACK_DEPTH, 0))
        return false;
    j->items[j->n] = (struct join_item){what, where, kind};
    j->sources[j->n++] = (uint16_t)source;
    return true;
}

static enum module_role join_role(const struct unwind_frame *f)
{
    const struct module *m = modules_get(f->row.module);
    return m ? m->role : MODULE_USER; /* generated code is the program's */
}

static size_t join_begin(const struct join_walk *w, const void *from)
{
    size_t begin = 0;
    for (size_t i = 0; from && i < w->natives && i < FROM_WITHIN; i++)
        if (w->native[i].at == (uintptr_t)from - 1) {
            begin = i;
            break;
        }
    while (begin < w->natives && join_role(&w->native[begin]) == MODULE_DRIVER)
        begin++;
    return begin;
}

/* Returns true if a frame belongs neither to the driver nor to the system's code that starts
 * threads. */
static bool join_has_user(const struct join_walk *w, size_t begin)
{
    uint32_t last = UINT32_MAX;
    if (w->pythons)
        return true;
    for (size_t i = begin; i < w->natives; i++) {
        if (w->native[i].row.module == last)
            continue;
        last = w->native[i].row.module;
        if (join_role(&w->native[i]) == MODULE_USER)
            return true;
    }
    return false;
}

/* Adds the next Python frame, and those that follow it in the same call of the loop. */
static bool join_python(struct joining *j)
{
    const struct join_walk *w = j->walk;
    do {
        const struct python_frame *p = &w->python[j->python];
        if (!join_add(j, p->key, p->place, STACK_PYTHON, j->python))
            return false;
        j->python++;
    } while (!j->counted && j->python < w->pythons &&
             w->python[j->python].native <= PYTHON_OWN_LOOP);
    return true;
}

static inline bool join_native(struct joining *j, size_t i)
{
    const struct join_walk *w = j->walk;
    const struct unwind_frame *f = &w->native[i];
    bool ran = false; /* a loop of the interpreter was seen */
    while (j->python < w->pythons && (!j->counted || (!ran && join_is_loop(f)))) {
        uintptr_t at = w->python[j->python].native;
        if (at > PYTHON_OWN_LOOP && f->cfa ? at >= f->cfa : !f->row.interpreter)
            break;
        if (!join_python(j))
            return false;
        ran = true;
    }
    if (w->pythons && (ran || f->row.interpreter))
        return true;
    const struct module *m = modules_get(f->row.module);
    return join_add(j, f->at, m ? m->pub.number : 0, STACK_NATIVE, i);
}

static void join_mark(struct joining *j, enum join_mark mark)
{
    j->items[j->n] = (struct join_item){mark, 0, STACK_MARK};
    j->sources[j->n++] = 0;
}

size_t join_frames(const struct join_walk *walk, const void *from, struct join_item *items,
                   uint16_t *sources)
{
    struct joining j = {.walk = walk, .items = items, .sources = sources};
    size_t begin = join_begin(walk, from);
    bool whole = walk->end == UNWIND_OUTERMOST;
    if (!join_has_user(walk, begin)) {
        join_mark(&j, whole ? JOIN_DRIVER : JOIN_TRUNCATED);
        return j.n;
    }
    j.counted = join_counts(walk);
    bool room = true;
    for (size_t i = begin; room && i < walk->natives; i++)
        room = join_native(&j, i);
    if (!room || (!whole && j.python == walk->pythons)) {
        join_mark(&j, JOIN_TRUNCATED);
        return j.n;
    }
    /* native frames between here and the interpreter are missing, its Python frames are not */
    if (j.python < walk->pythons && !whole && !join_add(&j, JOIN_TRUNCATED, 0, STACK_MARK, 0))
        room = false;
    while (room && j.python < walk->pythons)
        room = join_python(&j);
    if (!room)
        join_mark(&j, JOIN_TRUNCATED);
    return j.n;
}

const char *join_mark_text(enum join_mark mark)
{
    static const char *const texts[] = {
        [JOIN_TRUNCATED] = "<truncated>",
        [JOIN_DRIVER] = "<driver-internal>",
        [JOIN_UNKNOWN] = "<unknown>",
        [JOIN_COLLECTING] = "<garbage collection>",
    };
    return texts[mark];
}

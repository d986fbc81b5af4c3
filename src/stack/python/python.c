/* python.c - reads the calling thread's Python frames, from the interpreter's memory.
 *
 * The thread's state is found by the interpreter's own thread-specific key. This works also while
 * the thread does not have the GIL, as in every long wait, and never gives the state of another
 * thread. The frames are linked to the state in one of three ways (enum python_chain). They belong
 * to this thread, which is in this function and not in the interpreter, so they do not change. A
 * state contains the id of its thread: a state of another thread is not walked.
 *
 * Frames that the interpreter itself hides are left out: its entry records, frames that have not
 * run their first traceable instruction, the trampolines of __init__. Generators and coroutines are
 * in the chain while they run. In a thread with several interpreters, the frames are those of the
 * interpreter that it used last (before 3.12: first). The functions take no lock and allocate
 * nothing. Called by any thread. */
#include "stack/common/safe.h"
#include "stack/python/inside.h"

#include <stdatomic.h>

enum {
    PLACE_MOST = 1 << 28, /* bytes of a code object's bytecode */
    WALK_MOST = 1 << 16,  /* records visited: ends a chain that is a ring */
    POINTER_TAGS = 7,     /* low bits that 3.14 uses in references */
    OWNER_GENERATOR = 1,
    UNIT_BYTES = 2, /* bytes of an instruction */
};

struct walk {
    const struct python_layout *l;
    struct python_frame *frames;
    size_t most, n;
    size_t part;      /* CHAIN_ENTRIES: first frame of the loop's part */
    uintptr_t native; /* address of the next frame taken */
    bool bad;         /* something unexpected was read */
    struct python_sight sight;
};

static inline bool walk_read(struct walk *w, uintptr_t *to, uintptr_t from)
{
    if (!python_see(&w->sight, from, sizeof(*to))) {
        w->bad = true;
        return false;
    }
    *to = python_word(from);
    return true;
}

static inline bool walk_see_frame(struct walk *w, uintptr_t frame)
{
    bool seen = python_see(&w->sight, frame + w->l->frame_begin, w->l->frame_bytes);
    w->bad |= !seen;
    return seen;
}

/* Stores a frame; false: its code is unreadable. place < 0: before the first instruction. */
static inline bool walk_take(struct walk *w, const struct python_view *v, int64_t place)
{
    uint64_t key = place < PLACE_MOST ? python_key(w->l, &w->sight, v) : 0;
    if (!key) {
        w->bad = true;
        return false;
    }
    w->frames[w->n++] = (struct python_frame){
        .code = (const void *)v->code,
        .key = key,
        .place = place < 0 ? UINT32_MAX : (uint32_t)place,
        .native = w->native,
    };
    w->native = 0;
    return true;
}

/* 3.9 and 3.10: each frame has a call of the loop. 3.10 has as many records of calls as frames,
 * unless an exception is thrown through generators that wait for each other: then only the
 * innermost frame is sure to be right. */
static void walk_objects(struct walk *w, uintptr_t thread, uintptr_t frame)
{
    const struct python_layout *l = w->l;
    uintptr_t root = thread + l->cframe_root, loop = root;
    bool short_of = false;
    if (l->cframe && !walk_read(w, &loop, thread + l->cframe))
        return;
    while (frame && w->n < w->most) {
        struct python_view v;
        if (!walk_see_frame(w, frame))
            return;
        if (!python_view(l, &w->sight, python_word(frame + l->frame_code), &v)) {
            w->bad = true;
            return;
        }
        int32_t at = (int32_t)python_half(frame + l->frame_at);
        w->native = !l->cframe ? PYTHON_OWN_LOOP : loop != root ? loop : 0;
        short_of |= l->cframe && loop == root;
        if (!walk_take(w, &v, l->lines == LINES_RANGES ? (int64_t)at * UNIT_BYTES : at) ||
            (loop != root && !walk_read(w, &loop, loop + l->cframe_up)))
            return;
        frame = python_word(frame + l->frame_up);
    }
    if (!frame && (short_of || loop != root))
        for (size_t i = 1; i < w->n; i++)
            w->frames[i].native = 0;
}

/* Takes or leaves out one record of 3.11 and later. False: the walk ends here. */
static inline bool walk_record(struct walk *w, uintptr_t frame, unsigned owner)
{
    const struct python_layout *l = w->l;
    struct python_view v;
    uintptr_t code = python_word(frame + l->frame_code) & ~(uintptr_t)POINTER_TAGS;
    if (!python_view(l, &w->sight, code, &v)) {
        w->bad = true;
        return false;
    }
    if (v.units > PLACE_MOST)
        v.units = 0; /* then no place can be in it */
    int64_t place = (int64_t)(python_word(frame + l->frame_at) - (code + l->code_start));
    if (place < -UNIT_BYTES || place % UNIT_BYTES || place >= (int64_t)v.units * UNIT_BYTES) {
        w->bad = true;
        return false;
    }
    if (owner != OWNER_GENERATOR && place < (int64_t)v.traceable * UNIT_BYTES)
        return true;
    return walk_take(w, &v, place);
}

/* Describes, for 3.11, the loop around a loop, and the frame that runs there. */
struct loops {
    uintptr_t up, up_top; /* 0: none */
};

static bool loops_read(struct walk *w, struct loops *s, uintptr_t loop, uintptr_t root)
{
    *s = (struct loops){0};
    if (loop == root)
        return true;
    return walk_read(w, &s->up, loop + w->l->cframe_up) &&
           (s->up == root || walk_read(w, &s->up_top, s->up + w->l->cframe_top));
}

static void walk_records(struct walk *w, uintptr_t thread, uintptr_t loop, uintptr_t frame)
{
    const struct python_layout *l = w->l;
    struct loops loops = {0};
    uintptr_t root = thread + l->cframe_root;
    bool entries = l->chain == CHAIN_ENTRIES;
    if (!entries) {
        w->native = loop;
        if (!loops_read(w, &loops, loop, root))
            return;
    }
    for (unsigned steps = 0; frame && steps < WALK_MOST; steps++) {
        /* A full list still needs the end of its last part, which tells where that part runs. */
        if ((w->n == w->most && (!entries || w->part == w->n)) || !walk_see_frame(w, frame))
            return;
        unsigned owner = python_byte(frame + l->frame_owner);
        if (loops.up_top && frame == loops.up_top) {
            w->native = loops.up;
            if (!loops_read(w, &loops, loops.up, root))
                return;
        }
        if (owner >= l->entry_owner) {
            if (w->part < w->n)
                w->frames[w->part].native = frame;
            w->part = w->n;
        } else if (w->n < w->most && !walk_record(w, frame, owner)) {
            return;
        }
        frame = python_word(frame + l->frame_up);
    }
    w->bad |= frame != 0;
}

/* Returns the calling thread's PyThreadState; 0: it is not a thread of Python. */
static uintptr_t walk_thread(const struct python_layout *l)
{
    if (!atomic_load_explicit(&l->key[0], memory_order_relaxed))
        return 0;
    pthread_key_t key = (pthread_key_t)atomic_load_explicit(&l->key[1], memory_order_relaxed);
    return (uintptr_t)pthread_getspecific(key);
}

size_t python_walk(struct python_frame *frames, size_t most)
{
    const struct python_layout *l = python_layout();
    uintptr_t thread = l ? walk_thread(l) : 0;
    if (!thread)
        return 0;
    struct walk w = {.l = l, .frames = frames, .most = most};
    uintptr_t id = 0, top = 0, loop = 0;
    if (!walk_read(&w, &id, thread + l->thread_id) ||
        !walk_read(&w, &top, thread + l->thread_top) || id != (uintptr_t)pthread_self()) {
        python_judge(l, false);
        return 0;
    }
    if (l->chain != CHAIN_OBJECTS && l->cframe) { /* state -> loop -> frame */
        loop = top;
        if (!loop || !walk_read(&w, &top, loop + l->cframe_top))
            top = 0;
    }
    if (l->chain == CHAIN_OBJECTS)
        walk_objects(&w, thread, top);
    else if (top)
        walk_records(&w, thread, loop, top);
    if (w.n || w.bad)
        python_judge(l, !w.bad);
    return w.n;
}

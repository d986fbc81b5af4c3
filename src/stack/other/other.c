/* other.c - looks at a thread twice, and keeps the frames on which both looks agree.
 *
 * A look is copied while the thread calls and returns, so its inner frames can be a mixture of two
 * moments. Two looks, one after the other, are compared from the outermost frame inwards: a frame
 * with the same address, the same code and the same instruction did not return between them. The
 * first frame with the same code and another instruction is the innermost frame that is sure to
 * exist at both moments. If that covers both looks, the stack is whole; else another look is taken
 * and compared with the one before, and finally the pair with most agreement is kept.
 *
 * A frame that has not begun cannot have called another one: such a look is a mixture there, and
 * only frames further out are used. If both looks find the thread in the garbage collector
 * (collector.h), the innermost item of the stack is a mark. Code objects are looked up after the
 * second look, so that the two looks follow each other directly; fresh code objects (code.c) make
 * another pair necessary. */
#include "stack/other/other.h"

#include "base/alloc.h"
#include "base/err.h"
#include "stack/other/holder.h"
#include "stack/other/read.h"
#include "stack/stack_table.h"

#include <stdatomic.h>

enum { PAIRS_MOST = 5, TORN_MOST = 20, FRESH_MOST = 4, THREADS_MOST = 4096, TRIES = 3 };

struct stack_other {
    struct other_reader reader;
    struct holder holder;
    struct other_look looks[2];
    struct python_frame frames[STACK_DEPTH], best[STACK_DEPTH];
    struct join_item items[STACK_DEPTH + 1];
    uint16_t sources[STACK_DEPTH + 1];
};

/* Holds the frames on which a pair of looks agrees. */
struct agreed {
    size_t n, missing; /* frames kept, and at most how many there are further in */
    bool whole, cut, collects;
};

bool stack_other_self(struct stack_other_thread *out)
{
    const struct python_layout *l = python_layout();
    struct python_sight sight = {.file = 0};
    if (!l || !l->main_interp || !atomic_load_explicit(&l->key[0], memory_order_relaxed))
        return false;
    pthread_key_t key = (pthread_key_t)atomic_load_explicit(&l->key[1], memory_order_relaxed);
    uintptr_t state = (uintptr_t)pthread_getspecific(key);
    if (!state || !python_see(&sight, state + l->thread_id, sizeof(uint64_t)) ||
        python_word(state + l->thread_id) != (uint64_t)pthread_self())
        return false;
    *out = (struct stack_other_thread){state, (uint64_t)pthread_self()};
    return true;
}

/* The GIL's mutex and conditions are in _PyRuntime; from 3.12 on they are in the main
 * interpreter, which is part of it. Locks of the module threading are allocated. */
bool stack_other_gil(uintptr_t futex)
{
    const struct python_layout *l = python_layout();
    return l && futex >= l->runtime && futex - l->runtime < l->runtime_size;
}

static bool other_word(struct snapshot *s, uint64_t *to, uintptr_t from)
{
    struct iovec piece = {(void *)from, sizeof(*to)};
    if (snapshot_copy(s, 0, &piece, 1) != sizeof(*to))
        return false;
    memcpy(to, s->data, sizeof(*to));
    return true;
}

/* Finds a thread of the main interpreter. wanted: its thread_id; 0: the main thread's. */
static bool other_find_in(struct snapshot *s, const struct python_layout *l, uint64_t wanted,
                          struct stack_other_thread *out)
{
    uint64_t interp, state, id;
    if (!other_word(s, &interp, l->runtime + l->main_interp) || !interp ||
        (!wanted && !other_word(s, &wanted, l->runtime + l->main_thread)) || !wanted ||
        !other_word(s, &state, interp + l->interp_threads))
        return false;
    for (int i = 0; state && i < THREADS_MOST; i++) {
        if (!other_word(s, &id, state + l->thread_id))
            return false;
        if (id == wanted) {
            *out = (struct stack_other_thread){state, wanted};
            return true;
        }
        if (!other_word(s, &state, state + l->thread_next))
            return false;
    }
    return false;
}

static bool other_find(uint64_t wanted, struct stack_other_thread *out)
{
    const struct python_layout *l = python_layout();
    struct snapshot s;
    bool found = false;
    if (!l || !l->main_interp || snapshot_open(&s) != 0)
        return false;
    for (int i = 0; i < TRIES && !found; i++) /* the list can change during the walk */
        found = other_find_in(&s, l, wanted, out);
    snapshot_close(&s);
    return found;
}

bool stack_other_main(struct stack_other_thread *out)
{
    return other_find(0, out);
}

bool stack_other_find(uint64_t thread_id, struct stack_other_thread *out)
{
    return thread_id && other_find(thread_id, out);
}

int stack_other_open(struct stack_other **out)
{
    *out = NULL;
    if (!python_layout())
        return GPUFL_E_STATE;
    struct stack_other *o = mem_zalloc(sizeof(*o));
    if (!o)
        return GPUFL_E_NOMEM;
    int rc = other_read_init(&o->reader);
    if (rc != 0) {
        stack_other_close(o);
        return rc;
    }
    *out = o;
    return 0;
}

void stack_other_close(struct stack_other *o)
{
    if (!o)
        return;
    other_read_fini(&o->reader);
    mem_free(o);
}

bool stack_other_holder(struct stack_other *o, uintptr_t futex, struct stack_other_thread *out,
                        int32_t *tid)
{
    if (other_read_here(&o->reader) != 0 ||
        !holder_find(&o->holder, &o->reader.snap, o->reader.l, futex))
        return false;
    *out = o->holder.thread;
    *tid = o->holder.tid;
    return true;
}

const char *stack_other_how(const struct stack_other *o)
{
    return snapshot_name(&o->reader.snap);
}

/* Returns the innermost frame from which on, outwards, a look can be right. */
static size_t look_from(const struct other_look *k)
{
    size_t from = k->from;
    bool begun = false; /* a frame further in runs already */
    for (size_t i = 0; i < k->n; i++) {
        if (k->frames[i].bad || k->frames[i].fresh || (k->frames[i].early && begun))
            from = i + 1 > from ? i + 1 : from;
        begun |= !k->frames[i].hidden;
    }
    return from;
}

/* Aligns two looks by their outermost common frame. *a and *b: how many frames each look has from
 * its innermost frame to that one. False: they have no common frame. */
static bool looks_align(const struct other_look *one, const struct other_look *two, size_t *a,
                        size_t *b)
{
    *a = one->n;
    *b = two->n;
    if ((!one->cut && !two->cut) || !*a || !*b)
        return !one->broken && !two->broken && *a && *b;
    while (*b && two->frames[*b - 1].frame != one->frames[*a - 1].frame)
        --*b;
    if (*b)
        return true;
    *b = two->n;
    while (*a && one->frames[*a - 1].frame != two->frames[*b - 1].frame)
        --*a;
    return *a != 0;
}

static bool frames_same(const struct other_frame *x, const struct other_frame *y)
{
    return x->frame == y->frame && x->code == y->code;
}

/* Counts how many frames agree: in everything, and with another instruction in the innermost. */
struct common {
    size_t a, b; /* frames of each up to their common outermost one */
    size_t strict, n;
};

static struct common looks_common(const struct other_look *one, const struct other_look *two)
{
    struct common c = {.n = 0};
    if (!looks_align(one, two, &c.a, &c.b))
        return c;
    size_t most = c.a < c.b ? c.a : c.b;
    for (; c.n < most; c.n++) {
        const struct other_frame *x = &one->frames[c.a - c.n - 1];
        const struct other_frame *y = &two->frames[c.b - c.n - 1];
        if (!frames_same(x, y))
            break;
        if (x->at != y->at) {
            c.n++;
            break;
        }
        c.strict++;
    }
    return c;
}

/* Returns true if a look is whole: all of its frames are in the other one, or its inner frames were
 * alike in all copies while nobody moved the top, and the other look agrees on those further out
 * and on one of the inner ones, which vouches for its callers. end: frames up to the common
 * outermost one. */
static bool look_whole(const struct other_look *k, size_t end, const struct common *c)
{
    return k->settled && (c->n == end || c->strict + k->proved > end);
}

/* Takes the frames [begin, end) of a look whose codes are known; innermost first. */
static void look_take(const struct other_look *k, size_t begin, size_t end, struct agreed *r,
                      struct python_frame *to)
{
    r->n = 0;
    for (size_t i = begin; i < end; i++) {
        const struct other_frame *f = &k->frames[i];
        if (f->hidden)
            continue;
        to[r->n++] = (struct python_frame){
            .key = f->key,
            .place = f->place < 0 ? UINT32_MAX : (uint32_t)f->place,
        };
    }
}

/* Compares two looks. The codes of `two` are known. Puts the frames on which they agree, or all
 * frames of `two` if that look is whole, into `to`. */
static struct agreed looks_compare(const struct other_look *one, const struct other_look *two,
                                   struct python_frame *to)
{
    struct agreed r = {.missing = SIZE_MAX,
                       .cut = one->cut || two->cut,
                       .collects = one->collects && two->collects};
    struct common c = looks_common(one, two);
    size_t from = look_from(two), begin = 0;
    if (!c.n)
        return r;
    if (!look_whole(two, c.b, &c)) {
        size_t inner = one->from + c.b > c.a ? one->from + c.b - c.a : 0;
        begin = c.b - c.n > inner ? c.b - c.n : inner;
    }
    begin = begin > from ? begin : from;
    if (begin >= c.b)
        return r;
    r.missing = begin + (c.a > c.b && begin ? c.a - c.b : 0);
    r.whole = !begin && two->settled;
    look_take(two, begin, c.b, &r, to);
    return r;
}

static uint64_t other_stack(struct stack_other *o, const struct agreed *a,
                            enum stack_other_result *result)
{
    struct join_walk walk = {.python = o->best, .pythons = a->n, .end = UNWIND_OUTERMOST};
    size_t n = 0, room = STACK_DEPTH - a->collects;
    if (a->collects) {
        o->items[n] = (struct join_item){JOIN_COLLECTING, 0, STACK_MARK};
        o->sources[n++] = 0;
    }
    for (size_t i = 0; i < a->n && i < room; i++, n++) {
        o->items[n] = (struct join_item){o->best[i].key, o->best[i].place, STACK_PYTHON};
        o->sources[n] = (uint16_t)i;
    }
    if (a->cut || a->n > room) {
        o->items[n] = (struct join_item){JOIN_TRUNCATED, 0, STACK_MARK};
        o->sources[n++] = 0;
    }
    uint64_t id = stack_table_id(o->items, o->sources, n, &walk);
    *result = !id              ? STACK_OTHER_NO_MEMORY
              : a->whole       ? STACK_OTHER_WHOLE
              : a->missing < 2 ? STACK_OTHER_NO_INNERMOST
                               : STACK_OTHER_OUTER;
    return id;
}

/* Keeps the frames if they are better than those kept before. */
static void other_better(struct stack_other *o, struct agreed a, struct agreed *best)
{
    if (!a.n || (!a.whole && a.missing >= best->missing))
        return;
    *best = a;
    memcpy(o->best, o->frames, a.n * sizeof(o->best[0]));
}

/* Takes pairs of looks until one pair agrees in full, or there were enough pairs. False: *result
 * tells why there is no stack. */
static bool other_agree(struct stack_other *o, const struct stack_other_thread *t,
                        struct agreed *best, enum stack_other_result *result)
{
    struct other_look *one = &o->looks[0], *two = &o->looks[1];
    *best = (struct agreed){.missing = SIZE_MAX};
    *result = STACK_OTHER_GONE;
    for (int pairs = 0, fresh = 0; pairs < (best->n ? PAIRS_MOST : TORN_MOST) && !best->whole;
         pairs++) {
        o->reader.pair++;
        if (!other_look(&o->reader, t, one) || !other_look(&o->reader, t, two))
            return false;
        if (!one->n && !two->n && one->settled && two->settled) {
            *result = STACK_OTHER_WHOLE;
            return false;
        }
        if (!other_codes(&o->reader, two) && fresh++ < FRESH_MOST)
            pairs--;
        other_better(o, looks_compare(one, two, o->frames), best);
        if (best->whole || !one->settled)
            continue;
        other_codes(&o->reader, one); /* the first look may be whole if the second is not */
        other_better(o, looks_compare(two, one, o->frames), best);
    }
    *result = STACK_OTHER_TORN;
    return best->n != 0;
}

uint64_t stack_other_walk(struct stack_other *o, const struct stack_other_thread *t,
                          enum stack_other_result *result)
{
    struct agreed best;
    if (other_read_here(&o->reader) != 0) {
        *result = STACK_OTHER_GONE;
        return 0;
    }
    if (!other_agree(o, t, &best, result))
        return 0;
    if (best.whole)
        python_judge(o->reader.l, true);
    return other_stack(o, &best, result);
}

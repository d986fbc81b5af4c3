/* holder.c - see holder.h. In memory before the condition on which threads wait for the GIL,
 * CPython keeps a pointer to the state of the thread that took the GIL last, and an int that is 1
 * while that thread has it. Their offsets differ by version and C library, so the pair is searched:
 * no other word there is the address of a thread state, and the interpreter's list of threads shows
 * whether a word is one. */
#include "stack/other/holder.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
    BEFORE = 192,        /* bytes before the futex that are searched */
    THREADS_MOST = 1024, /* of the interpreter, that are compared */
    SELF_BYTES = 2048    /* of the C library's thread, that are searched for its kernel id */
};

static bool copy(struct snapshot *s, void *to, uintptr_t from, size_t size)
{
    struct iovec piece = {(void *)from, size};
    if (snapshot_copy(s, 0, &piece, 1) != size)
        return false;
    memcpy(to, s->data, size);
    return true;
}

static bool is_listed(struct snapshot *s, const struct python_layout *l, uintptr_t wanted)
{
    uint64_t interp, state;
    if (!copy(s, &interp, l->runtime + l->main_interp, sizeof interp) || !interp ||
        !copy(s, &state, interp + l->interp_threads, sizeof state))
        return false;
    for (int i = 0; state && i < THREADS_MOST; i++) {
        if (state == wanted)
            return true;
        if (!copy(s, &state, state + l->thread_next, sizeof state))
            return false;
    }
    return false;
}

/* Returns the offset of a thread's kernel id in the C library's data, in bytes from pthread_self();
 * 0: not known. */
static unsigned find_id_place(void)
{
    const char *self = (const char *)pthread_self();
    int32_t own = (int32_t)gettid(), there;
    for (unsigned at = 0; at < SELF_BYTES; at += sizeof there) {
        memcpy(&there, self + at, sizeof there);
        if (there == own)
            return at;
    }
    return 0;
}

/* Takes the thread with that state. The state of the last holder need not be looked for in the list
 * again, but its kernel id is read each time: the next thread may get the stack of a thread that
 * ended, and with it its thread_id, and the memory of its state. */
static bool take(struct holder *h, struct snapshot *s, const struct python_layout *l,
                 uintptr_t state)
{
    uint64_t id;
    int32_t tid;
    if (!copy(s, &id, state + l->thread_id, sizeof id) || !id)
        return false;
    bool known = h->thread.state == state && h->thread.thread_id == id;
    if (!known && !is_listed(s, l, state))
        return false;
    if (!h->id_place)
        h->id_place = find_id_place();
    if (!h->id_place || !copy(s, &tid, (uintptr_t)id + h->id_place, sizeof tid) || tid <= 0)
        return false;
    *h = (struct holder){.thread = {state, id}, .tid = tid, .id_place = h->id_place};
    return true;
}

bool holder_find(struct holder *h, struct snapshot *s, const struct python_layout *l,
                 uintptr_t futex)
{
    uint64_t words[BEFORE / sizeof(uint64_t)];
    uintptr_t end = futex & ~(uintptr_t)7;
    if (!l->main_interp || !copy(s, words, end - sizeof words, sizeof words))
        return false;
    for (size_t i = sizeof words / sizeof *words - 1; i-- > 0;) {
        int32_t locked;
        memcpy(&locked, &words[i + 1], sizeof locked);
        if (locked == 1 && words[i] > SELF_BYTES && words[i] % 8 == 0 &&
            take(h, s, l, (uintptr_t)words[i]))
            return true;
    }
    return false;
}

/* read.c - looks at the frames of a thread while it runs.
 *
 * One call copies, in this order: the thread's state, the innermost KiB of its frames where they
 * were at the look before, the top pointer, that KiB and the top pointer three times more, then the
 * rest. Where all top pointers are equal, the frame lies in the copy and all copies show the same
 * calls, nobody moved the top meanwhile; else the look is taken again at the new place. (The copies
 * are for a function that calls two others in turns: their frames take one address, and so top
 * pointers alone are equal after a return and a call, too. Two copies are not enough: such a
 * program can take as long for a round as a copy takes, and then both are torn alike. So there are
 * four, and the time between them is random.) All pieces outside the newest chunk (generators,
 * records on the C stack, frame objects of 3.9 and 3.10) are remembered by address and come with
 * the same call, since a chain that is followed frame by frame costs a call each.
 *
 * If no look succeeds, the outer frames of the last one count that all copies show alike, and that
 * no look at the top pointer found left.
 *
 * Remembered addresses are only guesses: a frame is used only if the chain of this look leads to
 * it. */
#include "stack/other/read.h"

#include "base/alloc.h"
#include "base/err.h"

enum {
    LOOKS_MOST = 6,
    WALK_MOST = 4096, /* records visited: ends a chain that is a ring */
    WINDOW_BELOW = 768,
    WINDOW_ABOVE = 256,
    REST_MOST = 16 * 1024, /* bytes of a chunk that are copied at once */
    UNSURE = 2,            /* innermost frames that a single copy does not prove */
    EARLY_EXTRAS = 8,      /* extras copied before the second look at the top */
    INNER_MOST = 64,       /* frames in them */
    STATE_EXECUTING = 0,   /* of 3.10's frames */
    STATE_UNWINDING = 2,
    OWNER_GENERATOR = 1,
    PAGE = 4096,
    PART_MOST = 1024, /* a version whose parts of frame, code or state are larger is not read */
    CHUNK_MOST = 1 << 30,
    OBJECT_PART = 1024, /* bytes read together with a frame of another chunk */
};

static bool other_direct(void *with, void *to, uintptr_t from, size_t n)
{
    struct other_reader *r = with;
    struct iovec piece = {(void *)from, n};
    size_t at = SNAPSHOT_BYTES - OTHER_SCRATCH;
    if (n > OTHER_SCRATCH || snapshot_copy(&r->snap, at, &piece, 1) != n)
        return false;
    memcpy(to, r->snap.data + at, n);
    return true;
}

int other_read_init(struct other_reader *r)
{
    const struct python_layout *l = python_layout();
    r->l = l;
    r->snap = (struct snapshot){.kind = SNAPSHOT_NONE, .file = {.fd = -1}, .out = {.fd = -1}};
    if (!l || !l->main_interp)
        return GPUFL_E_UNAVAILABLE;
    uint32_t top = l->thread_top + 8, id = l->thread_id + 8;
    uint32_t stack = l->data_stack ? l->data_stack + 24 : 0;
    r->state_bytes = top > id ? top : id;
    r->state_bytes = r->state_bytes > stack ? r->state_bytes : stack;
    if (r->state_bytes > PART_MOST || l->frame_bytes > PART_MOST ||
        l->code_begin + l->code_bytes > PART_MOST)
        return GPUFL_E_UNAVAILABLE;
    r->direct = (struct python_reader){other_direct, r};
    r->collector = (struct collector){.tried = false};
    r->content.table = mem_alloc(PYTHON_TABLE_MOST);
    return r->content.table ? snapshot_open(&r->snap) : GPUFL_E_NOMEM;
}

void other_read_fini(struct other_reader *r)
{
    snapshot_close(&r->snap);
    mem_free(r->content.table);
}

int other_read_here(struct other_reader *r)
{
    if (!snapshot_is_here(&r->snap)) { /* forked: the thread that was reading is in the parent */
        memset(r->guess, 0, sizeof(r->guess));
        memset(r->codes, 0, sizeof(r->codes));
    }
    return snapshot_here(&r->snap);
}

void other_begin(struct other_reader *r)
{
    r->pieces = r->blocks = r->last = 0;
    r->used = 0;
}

int other_ask(struct other_reader *r, uintptr_t begin, size_t bytes)
{
    if (r->pieces == SNAPSHOT_PIECES || bytes > SNAPSHOT_BYTES - OTHER_SCRATCH - r->used)
        return -1;
    r->piece[r->pieces] = (struct iovec){(void *)begin, bytes};
    r->at[r->pieces] = (uint32_t)r->used;
    r->got[r->pieces] = 0;
    r->used += bytes;
    return (int)r->pieces++;
}

/* A piece that faults is copied once more on its own, because a pipe then shows, page by page, how
 * much is readable; the pieces after it are copied by another call. */
void other_run(struct other_reader *r)
{
    for (unsigned i = 0; i < r->pieces;) {
        size_t got = snapshot_copy(&r->snap, r->at[i], &r->piece[i], (int)(r->pieces - i));
        for (; i < r->pieces && got >= r->piece[i].iov_len; i++) {
            r->got[i] = (uint32_t)r->piece[i].iov_len;
            got -= r->piece[i].iov_len;
        }
        if (i < r->pieces) {
            r->got[i] = (uint32_t)snapshot_copy(&r->snap, r->at[i], &r->piece[i], 1);
            i++;
        }
    }
}

const char *other_piece(const struct other_reader *r, int piece)
{
    return piece >= 0 && r->got[piece] == r->piece[piece].iov_len ? r->snap.data + r->at[piece]
                                                                  : NULL;
}

static uintptr_t other_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return (uintptr_t)word;
}

/* Makes a piece, or the part of it that is readable, a block, which is found by address. */
static void other_block(struct other_reader *r, int piece)
{
    if (piece < 0 || !r->got[piece] || r->blocks == SNAPSHOT_PIECES)
        return;
    r->block[r->blocks++] = (struct other_block){
        .begin = (uintptr_t)r->piece[piece].iov_base,
        .bytes = r->got[piece],
        .at = r->at[piece],
    };
}

/* Returns the index of the block with these bytes; -1: none. Chains lead from block to block in
 * order. */
static int other_find(struct other_reader *r, uintptr_t from, size_t n)
{
    for (unsigned i = 0; i < r->blocks; i++) {
        unsigned at = r->last + i < r->blocks ? r->last + i : r->last + i - r->blocks;
        const struct other_block *b = &r->block[at];
        if (from - b->begin <= b->bytes && b->bytes - (from - b->begin) >= n) {
            r->last = at;
            return (int)at;
        }
    }
    return -1;
}

/* Copies memory that is in no block, with the memory around it: of the chunk, else of its page. */
static int other_fetch(struct other_reader *r, const struct other_guess *g, uintptr_t from,
                       size_t n)
{
    uintptr_t begin = from;
    if (from - g->chunk < g->limit - g->chunk)
        begin = from - g->chunk > REST_MOST / 2 ? from - REST_MOST / 2 : g->chunk;
    else if (r->l->chain != CHAIN_OBJECTS)
        begin = from % PAGE > OBJECT_PART ? from - OBJECT_PART : from - from % PAGE;
    unsigned before = r->pieces;
    int piece = other_ask(r, begin, from + n - begin);
    if (piece < 0)
        return -1;
    r->got[piece] = (uint32_t)snapshot_copy(&r->snap, r->at[piece], &r->piece[before], 1);
    other_block(r, piece);
    return other_find(r, from, n);
}

/* Returns the part of a frame that is read; NULL: unreadable. A frame outside the newest chunk is
 * noted for the next look. */
static const char *other_frame(struct other_reader *r, struct other_guess *g, uintptr_t frame)
{
    uintptr_t from = frame + r->l->frame_begin;
    int i = other_find(r, from, r->l->frame_bytes);
    if (i < 0)
        i = other_fetch(r, g, from, r->l->frame_bytes);
    if (i < 0)
        return NULL;
    struct other_block *b = &r->block[i];
    if (!b->noted && !(frame - g->chunk < g->limit - g->chunk) && g->extras < OTHER_EXTRAS) {
        b->noted = true;
        g->extra[g->extras].begin = b->begin;
        g->extra[g->extras++].bytes = b->bytes;
    }
    return r->snap.data + b->at + (from - b->begin);
}

static struct other_guess *other_guess(struct other_reader *r, uintptr_t state)
{
    struct other_guess *g = &r->guess[(state >> 6 ^ state >> 12) % OTHER_THREADS];
    if (g->state != state) {
        g->state = state;
        g->loop = g->top = g->chunk = g->limit = g->used = g->base = 0;
        g->extras = 0;
    }
    return g;
}

enum {
    COPIES = 4,        /* of the innermost frames */
    TOPS = COPIES + 1, /* looks at the top pointer: before the first copy and after each */
    FILLERS = 6,       /* 0 to 5 pieces that only take time go before another copy */
    FILLER_BYTES = 8,
};

/* Holds the pieces of a look that have a meaning of their own; -1: not asked for. Each copy of the
 * innermost frames has `inners` pieces, from inner[copy] on. */
struct asked {
    int state, top[TOPS], inner[COPIES], inners, state_again;
    uintptr_t tops[TOPS]; /* the answers: the top frame, 0: none or not copied */
};

/* Asks for the innermost frames. A top frame outside of the chunk belongs to a generator, or is the
 * record of a loop that ends: its callers are the newest frames of the chunk. Returns where the
 * rest of the chunk ends. */
static uintptr_t other_ask_inner(struct other_reader *r, const struct other_guess *g)
{
    const struct python_layout *l = r->l;
    uint32_t part = l->frame_begin + l->frame_bytes;
    uintptr_t from = g->top + l->frame_begin, begin, end, rest_end;
    bool inside = g->top - g->chunk < g->limit - g->chunk;
    uintptr_t at = inside ? g->top : g->used;
    begin = at - g->chunk > WINDOW_BELOW ? at - WINDOW_BELOW : g->chunk;
    rest_end = begin + part; /* a frame may cross this border */
    if (inside) {
        end = g->limit - at > WINDOW_ABOVE ? at + WINDOW_ABOVE : g->limit;
        other_ask(r, begin, (end > at + part ? end : at + part) - begin);
    } else {
        other_ask(r, from, l->frame_bytes);
        if (at > begin)
            other_ask(r, begin, at - begin);
    }
    for (unsigned i = 0; i < g->extras && i < EARLY_EXTRAS; i++)
        other_ask(r, g->extra[i].begin, g->extra[i].bytes);
    return rest_end;
}

/* Lets a random time pass before another copy: a program whose rhythm is that of the copies would
 * show all of them alike. */
static void other_ask_filler(struct other_reader *r, const struct stack_other_thread *t)
{
    r->random = r->random * 1664525 + 1013904223;
    for (unsigned i = (r->random >> 16) % FILLERS; i; i--)
        other_ask(r, t->state, FILLER_BYTES);
}

/* Asks for the top pointer. Where loops have records, the state names the record and the record
 * names the frame. */
static int other_ask_top(struct other_reader *r, const struct stack_other_thread *t,
                         const struct other_guess *g)
{
    const struct python_layout *l = r->l;
    bool loops = l->chain != CHAIN_OBJECTS && l->cframe;
    return other_ask(r, loops ? g->loop + l->cframe_top : t->state + l->thread_top, 8);
}

/* Asks for a look in the order in which the parts change. */
static struct asked other_ask_all(struct other_reader *r, const struct stack_other_thread *t,
                                  const struct other_guess *g)
{
    struct asked a;
    uintptr_t rest_end = g->used;
    other_begin(r);
    a.state = other_ask(r, t->state, r->state_bytes);
    collector_ask(&r->collector, r);
    a.top[0] = other_ask_top(r, t, g);
    for (int i = 0; i < COPIES; i++) {
        if (i)
            other_ask_filler(r, t);
        a.inner[i] = (int)r->pieces;
        if (g->top)
            rest_end = other_ask_inner(r, g);
        a.inners = (int)r->pieces - a.inner[i];
        a.top[i + 1] = other_ask_top(r, t, g);
    }
    a.state_again = other_ask(r, t->state + r->l->thread_top, 8);
    if (rest_end > g->chunk && rest_end <= g->limit) {
        uintptr_t begin = rest_end - g->chunk > REST_MOST ? rest_end - REST_MOST : g->chunk;
        other_ask(r, begin, rest_end - begin);
    }
    for (unsigned i = EARLY_EXTRAS; i < g->extras; i++)
        other_ask(r, g->extra[i].begin, g->extra[i].bytes);
    return a;
}

static void other_blocks(struct other_reader *r, const struct asked *a)
{
    for (int i = a->inner[0]; i < (int)r->pieces; i++)
        if (i < a->inner[0] + a->inners || i > a->state_again)
            other_block(r, i);
}

/* Finds the thread's newest chunk of frames, if the version has one and its bounds make sense. */
static void other_chunk(const struct other_reader *r, struct other_guess *g, const char *state)
{
    if (!r->l->data_stack)
        return;
    g->chunk = other_word(state + r->l->data_stack);
    g->used = other_word(state + r->l->data_stack + 8);
    g->limit = other_word(state + r->l->data_stack + 16);
    if (g->limit < g->chunk || g->limit - g->chunk > CHUNK_MOST || g->used < g->chunk ||
        g->used > g->limit)
        g->chunk = g->limit = g->used = 0;
}

/* Returns where a frame is in one of these pieces; NULL: in none. *piece becomes the piece. */
static const char *other_inner(const struct other_reader *r, const struct asked *a, uintptr_t frame,
                               int *piece)
{
    for (int i = a->inner[0]; i < a->inner[0] + a->inners; i++) {
        uintptr_t into = frame + r->l->frame_begin - (uintptr_t)r->piece[i].iov_base;
        if (into <= r->got[i] && r->got[i] - into >= r->l->frame_bytes) {
            *piece = i;
            return r->snap.data + r->at[i] + into - r->l->frame_begin;
        }
    }
    return NULL;
}

enum twice { ONCE, SAME, RAN_ON, OTHER_CALL };

/* Compares two copies of a frame, the first one and another one. */
static enum twice other_alike(const struct python_layout *l, const char *one, const char *two)
{
    if (memcmp(one + l->frame_code, two + l->frame_code, 8) != 0 ||
        memcmp(one + l->frame_up, two + l->frame_up, 8) != 0)
        return OTHER_CALL;
    return memcmp(one + l->frame_at, two + l->frame_at, 4) != 0 ? RAN_ON : SAME;
}

/* Compares all copies of an innermost frame. */
static enum twice other_twice(const struct other_reader *r, const struct asked *a, uintptr_t frame)
{
    enum twice worst = SAME;
    int i;
    const char *one = other_inner(r, a, frame, &i);
    if (!one)
        return ONCE;
    for (int copy = 1; copy < COPIES; copy++) {
        int again = a->inner[copy] + i - a->inner[0];
        const char *two = one - r->at[i] + r->at[again];
        enum twice is = r->got[again] == r->got[i] ? other_alike(r->l, one, two) : OTHER_CALL;
        worst = is > worst ? is : worst;
    }
    return worst;
}

/* Notes how far the next frame of the chain can be trusted. If a top pointer was at a frame further
 * out, the frames further in had returned. */
static void other_trust(const struct other_reader *r, const struct asked *a, uintptr_t frame,
                        struct other_look *to)
{
    enum twice twice = other_twice(r, a, frame);
    bool top = frame == a->tops[0], contiguous = to->proved == to->n;
    if (twice == OTHER_CALL || (twice == ONCE && to->from == to->n && to->n < UNSURE))
        to->from = to->n + 1;
    else if (twice == RAN_ON && !top)
        to->from = to->n;
    for (int k = 1; k < TOPS; k++)
        if (!top && a->tops[k] == frame)
            to->from = to->n;
    if (contiguous && (twice == SAME || twice == RAN_ON))
        to->proved = to->n + 1;
}

/* Returns the word of a piece; 0: not copied. */
static uintptr_t other_answer(const struct other_reader *r, int piece)
{
    const char *p = other_piece(r, piece);
    return p ? other_word(p) : 0;
}

/* Copies everything once, and finds the top frame. *still: it did not move. False: the thread's
 * state is gone. */
static bool other_copy(struct other_reader *r, const struct stack_other_thread *t,
                       struct other_guess *g, struct asked *a, bool *still)
{
    const struct python_layout *l = r->l;
    *a = other_ask_all(r, t, g);
    other_run(r);
    const char *state = other_piece(r, a->state), *again = other_piece(r, a->state_again);
    if (!state || other_word(state + l->thread_id) != t->thread_id)
        return false;
    other_blocks(r, a);
    uintptr_t top = other_word(state + l->thread_top);
    bool copied = true;
    for (int i = 0; i < TOPS; i++) {
        copied = copied && other_piece(r, a->top[i]);
        a->tops[i] = other_answer(r, a->top[i]);
    }
    *still = copied && again && other_word(again) == top;
    if (l->chain == CHAIN_OBJECTS || !l->cframe) {
        a->tops[0] = top;
    } else { /* the answers are of the loop that was the newest one at the look before */
        *still = *still && top == g->loop;
        a->tops[0] = top == g->loop && a->tops[0] ? a->tops[0] : g->top;
        g->loop = top;
    }
    other_chunk(r, g, state);
    g->top = a->tops[0];
    for (int i = 1; i < TOPS; i++)
        *still = *still && a->tops[i] == g->top;
    return true;
}

/* Returns true if the copy of a frame that has called another one can be right. */
static bool other_runs(const struct python_layout *l, const char *frame)
{
    unsigned state = l->frame_state ? (unsigned char)frame[l->frame_state] : 0;
    if (!l->frame_state)
        return true;
    return l->cframe ? state == STATE_EXECUTING || state == STATE_UNWINDING : state == 1;
}

/* Returns true if a chain can end with this record. (A popped frame and a waiting generator have no
 * caller either.) */
static bool other_ends(const struct python_layout *l, const char *frame, unsigned owner)
{
    if (l->chain == CHAIN_OBJECTS)
        return other_runs(l, frame);
    return l->chain == CHAIN_ENTRIES ? owner >= l->entry_owner : owner != OWNER_GENERATOR;
}

/* Returns true if the chain leads back into itself. Frames of two moments can do that: 3.9 and 3.10
 * use the frame objects of calls that are over again, in another order. */
static bool other_visited(const struct other_look *to, uintptr_t frame)
{
    for (size_t i = 0; i < to->n; i++)
        if (to->frames[i].frame == frame)
            return true;
    return false;
}

/* Follows the chain from the top frame through the copies. A chain with another outermost record
 * than the one before counts only where the next one has the same. */
static void other_chain(struct other_reader *r, struct other_guess *g, const struct asked *a,
                        struct other_look *to)
{
    const struct python_layout *l = r->l;
    unsigned records = 0;
    to->n = to->from = to->proved = 0;
    to->cut = false;
    to->broken = g->top != 0;
    g->extras = 0;
    r->last = 0;
    for (uintptr_t frame = g->top; frame && to->n < STACK_DEPTH;) {
        const char *p = other_frame(r, g, frame);
        if (!p || ++records > WALK_MOST)
            return;
        p -= l->frame_begin;
        unsigned owner = l->frame_owner ? (unsigned char)p[l->frame_owner] : 0;
        uintptr_t at = other_word(p + l->frame_at);
        if (to->n && !other_runs(l, p))
            return;
        if (!l->entry_owner || owner < l->entry_owner) {
            other_trust(r, a, frame, to);
            to->frames[to->n++] = (struct other_frame){
                .frame = frame,
                .code = other_word(p + l->frame_code) & ~(uintptr_t)7,
                .at = l->chain == CHAIN_OBJECTS ? (uint32_t)at : at,
                .owner = (uint8_t)owner,
            };
        }
        uintptr_t up = other_word(p + l->frame_up);
        if (!up && other_ends(l, p, owner)) {
            to->broken = frame != g->base;
            g->base = frame;
        }
        if (up == frame)
            return;
        frame = up;
        if (frame && to->n == STACK_DEPTH && !other_visited(to, frame))
            to->cut = true, to->broken = false;
    }
}

/* 3.11 and 3.12: a loop that begins is in the list before it has a frame, and its memory on the C
 * stack still has that of an older loop. Then the frames of the loop around it are taken. */
static void other_outer_loop(struct other_reader *r, struct other_guess *g, const struct asked *a,
                             struct other_look *to)
{
    const struct python_layout *l = r->l;
    uint64_t up, top;
    if (l->chain == CHAIN_OBJECTS || !l->cframe ||
        !other_direct(r, &up, g->loop + l->cframe_up, sizeof(up)) || !up ||
        !other_direct(r, &top, up + l->cframe_top, sizeof(top)))
        return;
    g->top = top;
    other_chain(r, g, a, to);
}

bool other_look(struct other_reader *r, const struct stack_other_thread *t, struct other_look *to)
{
    struct other_guess *g = other_guess(r, t->state);
    struct asked a;
    to->settled = to->broken = to->collects = false;
    for (int i = 0; i < LOOKS_MOST && !to->settled; i++) {
        bool still;
        if (!other_copy(r, t, g, &a, &still))
            return false;
        to->collects = collector_runs(&r->collector, r, t->state);
        other_chain(r, g, &a, to);
        to->settled = still && !to->from && !to->broken && (to->proved || !g->top);
    }
    if (to->broken)
        other_outer_loop(r, g, &a, to);
    return true;
}

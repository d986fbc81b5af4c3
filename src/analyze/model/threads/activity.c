/* activity.c - see activity.h. */
#include "analyze/model/threads/activity.h"

#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"
#include "symbol/names/match.h"

#include <string.h>

enum { PAIRS_MAX = 1 << 12 /* of a thread and an activity */ };

static const struct activity_text texts[ACTIVITIES] = {
#define ACTIVITY(id, title, was, unless, next) [ACTIVITY_##id] = {title, was, unless, next},
#include "analyze/model/threads/activity.def"
};

static const struct {
    enum idle_activity activity;
    const char *file, *function;
} frames[] = {
#define ACTIVITY_FRAME(id, file, function, source) {ACTIVITY_##id, file, function},
#include "analyze/model/threads/activity.def"
};

const struct activity_text *idle_activity_text(enum idle_activity a)
{
    return &texts[a];
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Most patterns have a * at an end or at both, and stacks have many frames. */
static bool fits(const char *pattern, const char *text)
{
    struct match m = {.count = 0};
    struct span s = {text, strnlen(text, MATCH_PATH)};
    size_t len = strlen(pattern);
    const char *inner = pattern + 1;
    if (s.len == MATCH_PATH)
        return false;
    if (*pattern == '*' && !inner[strcspn(inner, "*?#")])
        return s.len + 1 >= len && !strcmp(text + s.len + 1 - len, inner);
    if (*pattern == '*' && len > 1 && inner + strcspn(inner, "*?#") == pattern + len - 1 &&
        pattern[len - 1] == '*')
        return memmem(text, s.len, inner, len - 2) != NULL;
    return match_fits(pattern, s, 0, &m);
}

enum idle_activity idle_activity_of_frame(const char *file, const char *function)
{
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        if ((file ? *frames[i].file && fits(frames[i].file, file) : !*frames[i].file) &&
            fits(frames[i].function, function))
            return frames[i].activity;
    return ACTIVITY_NONE;
}

/* Returns the activity of a frame of the model, innermost function first. */
static uint8_t of_frame(const struct model *m, const struct stacks_frame *f)
{
    enum idle_activity a = ACTIVITY_NONE;
    if (f->kind == STACKS_PYTHON)
        return (uint8_t)idle_activity_of_frame(model_text(m, f->file), model_text(m, f->function));
    if (f->kind == STACKS_MARK)
        return (uint8_t)idle_activity_of_frame(NULL, model_text(m, f->function));
    for (uint32_t i = 0; f->kind == STACKS_NATIVE && !a && i < f->symbols; i++)
        a = idle_activity_of_frame(NULL, model_text(m, m->stacks.symbols[f->symbol + i].function));
    return (uint8_t)a;
}

static bool compiles(uint8_t a)
{
    return a >= ACTIVITY_COMPILE_TORCH && a <= ACTIVITY_COMPILE_OTHER;
}

/* Returns the activity of a stack whose innermost frame has activity a. If one compiler calls
 * another, the outer one counts: torch.compile lets Triton compile its kernels. A garbage
 * collection or a plan in the middle of compiling is part of the compilation. */
static uint8_t of_stack(uint8_t a, uint8_t caller)
{
    bool part = compiles(caller) && (compiles(a) || a == ACTIVITY_COLLECT || a == ACTIVITY_PLAN);
    return !a || part ? caller : a;
}

uint8_t *idle_activity_list(const struct model *m)
{
    const struct stacks *s = &m->stacks;
    uint8_t *of = mem_array(s->frames.count + 1, 1), *nodes = mem_array(s->nodes.count + 1, 1);
    if (of && nodes) {
        for (size_t i = 1; i < s->frames.count; i++)
            of[i] = of_frame(m, keyed_at(&s->frames, i));
        for (uint32_t i = 1; i < s->nodes.count; i++) { /* a caller comes before what it calls */
            const struct stacks_node *n = stacks_node_at(s, i);
            nodes[i] = of_stack(of[n->frame], nodes[n->parent]);
        }
    } else {
        mem_free(nodes);
        nodes = NULL;
    }
    mem_free(of);
    return nodes;
}

/* ---- stretches --------------------------------------------------------------------------- */

/* Says when a thread was last seen in an activity; for ACTIVITY_NONE, how often the thread was seen
 * at all. */
struct seen {
    uint32_t thread, activity;
    int64_t last;    /* ns; not of the key, like the next ones */
    uint64_t all;    /* looks at the thread so far; for an activity, up to its last look */
    uint64_t breaks; /* how often the thread was seen elsewhere within the stretch */
};

static void count(const struct model *m, struct idle_stretches *to, int64_t time)
{
    double length = (double)m->facts.end - (double)m->facts.start;
    to->all++;
    to->later += (double)time - (double)m->facts.start > IDLE_START / 100.0 * length;
}

void idle_activity_began(struct model *m, enum idle_activity a, int64_t time)
{
    count(m, &m->idle.stretches[a], time);
}

static int count_look(struct model *m, struct keyed *pairs, const struct idle_look *look, uint8_t a)
{
    struct seen key = {.thread = look->thread};
    uint32_t at;
    bool added;
    int rc = keyed_put(pairs, &key, &at, &added);
    if (rc || !at)
        return rc;
    uint64_t all = ++((struct seen *)keyed_at(pairs, at))->all;
    key.activity = a;
    rc = a ? keyed_put(pairs, &key, &at, &added) : 0;
    if (rc || !a || !at)
        return rc;
    struct seen *s = keyed_at(pairs, at);
    if (added || look->time - s->last > IDLE_STRETCH_MS * 1000000ll) {
        s->breaks = 0;
        count(m, &m->idle.stretches[a], look->time);
    } else if (all - s->all > IDLE_BREAK_LOOKS && ++s->breaks == IDLE_BREAKS) {
        m->idle.stretches[a].mixed++;
    }
    s->last = look->time;
    s->all = all;
    return 0;
}

/* Counts the steady part's steps with a look at an activity. Looks come in the order of time.
 * last: number of the step that was counted last. */
static void count_step(const struct model *m, struct idle_stretches *to, int64_t time, size_t *last)
{
    const struct sum_steps *s = &m->steps;
    size_t step = ORDER_PLACE(s->count, i, s->items[i].start <= time);
    if (!step || step == *last || !s->items[step - 1].steady || time >= s->items[step - 1].end)
        return;
    to->steps++;
    *last = step;
}

/* Counts the steps with looks at each activity, whose stacks are in `nodes`. */
static void count_steps(struct model *m, const uint8_t *nodes)
{
    const struct idle_looks *l = &m->idle.looks;
    struct idle_stretches *to = m->idle.stretches;
    size_t last[ACTIVITIES] = {0};
    for (size_t i = 0; i < m->steps.count; i++)
        to[0].of += m->steps.items[i].steady;
    for (int a = 1; a < ACTIVITIES; a++)
        to[a].of = to[0].of;
    for (size_t i = 0; i < l->count; i++) {
        uint8_t a = nodes[stacks_node_of(&m->stacks, l->rows[i].stack)];
        if (a)
            count_step(m, &to[a], l->rows[i].time, &last[a]);
    }
}

static int count_loads(struct model *m)
{
    const struct wait_list *l = sum_wait_lines_waits(m);
    for (size_t i = 0; l && i < l->count; i++)
        if (l->items[i].call == WAIT_MODULE)
            count(m, &m->idle.loads, l->items[i].start);
    return l ? 0 : GPUFL_E_NOMEM;
}

int idle_activity_count(struct model *m)
{
    struct idle_looks *l = &m->idle.looks;
    struct keyed pairs;
    idle_looks_sort(l);
    uint8_t *nodes = l->count ? idle_activity_list(m) : NULL;
    int rc = l->count && !nodes ? GPUFL_E_NOMEM : 0;
    keyed_init(&pairs, sizeof(struct seen), offsetof(struct seen, last), PAIRS_MAX);
    for (size_t i = 0; !rc && i < l->count; i++) {
        uint8_t a = nodes[stacks_node_of(&m->stacks, l->rows[i].stack)];
        rc = count_look(m, &pairs, &l->rows[i], a == ACTIVITY_PLAN ? 0 : a); /* plans.c counts */
    }
    if (nodes)
        count_steps(m, nodes);
    rc = rc || !nodes ? rc : idle_changed_find(m, nodes);
    keyed_fini(&pairs);
    mem_free(nodes);
    return rc ? rc : count_loads(m);
}

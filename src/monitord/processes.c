/* processes.c - see processes.h. */
#include "monitord/processes.h"

#include "base/alloc.h"

#include <string.h>

static const int64_t MINUTE = 60000000000, LOOK_MOST = 600000000000;

void processes_init(struct processes *t, const char *proc, struct announced *announced)
{
    *t = (struct processes){.proc = proc, .announced = announced};
}

void processes_fini(struct processes *t)
{
    mem_free(t->items);
    *t = (struct processes){0};
}

static struct process *find(struct processes *t, int gpu, int64_t pid)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].now.pid == pid && t->items[i].gpu == gpu)
            return &t->items[i];
    return NULL;
}

static bool is_equal(const struct device_process *a, const struct device_process *b)
{
    return a->pid == b->pid && a->memory_used == b->memory_used && a->sm_util == b->sm_util &&
           a->mem_util == b->mem_util && a->encoder_util == b->encoder_util &&
           a->decoder_util == b->decoder_util && a->gpu_instance == b->gpu_instance &&
           a->compute_instance == b->compute_instance;
}

static void visit_metric(struct process *p, int64_t now, const struct process_visitor *v)
{
    if (is_equal(&p->now, &p->written) && now - p->written_at < MINUTE)
        return;
    p->written = p->now;
    p->written_at = now;
    v->metric(v->arg, p);
}

/* Takes the session that the process announces; false: it announces none. */
static bool take_announced(struct processes *t, struct process *p, int64_t now)
{
    struct announcement said;
    if (!t->announced || !announced_find(t->announced, p->now.pid, p->owner.start, now, &said))
        return false;
    memcpy(p->owner.session, said.session, sizeof p->owner.session);
    p->is_announced = true;
    return true;
}

static void look_up(struct processes *t, struct process *p, int64_t now)
{
    if (!owner_read(&p->owner, t->proc, p->now.pid))
        t->unread++;
    p->checked = now;
    p->since = p->look_at = now;
    p->is_announced = false;
    (void)take_announced(t, p, now);
}

/* Searches for the session of a process again. In a program with many threads a search costs as
 * many reads, so the pause is as long as the process is known, or a minute if a session may have
 * ended. */
static void look_for_session(struct processes *t, struct process *p, int64_t now)
{
    int64_t known = now - p->since;
    if (take_announced(t, p, now))
        return;
    if (!p->is_announced && now < p->look_at)
        return;
    p->is_announced = false; /* it has ended, or expired: /proc is read at once */
    bool found = traced_session(t->proc, p->now.pid, p->owner.session, NULL, 0);
    p->look_at = now + (found ? MINUTE : known < LOOK_MOST ? known : LOOK_MOST);
}

/* Returns true if the process id is another process's by now. */
static bool is_other(struct processes *t, struct process *p, int64_t now)
{
    if (now - p->checked < MINUTE || p->owner.start == CELL_NULL)
        return false;
    p->checked = now;
    int64_t start = owner_start(t->proc, p->now.pid);
    return start != CELL_NULL && start != p->owner.start;
}

static struct process *add(struct processes *t, int gpu, const struct device_process *d)
{
    if (mem_grow(&t->items, &t->cap, t->count + 1, sizeof *t->items, PROCESSES_MOST))
        return NULL;
    struct process *p = &t->items[t->count++];
    memset(p, 0, sizeof *p);
    p->gpu = gpu;
    p->now = *d;
    return p;
}

static void take_one(struct processes *t, int gpu, const struct device_process *d, int64_t now,
                     const struct process_visitor *v)
{
    struct process *p = find(t, gpu, d->pid);
    if (p && is_other(t, p, now)) {
        v->phase(v->arg, p, PROCESS_CEASED);
        memset(&p->written, 0, sizeof p->written);
        look_up(t, p, now);
        t->seen++;
        v->phase(v->arg, p, PROCESS_BEGAN);
    } else if (p) {
        look_for_session(t, p, now);
    }
    if (!p) {
        p = add(t, gpu, d);
        t->seen++;
        if (!p) {
            t->without_room++;
            return;
        }
        look_up(t, p, now);
        v->phase(v->arg, p, PROCESS_BEGAN);
    }
    p->now = *d;
    p->listed = true;
    visit_metric(p, now, v);
}

/* Removes the processes of a GPU that are not listed. */
static void sweep(struct processes *t, int gpu, const struct process_visitor *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct process *p = &t->items[i];
        if (p->gpu == gpu && !p->listed) {
            v->phase(v->arg, p, PROCESS_CEASED);
            continue;
        }
        p->listed = p->gpu == gpu ? false : p->listed;
        if (kept != i)
            t->items[kept] = *p;
        kept++;
    }
    t->count = kept;
}

void processes_list(struct processes *t, int gpu, const struct device_process *list, int n,
                    int total, int64_t now, const struct process_visitor *v)
{
    for (int i = 0; i < n; i++)
        take_one(t, gpu, &list[i], now, v);
    if (total > n) { /* a process that is missing in a cut list may still run */
        t->seen += (uint64_t)(total - n);
        t->without_room += (uint64_t)(total - n);
        for (size_t i = 0; i < t->count; i++)
            t->items[i].listed |= t->items[i].gpu == gpu;
    }
    sweep(t, gpu, v);
}

void processes_gone(struct processes *t, int gpu, const struct process_visitor *v)
{
    sweep(t, gpu, v);
}

void processes_again(struct processes *t, const struct process_visitor *v)
{
    for (size_t i = 0; i < t->count; i++) {
        struct process *p = &t->items[i];
        memset(&p->written, 0, sizeof p->written);
        v->phase(v->arg, p, PROCESS_THERE);
    }
}

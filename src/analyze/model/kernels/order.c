/* order.c - see order.h. */
#include "analyze/model/kernels/order.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/err.h"
#include "symbol/names/kinds.h"

#include <string.h>

/* Describes a stream, and the sequences that have begun there. */
struct order_stream {
    int64_t id; /* of the log */
    /* not of the key: */
    int64_t last; /* ns, start of the row before */
    struct {
        unsigned steps; /* kernels since the product, + 1; 0: there was no product */
        bool softmax;
        int64_t start; /* ns, of the product */
        int64_t time;  /* ns, the product included */
    } attention;
    struct {
        unsigned count;
        int64_t time, longest;
        int64_t start, end; /* ns */
        double blocks;      /* of the last one */
    } chain;
    int64_t graph; /* correlation of the last launch of a graph; 0: none yet */
    uint64_t singles;
};

/* Describes one kernel. */
struct step {
    uint32_t kinds;
    int64_t start, duration, graph, correlation;
    double blocks;
};

void sum_order_init(struct model *m)
{
    memset(&m->order, 0, sizeof m->order);
    keyed_init(&m->order.streams, sizeof(struct order_stream), offsetof(struct order_stream, last),
               ORDER_STREAMS);
}

void sum_order_fini(struct model *m)
{
    keyed_fini(&m->order.streams);
    sum_order_init(m);
}

static void keep_longest(struct order_sum *to, int64_t start, int64_t end)
{
    if (end - start > to->end - to->start) {
        to->start = start;
        to->end = end;
    }
}

static void close_chain(struct sum_order *o, struct order_stream *s)
{
    if (s->chain.count >= ORDER_CHAIN_LEAST) {
        o->chains.count++;
        o->chains.kernels += s->chain.count;
        o->chains.time = cells_sum(o->chains.time, s->chain.time);
        o->chains.saved = cells_sum(o->chains.saved, s->chain.time - s->chain.longest);
        keep_longest(&o->chains, s->chain.start, s->chain.end);
    }
    s->chain.count = 0;
    s->chain.time = s->chain.longest = 0;
}

static void step_chain(struct sum_order *o, struct order_stream *s, const struct step *k)
{
    bool alike =
        k->blocks <= ORDER_ALIKE * s->chain.blocks && s->chain.blocks <= ORDER_ALIKE * k->blocks;
    if (!(k->kinds & KERNEL_ELEMENTWISE) || !alike || s->chain.count == ORDER_CHAIN_MOST)
        close_chain(o, s);
    if (!(k->kinds & KERNEL_ELEMENTWISE))
        return;
    s->chain.start = s->chain.count ? s->chain.start : k->start;
    s->chain.end = k->start + k->duration;
    s->chain.count++;
    s->chain.time = cells_sum(s->chain.time, k->duration);
    s->chain.longest = k->duration > s->chain.longest ? k->duration : s->chain.longest;
    s->chain.blocks = k->blocks;
}

/* The product that ends one attention does not begin the next one. */
static void step_attention(struct sum_order *o, struct order_stream *s, const struct step *k)
{
    bool open = s->attention.steps > 0;
    int64_t time = cells_sum(s->attention.time, k->duration);
    if ((k->kinds & KERNEL_PRODUCT) && open && s->attention.softmax) {
        o->attention.count++;
        o->attention.time = cells_sum(o->attention.time, time);
        keep_longest(&o->attention, s->attention.start, k->start + k->duration);
        s->attention.steps = 0;
    } else if (k->kinds & KERNEL_PRODUCT) {
        s->attention.steps = 1;
        s->attention.softmax = false;
        s->attention.start = k->start;
        s->attention.time = k->duration;
    } else if (open && s->attention.steps <= ORDER_NEAR) {
        s->attention.softmax |= (k->kinds & KERNEL_SOFTMAX) != 0;
        s->attention.steps = k->kinds & KERNEL_SOFTMAX ? 2 : s->attention.steps + 1;
        s->attention.time = time;
    } else {
        s->attention.steps = 0;
    }
}

static void step_graph(struct sum_order *o, struct order_stream *s, const struct step *k)
{
    if (k->graph <= 0) {
        o->singles += s->graph || o->whole;
        s->singles += s->graph != 0;
    } else if (k->correlation != s->graph) {
        o->graphs++;
        o->broken += s->graph && s->singles >= ORDER_SINGLES;
        s->graph = k->correlation;
        s->singles = 0;
    }
}

static void take(struct sum_order *o, struct order_stream *s, const struct step *k)
{
    if (k->start < s->last) {
        close_chain(o, s);
        s->attention.steps = 0;
        s->singles = 0;
    }
    s->last = k->start;
    step_chain(o, s, k);
    step_attention(o, s, k);
    step_graph(o, s, k);
}

/* Returns the number of blocks; 0: unknown. */
static double blocks_of(const struct config_row *c)
{
    if (c->grid_x <= 0 || c->grid_y <= 0 || c->grid_z <= 0)
        return 0;
    return (double)c->grid_x * (double)c->grid_y * (double)c->grid_z;
}

int sum_order_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_order *o = &m->order;
    const int64_t *start = b->col[COL_kernel_start], *duration = b->col[COL_kernel_duration];
    int64_t end, before = INT64_MIN;
    uint32_t at = 0; /* of the stream before */
    int rc = 0;
    if (b->type == RECORD_graph_run) {
        o->graphs += b->rows;
        o->whole += b->rows;
        return 0;
    }
    for (size_t i = 0; !rc && start && duration && i < b->rows; i++) {
        int64_t id = cells_or(b, COL_kernel_config, i, 0),
                stream = cells_or(b, COL_kernel_stream, i, 0);
        uint32_t config = id > 0 && (uint64_t)id < m->refs.config_count ? m->refs.configs[id] : 0;
        if (!cells_interval(start[i], duration[i], &end))
            continue;
        if (stream != before)
            rc = keyed_put(&o->streams, &stream, &at, NULL);
        before = stream;
        if (rc || !at)
            continue;
        const struct kernel_config *c = sum_kernels_config(&m->kernels, config);
        struct step k = {.kinds = config ? c->kinds : 0,
                         .start = start[i],
                         .duration = duration[i],
                         .graph = cells_or(b, COL_kernel_graph, i, 0),
                         .correlation = cells_or(b, COL_kernel_correlation, i, 0),
                         .blocks = config ? blocks_of(&c->row) : 0};
        take(o, keyed_at(&o->streams, at), &k);
    }
    return rc;
}

static void add(struct order_sum *to, const struct order_sum *from, int64_t shift)
{
    keep_longest(to, from->start + shift, from->end + shift);
    to->count += from->count;
    to->kernels += from->kernels;
    to->time = cells_sum(to->time, from->time);
    to->saved = cells_sum(to->saved, from->saved);
}

int sum_order_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_order *o = &into->order;
    add(&o->attention, &from->order.attention, shift);
    add(&o->chains, &from->order.chains, shift);
    o->graphs += from->order.graphs;
    o->whole += from->order.whole;
    o->singles += from->order.singles;
    o->broken += from->order.broken;
    return 0;
}

int sum_order_finish(struct model *m)
{
    struct sum_order *o = &m->order;
    for (size_t i = 1; i < o->streams.count; i++)
        close_chain(o, keyed_at(&o->streams, i));
    keyed_fini(&o->streams);
    return 0;
}

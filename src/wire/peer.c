/* peer.c - which lines of the public client's format are known, and who reads them. */
#include "wire/peer.h"

#include "base/alloc.h"
#include "base/err.h"
#include "wire/scan.h"

struct peer {
    struct decode_stats *stats; /* the decoder's */
};

struct peer_type {
    const char *name;
    int (*line)(struct peer *p, struct scan *s,
                const struct wire_visitor *v); /* NULL: kept aside */
};

/* Known, kept aside: sound lines that have no place in our records yet. */
static const struct peer_type types[] = {
    {"counter_data_quality_summary", NULL},
    {"cubin_disassembly", NULL},
    {"deep_window_event", NULL},
    {"deep_window_rule_summary", NULL},
    {"execution_signature", NULL},
    {"graph_node_definition", NULL},
    {"kernel_perf_metric_event", NULL},
    {"nvtx_marker_event", NULL},
    {"perf_metric_event", NULL},
    {"pm_sample_batch", NULL},
    {"pm_sampling_config", NULL},
    {"profile_sample_batch", NULL},
    {"ptx_disassembly", NULL},
    {"run_end", NULL},
    {"sass_config", NULL},
    {"segment_end", NULL},
    {"segment_start", NULL},
    {"source_file_content", NULL},
};

int peer_open(struct peer **out, struct decode_stats *stats)
{
    *out = mem_zalloc(sizeof **out);
    if (!*out)
        return GPUFL_E_NOMEM;
    (*out)->stats = stats;
    return 0;
}

void peer_close(struct peer *p)
{
    mem_free(p);
}

int peer_find(const char *type, size_t len)
{
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (span_is((struct span){type, len}, types[i].name))
            return i;
    return -1;
}

int peer_flush(struct peer *p, const struct wire_visitor *v)
{
    (void)p;
    (void)v;
    return 0;
}

int peer_feed(struct peer *p, int type, const char *line, size_t len, const struct wire_visitor *v)
{
    struct scan s = {line, line + len};
    if (types[type].line)
        return types[type].line(p, &s, v);
    if (scan_value(&s, NULL) && scan_done(&s))
        p->stats->foreign_unmapped++;
    else
        p->stats->damaged++;
    return 0;
}

int peer_finish(struct peer *p, const struct wire_visitor *v)
{
    return peer_flush(p, v);
}

/* api_fleet.c - hosts and GPUs as they were last heard of, and what they did over days. */
#include "server/api.h"
#include "server/rows.h"
#include "server/server.h"

#define V(route, name) (&c->values[IN_##route##_##name])

/* A list that fits one page: CALL fills rows and count from mem. */
#define LIST(row, CALL)                                                                            \
    do {                                                                                           \
        struct meta_##row *rows;                                                                   \
        size_t count = 0;                                                                          \
        struct region mem;                                                                         \
        struct err e = {0};                                                                        \
        region_init(&mem, ROWS_MEMORY);                                                            \
        int rc = (CALL);                                                                           \
        if (rc)                                                                                    \
            call_fail(c, rc, "list", &e);                                                          \
        else                                                                                       \
            rows_send(c, META_ROW_##row, rows, count, NULL);                                       \
        region_fini(&mem);                                                                         \
    } while (0)

void api_hosts(struct call *c)
{
    LIST(host, meta_host_list(c->server->meta, c->who.workspace, &mem, &rows, &count, &e));
}

void api_gpus(struct call *c)
{
    LIST(gpu, meta_gpu_list(c->server->meta, c->who.workspace, V(gpus, host)->text, &mem, &rows,
                            &count, &e));
}

void api_usage(struct call *c)
{
    static const enum meta_by by[] = {META_BY_HOST, META_BY_APP, META_BY_GPU};
    LIST(usage_sum,
         meta_usage_days(c->server->meta, c->who.workspace, by[V(usage, by)->i], V(usage, from)->i,
                         V(usage, to)->i, (unsigned)V(usage, limit)->i, &mem, &rows, &count, &e));
}

/* fleet.c - hosts and GPUs as they were last heard of, what runs there, and what they did over
 * days. */
#include "server/api/api.h"
#include "server/api/rows.h"
#include "server/server.h"

#define V(route, name) (&c->values[IN_##route##_##name])

#define PAGE(route)                                                                                \
    {                                                                                              \
        .limit = (unsigned)V(route, limit)->i, .after = V(route, after)->text                      \
    }

static const enum meta_by BY[] = {META_BY_HOST, META_BY_APP, META_BY_GPU};

void api_hosts(struct call *c)
{
    struct meta_page page = PAGE(hosts);
    ROWS_LIST(c, host_now, page.next,
              meta_host_list(c->server->meta, c->who.workspace, &page, &mem, &rows, &count, &e));
}

void api_host(struct call *c)
{
    struct meta_host_now row;
    struct err e = {0};
    int rc =
        meta_host_get(c->server->meta, c->who.workspace, V(host, host)->text, c->memory, &row, &e);
    if (rc)
        call_fail(c, rc, "host", rc == GPUFL_E_NOENT ? NULL : &e);
    else
        rows_send_one(c, META_ROW_host_now, &row);
}

void api_host_delete(struct call *c)
{
    const char *name = V(host_delete, host)->text;
    struct err e = {0};
    int rc = meta_host_remove(c->server->meta, c->who.workspace, name, &e);
    if (rc) {
        call_fail(c, rc, "host", rc == GPUFL_E_NOENT ? NULL : &e);
        return;
    }
    access_note(c, "host.delete", name);
    http_send_nothing(c->http, 204);
}

void api_gpus(struct call *c)
{
    struct meta_page page = PAGE(gpus);
    ROWS_LIST(c, gpu_now, page.next,
              meta_gpu_list(c->server->meta, c->who.workspace, V(gpus, host)->text, &page, &mem,
                            &rows, &count, &e));
}

void api_gpu(struct call *c)
{
    struct meta_gpu_now row;
    struct err e = {0};
    int rc =
        meta_gpu_get(c->server->meta, c->who.workspace, V(gpu, gpu)->text, c->memory, &row, &e);
    if (rc)
        call_fail(c, rc, "GPU", rc == GPUFL_E_NOENT ? NULL : &e);
    else
        rows_send_one(c, META_ROW_gpu_now, &row);
}

void api_running(struct call *c)
{
    const struct meta_page page = {0};
    ROWS_LIST(c, running, page.next,
              meta_running_list(c->server->meta, c->who.workspace, V(running, host)->text,
                                V(running, app)->text, V(running, gpu)->text, &mem, &rows, &count,
                                &e));
}

void api_usage(struct call *c)
{
    struct meta_page page = PAGE(usage);
    ROWS_LIST(c, usage_sum, page.next,
              meta_usage_days(c->server->meta, c->who.workspace, BY[V(usage, by)->i],
                              V(usage, from)->i, V(usage, to)->i, &page, &mem, &rows, &count, &e));
}

void api_fleet(struct call *c)
{
    struct meta_page page = PAGE(fleet);
    ROWS_LIST(c, fleet_sum, page.next,
              meta_fleet_sums(c->server->meta, c->who.workspace, BY[V(fleet, by)->i],
                              V(fleet, from)->i, V(fleet, to)->i, &page, &mem, &rows, &count, &e));
}

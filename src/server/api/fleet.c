/* fleet.c - the newest state of hosts and GPUs, what runs there, their use by day, and sums
 * of kernels, scopes and lines. */
#include "meta/usage_gpus.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/rows.h"

#include "base/alloc.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <string.h>

static const enum meta_by BY[] = {META_BY_HOST, META_BY_APP, META_BY_GPU, META_BY_DAY};

void api_hosts(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, hosts);
    struct meta_host_now *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_host_list(&l.ask, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_host_now, rows, page.next);
}

void api_host(struct call *c)
{
    struct meta_host_now row;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_host_get(&ask, ARG(c, host, host)->text, &row);
    if (rc)
        call_fail_named(c, rc, "host", &e);
    else
        rows_send_one(c, META_ROW_host_now, &row);
}

void api_host_delete(struct call *c)
{
    const char *name = ARG(c, host_delete, host)->text;
    struct err e = {0};
    int rc = meta_host_remove(c->parts->meta, c->who.workspace, name, &e);
    if (rc) {
        call_fail_named(c, rc, "host", &e);
        return;
    }
    access_note(c, "host.delete", name);
    http_send_nothing(c->http, 204);
}

void api_gpus(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, gpus);
    struct meta_gpu_now *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_gpu_list(&l.ask, ARG(c, gpus, host)->text, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_gpu_now, rows, page.next);
}

void api_gpu(struct call *c)
{
    struct meta_gpu_now row;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, c->memory, &e);
    int rc = meta_gpu_get(&ask, ARG(c, gpu, gpu)->text, &row);
    if (rc)
        call_fail_named(c, rc, "GPU", &e);
    else
        rows_send_one(c, META_ROW_gpu_now, &row);
}

void api_running(struct call *c)
{
    struct meta_running *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_running_list(&l.ask, ARG(c, running, host)->text, ARG(c, running, app)->text,
                               ARG(c, running, gpu)->text, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_running, rows, NULL);
}

void api_usage(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, usage);
    const struct meta_days days = {BY[ARG(c, usage, by)->i], ARG(c, usage, from)->i,
                                   ARG(c, usage, to)->i, ARG(c, usage, name)->text};
    const struct meta_usage_of of = {ARG(c, usage, app)->text, ARG(c, usage, host)->text};
    struct meta_usage_sum *rows = NULL;
    struct rows_list l;
    if ((of.app || of.host) && days.by != META_BY_GPU) {
        http_problem_of(c->http, 400, of.app ? "app" : "host",
                        "'app' and 'host' are for by=gpu; one application or host by day is "
                        "'name'.");
        return;
    }
    rows_list_begin(&l, c);
    int rc = of.app || of.host ? meta_usage_gpus(&l.ask, &days, &of, &page, &rows, &l.count)
                               : meta_usage_days(&l.ask, &days, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_usage_sum, rows, page.next);
}

void api_fleet(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, fleet);
    const struct meta_days days = {BY[ARG(c, fleet, by)->i], ARG(c, fleet, from)->i,
                                   ARG(c, fleet, to)->i, NULL};
    struct meta_fleet_sum *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_fleet_sums(&l.ask, &days, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_fleet_sum, rows, page.next);
}

static const char *const ROLLUP_KINDS[] = {"kernel", "scope", "line"};
static const enum meta_rollup_by ROLLUP_BY[] = {META_ROLLUP_DAY, META_ROLLUP_APP, META_ROLLUP_HOST};

/* Gives kernels their names for people. */
static int name_kernels(struct rows_list *l, struct meta_rollup_sum *rows)
{
    const char **symbols = region_array(&l->mem, l->count + 1, sizeof *symbols);
    struct buf plain, brief;
    if (!symbols)
        return err_nomem(&l->e);
    for (size_t i = 0; i < l->count; i++)
        symbols[i] = rows[i].name;
    buf_init(&plain, DEMANGLE_ROOM);
    buf_init(&brief, ROWS_MEMORY);
    int rc = shorten_symbols(&brief, symbols, l->count);
    const char *at = brief.data;
    for (size_t i = 0; i < l->count && rc == 0; i++, at += strlen(at) + 1) {
        buf_clear(&plain);
        demangle_put(&plain, rows[i].name);
        rows[i].plain = region_strdup(&l->mem, buf_cstr(&plain));
        rows[i].short_name = region_strdup(&l->mem, at);
        rc = buf_error(&plain) || !rows[i].plain || !rows[i].short_name ? GPUFL_E_NOMEM : 0;
    }
    buf_fini(&brief);
    buf_fini(&plain);
    return rc ? err_set(&l->e, rc, "%s", err_text(rc)) : 0;
}

void api_rollups(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, rollups);
    const struct meta_rollup_query q = {.kind = ROLLUP_KINDS[ARG(c, rollups, kind)->i],
                                        .from = ARG(c, rollups, from)->i,
                                        .to = ARG(c, rollups, to)->i,
                                        .app = ARG(c, rollups, app)->text,
                                        .host = ARG(c, rollups, host)->text};
    struct meta_rollup_sum *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_rollup_sums(&l.ask, &q, &page, &rows, &l.count);
    if (rc == 0 && ARG(c, rollups, kind)->i == 0)
        rc = name_kernels(&l, rows);
    rows_list_end(&l, rc, META_ROW_rollup_sum, rows, page.next);
}

void api_rollup_days(struct call *c)
{
    struct meta_page page = ROWS_PAGE(c, rollup_days);
    const struct meta_rollup_query q = {.kind = ROLLUP_KINDS[ARG(c, rollup_days, kind)->i],
                                        .name = ARG(c, rollup_days, name)->text,
                                        .by = ROLLUP_BY[ARG(c, rollup_days, by)->i],
                                        .from = ARG(c, rollup_days, from)->i,
                                        .to = ARG(c, rollup_days, to)->i,
                                        .app = ARG(c, rollup_days, app)->text,
                                        .host = ARG(c, rollup_days, host)->text};
    struct meta_rollup_day *rows = NULL;
    struct rows_list l;
    rows_list_begin(&l, c);
    int rc = meta_rollup_days(&l.ask, &q, &page, &rows, &l.count);
    rows_list_end(&l, rc, META_ROW_rollup_day, rows, page.next);
}

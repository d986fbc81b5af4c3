/* agents.c - see agents.h. */
#include "backend/amd/trace/agents.h"

#include "base/order.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct agent list[AGENTS_MOST];
    int count;
    int visible[AGENTS_MOST]; /* index by the program's number */
    int visible_count;
    bool visible_known;
} me;

/* Writes a name like "gfx90a"; its last two digits are hexadecimal. */
static void name_target(uint32_t target, char *out, size_t size)
{
    snprintf(out, size, "gfx%u%x%x", target / 10000 % 100, target / 100 % 100, target % 100);
}

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void fill(struct agent *a, const struct rocp_agent *r)
{
    int64_t *cells = (int64_t *)&a->row;
    for (size_t i = 0; i < sizeof a->row / sizeof *cells; i++)
        cells[i] = CELL_NULL;
    a->id = r->id;
    a->wave32 = r->wave_size == 32;
    a->place =
        (uint64_t)r->domain << 32 | (uint64_t)(r->location & 0xffff) << 4 | r->location >> 28;
    a->row.memory_total = r->memory ? (int64_t)r->memory : CELL_NULL;
    a->row.sm_count = r->cus;
    a->row.warp_size = r->wave_size;
    a->row.max_threads_per_sm =
        (int64_t)r->waves_per_simd * r->simds_per_cu * (int64_t)r->wave_size;
    a->row.shared_per_sm = (int64_t)r->lds_kib << 10;
    a->row.clock_max_sm = r->gpu_mhz ? (int64_t)r->gpu_mhz : CELL_NULL;
    a->row.compute_major = r->gfx_target / 10000 % 100;
    a->row.compute_minor = r->gfx_target / 100 % 100 * 16 + r->gfx_target % 100;
    copy_text(a->text.name, sizeof a->text.name, r->product ? r->product : r->name);
    copy_text(a->text.vendor, sizeof a->text.vendor, "amd");
    name_target(r->gfx_target, a->text.arch, sizeof a->text.arch);
    snprintf(a->text.pci, sizeof a->text.pci, "%04x:%02x:%02x.%x", r->domain,
             r->location >> 8 & 0xff, r->location >> 3 & 0x1f, r->location & 7);
}

static int on_agents(int version, const void **agents, size_t count, void *data)
{
    (void)version, (void)data;
    for (size_t i = 0; i < count && me.count < AGENTS_MOST; i++) {
        const struct rocp_agent *r = agents[i];
        if (r->size >= sizeof *r && r->type == ROCP_GPU)
            fill(&me.list[me.count++], r);
    }
    return ROCP_OK;
}

bool agents_choose(const char *list, int *chosen, int *count)
{
    int from[AGENTS_MOST], n = 0;
    memcpy(from, chosen, (size_t)*count * sizeof *from);
    while (*list && n < *count) {
        char *end;
        long number = strtol(list, &end, 10);
        while (isspace((unsigned char)*end))
            end++;
        if (end == list || (*end && *end != ','))
            return false;
        if (number < 0 || number >= *count)
            break;
        chosen[n++] = from[number];
        list = *end ? end + 1 : end;
    }
    *count = n;
    return true;
}

/* GPUs are numbered in the order of their addresses on the bus, as in the metrics (amd/devices.c):
 * each library has an order of its own. Parts of a GPU follow each other: bits 28 to 31 of the
 * location are the number of the part. Parts without such a number stay in the library's order. */
static void number_by_place(void)
{
    for (int i = 0; i < me.count; i++) {
        int rank = 0;
        for (int k = 0; k < me.count; k++) {
            int order = ORDER(me.list[k].place, me.list[i].place);
            rank += order < 0 || (order == 0 && k < i);
        }
        me.list[i].row.index = rank;
    }
}

/* Removes the addresses of parts of a GPU: they share one, so it does not identify them. */
static void forget_shared_places(void)
{
    bool shared[AGENTS_MOST] = {false};
    for (int i = 0; i < me.count; i++)
        for (int k = 0; k < me.count; k++)
            shared[i] |= i != k && strcmp(me.list[i].text.pci, me.list[k].text.pci) == 0;
    for (int i = 0; i < me.count; i++)
        if (shared[i])
            *me.list[i].text.pci = '\0';
}

static void find_visible(void)
{
    static const char *const variables[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"};
    me.visible_count = me.count;
    me.visible_known = true;
    for (int i = 0; i < me.count; i++)
        me.visible[i] = i;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *list = getenv(variables[i]);
        if (i == 1 && !list)
            list = getenv("CUDA_VISIBLE_DEVICES");
        if (list && !agents_choose(list, me.visible, &me.visible_count))
            me.visible_known = false;
    }
}

int agents_find(const struct rocp *sdk, struct err *e)
{
    me.count = 0;
    int status =
        sdk->rocprofiler_query_available_agents(1, on_agents, sizeof(struct rocp_agent), NULL);
    if (status != ROCP_OK)
        return rocp_error(sdk, status, "to list the GPUs", e);
    number_by_place();
    forget_shared_places();
    find_visible();
    return 0;
}

int agents_count(void)
{
    return me.count;
}

const struct agent *agents_at(int index)
{
    return &me.list[index];
}

int agents_index(uint64_t id)
{
    for (int i = 0; i < me.count; i++)
        if (me.list[i].id == id)
            return i;
    return AGENT_UNKNOWN;
}

int agents_of_ordinal(int ordinal)
{
    bool known = me.visible_known && ordinal >= 0 && ordinal < me.visible_count;
    return known ? me.visible[ordinal] : AGENT_UNKNOWN;
}
